// The etc-run binary as a user meets it: what tests of it share.

#ifndef ETC_TEST_ETCRUNFIXTURE_H
#define ETC_TEST_ETCRUNFIXTURE_H

#include "PlanFixture.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/wait.h>

namespace etc::run::test {

struct Ended {
  int code;
  std::string out; // stdout and stderr
};

inline Ended shell(const std::string &command) {
  FILE *pipe = ::popen((command + " 2>&1").c_str(), "r");
  Ended ended{-1, {}};
  char buffer[4096];
  while (size_t count = std::fread(buffer, 1, sizeof buffer, pipe))
    ended.out.append(buffer, count);
  int state = ::pclose(pipe);
  ended.code = WIFEXITED(state) ? WEXITSTATUS(state) : -1;
  return ended;
}

class EtcRun : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "etc-run-test-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  std::string write(plan::fb::PlanT plan) {
    auto bytes = plan::packPlan(std::move(plan));
    std::string path = directory / "m.etcplan";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    return path;
  }

  Ended run(const std::string &arguments) {
    return shell("TMPDIR=" + directory.string() + " " ETC_RUN_BINARY " " +
                 arguments);
  }

  std::filesystem::path directory;
};

/// Tests of processes need a build with Gloo.
class EtcRunGloo : public EtcRun {
protected:
  void SetUp() override {
    EtcRun::SetUp();
    if (!ETC_TEST_GLOO)
      GTEST_SKIP() << "built without Gloo";
  }
};

constexpr char kVerified[] =
    "verified: every element on every device, bit for bit";

} // namespace etc::run::test

#endif // ETC_TEST_ETCRUNFIXTURE_H
