#include "Cases.h"

#include <sstream>
#include <stdexcept>

namespace etc::placement::testing {
namespace {

constexpr std::pair<std::string_view, Policy> policies[] = {
    {"any", Policy::Any}, {"tp", Policy::Tp}, {"pack", Policy::Pack}};

template <typename T> std::vector<T> readNumbers(std::istringstream &words) {
  std::vector<T> numbers;
  for (T number; words >> number;)
    numbers.push_back(number);
  if (!words.eof())
    throw std::runtime_error("expected numbers");
  return numbers;
}

int64_t readNumber(std::istringstream &words) {
  int64_t value = 0;
  if (!(words >> value))
    throw std::runtime_error("expected a number");
  return value;
}

std::string readWord(std::istringstream &words) {
  std::string word;
  words >> word;
  return word;
}

Policy readPolicy(std::istringstream &words) {
  const std::string word = readWord(words);
  for (auto [name, policy] : policies)
    if (word == name)
      return policy;
  throw std::runtime_error("'" + word + "' is no policy");
}

/// "12", "-", "d3" or "x"
Device readDevice(int32_t node, std::string text) {
  Device device{node, -1};
  if (text == "x") {
    device.status = Status::Failed;
    return device;
  }
  if (text.front() == 'd') {
    device.status = Status::Draining;
    text.erase(0, 1);
  }
  if (text != "-")
    device.prevRole = std::stoi(text);
  return device;
}

void readNode(std::istringstream &words, Problem &problem) {
  const auto node = int32_t(problem.nodeClass.size());
  problem.nodeClass.push_back(int32_t(readNumber(words)));
  if (readWord(words) != ":")
    throw std::runtime_error("expected ' : ' before the devices of a node");
  for (std::string word; words >> word;)
    problem.devices.push_back(readDevice(node, word));
}

/// A table while its lines are read.
struct TableText {
  std::vector<int32_t> rows, columns;
  std::vector<std::vector<int64_t>> base;
  std::vector<std::vector<int64_t>> pairs;

  void read(std::istringstream &words) {
    const std::string word = readWord(words);
    if (word == "rows")
      rows = readNumbers<int32_t>(words);
    else if (word == "columns")
      columns = readNumbers<int32_t>(words);
    else if (word == "base" || word == "pair")
      (word == "base" ? base : pairs).push_back(readNumbers<int64_t>(words));
    else
      throw std::runtime_error("'" + word + "' is no part of a table");
  }

  BenefitTable make() const {
    BenefitTable table(rows, columns);
    for (size_t row = 0; row < base.size(); ++row)
      for (size_t column = 0; column < base[row].size(); ++column)
        table.atGroups(int64_t(row), int64_t(column)) = base[row][column];
    for (const std::vector<int64_t> &pair : pairs)
      table.add(pair.at(0), pair.at(1), pair.at(2));
    return table;
  }
};

std::optional<assignment::Weight> readKept(std::istringstream &words) {
  if (std::istringstream copy(words.str().substr(size_t(words.tellg())));
      readWord(copy) == "none")
    return std::nullopt;
  const int64_t first = readNumber(words);
  return assignment::Weight{first, readNumber(words)};
}

class Reader {
public:
  void readLine(const std::string &line);
  Case finish() {
    result.problem.onDevice = onDevice.make();
    result.problem.onNode = onNode.make();
    return std::move(result);
  }

private:
  Case result;
  TableText onDevice, onNode;
};

/// Whether "node" is followed by the class of one, or by a part of the table.
bool isTable(const std::string &line) {
  return line.find(':') == std::string::npos;
}

void Reader::readLine(const std::string &line) {
  std::istringstream words(line);
  Problem &problem = result.problem;
  const std::string word = readWord(words);
  if (word.empty())
    return;
  if (word == "policy")
    problem.policy = readPolicy(words);
  else if (word == "first")
    problem.isTotalFirst = readWord(words) == "total";
  else if (word == "replicas")
    problem.replicas = readNumber(words);
  else if (word == "stages")
    problem.stages = readNumber(words);
  else if (word == "group")
    problem.groupSize = readNumber(words);
  else if (word == "ranks")
    problem.groups = readNumbers<int64_t>(words);
  else if (word == "node" && !isTable(line))
    readNode(words, problem);
  else if (word == "node" || word == "device")
    (word == "node" ? onNode : onDevice).read(words);
  else if (word == "solved")
    result.solved = readKept(words);
  else if (word == "most") {
    result.most = readKept(words);
    result.isMostKnown = true;
  } else
    throw std::runtime_error("'" + word + "' is no statement");
}

void writeDevices(const Problem &problem, std::ostream &out) {
  for (size_t node = 0; node < problem.nodeClass.size(); ++node) {
    out << "node " << problem.nodeClass[node] << " :";
    for (const Device &device : problem.devices) {
      if (size_t(device.node) != node)
        continue;
      out << (device.status == Status::Draining ? " d" : " ");
      if (device.status == Status::Failed)
        out << "x";
      else if (device.prevRole < 0)
        out << "-";
      else
        out << device.prevRole;
    }
    out << "\n";
  }
}

void writeTable(const char *name, const BenefitTable &table,
                std::ostream &out) {
  out << name << " rows";
  for (int64_t row = 0; row < table.getRows(); ++row)
    out << " " << table.getRowGroup(row);
  out << "\n" << name << " columns";
  for (int64_t column = 0; column < table.getColumns(); ++column)
    out << " " << table.getColumnGroup(column);
  for (int64_t row = 0; row < table.getRowGroups(); ++row) {
    out << "\n" << name << " base";
    for (int64_t column = 0; column < table.getColumnGroups(); ++column)
      out << " " << table.atGroups(row, column);
  }
  out << "\n";
  for (int64_t row = 0; row < table.getRows(); ++row)
    for (const auto &[column, bytes] : table.getPairs(row))
      out << name << " pair " << row << " " << column << " " << bytes << "\n";
}

} // namespace

Case readCase(std::string_view text) {
  Reader reader;
  std::istringstream lines{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    try {
      reader.readLine(line.substr(0, line.find('#')));
    } catch (const std::exception &error) {
      throw std::runtime_error("line " + std::to_string(number) + ": " +
                               error.what());
    }
  }
  return reader.finish();
}

std::string writeCase(const Problem &problem) {
  std::ostringstream out;
  for (auto [name, policy] : policies)
    if (problem.policy == policy)
      out << "policy " << name << "\n";
  out << "first " << (problem.isTotalFirst ? "total" : "node") << "\nreplicas "
      << problem.replicas << "\nstages " << problem.stages << "\ngroup "
      << problem.groupSize << "\nranks";
  for (int64_t rank : problem.groups)
    out << " " << rank;
  out << "\n";
  writeDevices(problem, out);
  writeTable("device", problem.onDevice, out);
  writeTable("node", problem.onNode, out);
  return out.str();
}

} // namespace etc::placement::testing
