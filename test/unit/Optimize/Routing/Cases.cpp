#include "Cases.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>
#include <stdexcept>

namespace etc::routing::testing {
namespace {

using Set = std::vector<int32_t>;

/// "96.36G", exactly.
int64_t readNumber(std::string_view text) {
  static const std::map<char, int> exponents = {
      {'k', 3}, {'M', 6}, {'G', 9}, {'T', 12}};
  int exponent = 0;
  if (!text.empty())
    if (auto it = exponents.find(text.back()); it != exponents.end()) {
      exponent = it->second;
      text.remove_suffix(1);
    }
  std::string digits(text);
  if (size_t point = digits.find('.'); point != std::string::npos) {
    exponent -= int(digits.size() - point - 1);
    digits.erase(point, 1);
  }
  if (exponent < 0)
    throw std::runtime_error("'" + std::string(text) + "' is no integer");
  digits.append(size_t(exponent), '0');
  int64_t value = 0;
  auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size())
    throw std::runtime_error("'" + std::string(text) + "' is no number");
  return value;
}

/// "0", "3-5": every device named.
Set readDevices(std::istringstream &words, std::string_view stop = "") {
  Set devices;
  for (std::string word; words >> word && word != stop;) {
    const size_t dash = word.find('-');
    const int64_t first = readNumber(word.substr(0, dash));
    const int64_t last =
        dash == std::string::npos ? first : readNumber(word.substr(dash + 1));
    for (int64_t device = first; device <= last; ++device)
      devices.push_back(int32_t(device));
  }
  return devices;
}

class Reader {
public:
  void readLine(const std::string &line);
  Case take();

private:
  void readNodes(std::istringstream &words);
  void readAtom(std::istringstream &words, bool mayTransit);
  void setStatus(std::istringstream &words, Status status) {
    for (int32_t device : readDevices(words))
      result.problem.devices.at(size_t(device)).status = status;
  }

  Case result;
  /// By holders, needers and whether they may transit: bytes and grain.
  std::map<std::tuple<Set, Set, bool>, std::pair<int64_t, int64_t>> atoms;
};

int64_t readField(std::istringstream &words, std::string_view name) {
  std::string word, value;
  words >> word >> value;
  if (word != name)
    throw std::runtime_error("expected '" + std::string(name) + "', got '" +
                             word + "'");
  return readNumber(value);
}

void Reader::readNodes(std::istringstream &words) {
  std::string count;
  words >> count;
  const auto devices = int32_t(readField(words, "devices"));
  const auto nics = int32_t(readField(words, "nics"));
  const int64_t link = readField(words, "link");
  const int64_t nic = readField(words, "nic");
  for (int64_t i = readNumber(count); i > 0; --i)
    addNode(result.problem, devices, nics, link, nic);
}

void Reader::readAtom(std::istringstream &words, bool mayTransit) {
  std::string bytes, word;
  words >> bytes;
  int64_t grain = 1;
  if (bytes.ends_with(':')) {
    bytes.pop_back();
  } else {
    words >> word >> word;
    if (!word.ends_with(':'))
      throw std::runtime_error("expected 'grain N:'");
    word.pop_back();
    grain = readNumber(word);
  }
  Set holders = readDevices(words, "->"), needers = readDevices(words);
  auto &atom = atoms[{std::move(holders), std::move(needers), mayTransit}];
  atom.first += readNumber(bytes);
  atom.second = std::max(atom.second, grain);
}

void Reader::readLine(const std::string &line) {
  std::istringstream words(line.substr(0, line.find('#')));
  std::string word;
  if (!(words >> word))
    return;
  if (word == "nodes")
    readNodes(words);
  else if (word == "draining")
    setStatus(words, Status::Draining);
  else if (word == "failed")
    setStatus(words, Status::Failed);
  else if (word == "spare")
    setStatus(words, Status::Spare);
  else if (word == "transit")
    words >> result.transit;
  else if (word == "atom" || word == "direct")
    readAtom(words, word == "atom");
  else if (word == "bound") {
    std::string bytes, slash, rate;
    words >> bytes >> slash >> rate;
    result.bound = Time{readNumber(bytes), readNumber(rate)};
  } else if (word == "striped")
    words >> result.striped;
  else
    throw std::runtime_error("'" + word + "' is no statement");
}

Case Reader::take() {
  std::map<Set, int32_t> numbers;
  for (const auto &[key, atom] : atoms)
    for (const Set &set : {std::get<0>(key), std::get<1>(key)})
      numbers.try_emplace(set, 0);
  for (auto &[set, number] : numbers) {
    number = int32_t(result.problem.sets.size());
    result.problem.sets.push_back(set);
  }
  for (const auto &[key, atom] : atoms) {
    const auto &[holders, needers, mayTransit] = key;
    result.problem.atoms.push_back({numbers.at(holders), numbers.at(needers),
                                    atom.first, atom.second, mayTransit});
  }
  return std::move(result);
}

} // namespace

Case readCase(std::string_view text) {
  Reader reader;
  std::istringstream lines{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    try {
      reader.readLine(line);
    } catch (const std::exception &error) {
      throw std::runtime_error("line " + std::to_string(number) + ": " +
                               error.what());
    }
  }
  return reader.take();
}

std::string writeCase(const Problem &problem) {
  std::ostringstream out;
  for (int32_t node = 0; node < problem.nodes(); ++node) {
    int64_t devices = 0, nics = 0, link = 0, nic = 0;
    for (const Nic &it : problem.nics)
      if (it.node == node) {
        ++nics;
        nic = it.rate;
      }
    for (size_t i = 0; i < problem.devices.size(); ++i)
      if (problem.nodeOf(int32_t(i)) == node) {
        ++devices;
        link = problem.devices[i].linkRate;
      }
    out << "nodes 1 devices " << devices << " nics " << nics << " link " << link
        << " nic " << nic << "\n";
  }
  for (size_t i = 0; i < problem.devices.size(); ++i) {
    static const char *const names[] = {"", "draining", "failed", "spare"};
    if (auto status = problem.devices[i].status; status != Status::Usable)
      out << names[size_t(status)] << " " << i << "\n";
  }
  for (const Atom &atom : problem.atoms) {
    out << (atom.mayTransit ? "atom " : "direct ") << atom.bytes << " grain "
        << atom.grain << ":";
    for (int32_t device : problem.holdersOf(atom))
      out << " " << device;
    out << " ->";
    for (int32_t device : problem.needersOf(atom))
      out << " " << device;
    out << "\n";
  }
  return out.str();
}

} // namespace etc::routing::testing
