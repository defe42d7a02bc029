// The etc-run binary as a user meets it: what tests of it share.

#ifndef ETC_TEST_ETCRUNFIXTURE_H
#define ETC_TEST_ETCRUNFIXTURE_H

#include "PlanFixture.h"
#include "Shell.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace etc::run::test {

using etc::test::Ended;
using etc::test::shell;

class EtcRun : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "etc-run-test-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  std::string write(const std::vector<uint8_t> &bytes,
                    const std::string &name) {
    std::string path = directory / name;
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    return path;
  }
  std::string write(plan::fb::PlanT plan) {
    return write(plan::packPlan(std::move(plan)), "m.etcplan");
  }

  Ended run(const std::string &arguments) {
    return shell("TMPDIR=" + directory.string() + " " ETC_RUN_BINARY " " +
                 arguments);
  }

  std::filesystem::path directory;
};

constexpr char kVerified[] =
    "verified: every element on every device, bit for bit";

} // namespace etc::run::test

#endif // ETC_TEST_ETCRUNFIXTURE_H
