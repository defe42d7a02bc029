#include "Cases.h"

#include <sstream>
#include <stdexcept>

namespace etc::rounds::testing {
namespace {

int64_t readNumber(std::istringstream &words) {
  int64_t value = 0;
  if (!(words >> value))
    throw std::runtime_error("expected a number");
  return value;
}

int64_t readField(std::istringstream &words, std::string_view name) {
  std::string word;
  words >> word;
  if (word != name)
    throw std::runtime_error("expected '" + std::string(name) + "', got '" +
                             word + "'");
  return readNumber(words);
}

ClassMemory readClass(std::istringstream &words) {
  ClassMemory memory{};
  memory.prev = readField(words, "prev");
  memory.curr = readField(words, "curr");
  memory.limit = readField(words, "limit");
  memory.sendSlab = readField(words, "send");
  memory.recvSlab = readField(words, "recv");
  if (words >> std::ws; !words.eof())
    memory.beside = readField(words, "beside");
  return memory;
}

/// "0 -10 >10"
Touch readTouch(const std::string &text) {
  std::istringstream words(text);
  Touch touch{int32_t(readNumber(words)), 0, 0, 0, 0};
  for (char sign = 0; words >> sign;) {
    const int64_t bytes = readNumber(words);
    if (sign == '+')
      touch.allocated = bytes;
    else if (sign == '-')
      touch.released = bytes;
    else if (sign == '>')
      touch.sent = bytes;
    else if (sign == '<')
      touch.received = bytes;
    else
      throw std::runtime_error(std::string("'") + sign + "' is no touch");
  }
  return touch;
}

/// "deferred before 0 after 0 port 1 5", and behind the colon the touches.
Unit readUnit(const std::string &line) {
  const size_t colon = line.find(':');
  if (colon == std::string::npos)
    throw std::runtime_error("expected ':' before what a unit touches");
  Unit unit;
  std::istringstream order(line.substr(0, colon));
  for (std::string word; order >> word;) {
    if (word == "deferred") {
      unit.isDeferred = true;
      continue;
    }
    if (word == "port") {
      const auto port = int32_t(readNumber(order));
      unit.loads.push_back({port, readNumber(order)});
      continue;
    }
    if (word != "before" && word != "after")
      throw std::runtime_error("'" + word + "' is no order");
    (word == "before" ? unit.before : unit.after) = int32_t(readNumber(order));
  }
  std::istringstream touches(line.substr(colon + 1));
  for (std::string touch; std::getline(touches, touch, ',');)
    unit.touches.push_back(readTouch(touch));
  return unit;
}

void readFewest(std::istringstream &words, Case &result) {
  std::string word;
  words >> word;
  result.isFewestKnown = true;
  if (word != "none")
    result.fewest = std::stoi(word);
}

void readLine(const std::string &line, Case &result) {
  std::istringstream words(line);
  std::string word;
  if (!(words >> word))
    return;
  if (word == "class") {
    result.problem.classes.push_back(readClass(words));
  } else if (word == "classes") {
    const auto count = size_t(readNumber(words));
    result.problem.classes.insert(result.problem.classes.end(), count,
                                  readClass(words));
  } else if (word == "unit" || word == "unit:") {
    result.problem.units.push_back(
        readUnit(line.substr(line.find("unit") + 4)));
  } else if (word == "ports") {
    result.problem.ports = int32_t(readNumber(words));
    result.problem.roundTime = readField(words, "time");
  } else if (word == "fewest") {
    readFewest(words, result);
  } else if (word == "list") {
    result.list = int32_t(readNumber(words));
    result.forced = int32_t(readField(words, "forced"));
  } else {
    throw std::runtime_error("'" + word + "' is no statement");
  }
}

} // namespace

Case readCase(std::string_view text) {
  Case result;
  std::istringstream lines{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    try {
      readLine(line.substr(0, line.find('#')), result);
    } catch (const std::exception &error) {
      throw std::runtime_error("line " + std::to_string(number) + ": " +
                               error.what());
    }
  }
  return result;
}

std::string writeCase(const Problem &problem) {
  std::ostringstream out;
  for (const ClassMemory &it : problem.classes) {
    out << "class prev " << it.prev << " curr " << it.curr << " limit "
        << it.limit << " send " << it.sendSlab << " recv " << it.recvSlab;
    if (it.beside)
      out << " beside " << it.beside;
    out << "\n";
  }
  if (problem.ports > 0)
    out << "ports " << problem.ports << " time " << problem.roundTime << "\n";
  for (const Unit &unit : problem.units) {
    out << "unit";
    if (unit.isDeferred)
      out << " deferred";
    if (unit.before >= 0)
      out << " before " << unit.before;
    if (unit.after >= 0)
      out << " after " << unit.after;
    for (const auto [port, time] : unit.loads)
      out << " port " << port << " " << time;
    const char *separator = ": ";
    for (const Touch &touch : unit.touches) {
      out << separator << touch.deviceClass;
      for (auto [sign, bytes] :
           {std::pair('+', touch.allocated), std::pair('-', touch.released),
            std::pair('>', touch.sent), std::pair('<', touch.received)})
        if (bytes)
          out << " " << sign << bytes;
      separator = ", ";
    }
    out << (unit.touches.empty() ? ":\n" : "\n");
  }
  return out.str();
}

} // namespace etc::rounds::testing
