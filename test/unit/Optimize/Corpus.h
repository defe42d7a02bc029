// A corpus: a folder of instances as text, a file each, and a test for each.

#ifndef ETC_TEST_UNIT_OPTIMIZE_CORPUS_H
#define ETC_TEST_UNIT_OPTIMIZE_CORPUS_H

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace etc::testing {

/// The files of a folder, by name.
inline std::vector<std::filesystem::path>
findCases(const std::filesystem::path &folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

inline std::string textOf(const std::filesystem::path &path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// The file's name, as names of tests are spelled.
inline std::string
nameOfCase(const ::testing::TestParamInfo<std::filesystem::path> &info) {
  std::string name = info.param.stem();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

} // namespace etc::testing

#endif // ETC_TEST_UNIT_OPTIMIZE_CORPUS_H
