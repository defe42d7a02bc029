// The etc-run binary where it can't write, or runs out of memory.

#include "EtcRunFixture.h"

using namespace etc::plan::test;
using namespace etc::run::test;

namespace {

TEST_F(EtcRun, SaysThatItMigratedWhereItCannotReport) {
  const std::string plan = write(twoStagePlan());
  const std::string noRoom = "No space left on device";
  Ended ended = run("--report=/dev/full " + plan);
  EXPECT_EQ(ended.code, 4) << ended.out;
  EXPECT_NE(ended.out.find("etc-run: migrated, but --report=/dev/full: cannot "
                           "write"),
            std::string::npos)
      << ended.out;
  for (const char *option : {"--json ", ""}) {
    ended = shell("(" ETC_RUN_BINARY " " + std::string(option) + plan +
                  " 2>&1 >/dev/full)");
    EXPECT_EQ(ended.code, 4) << ended.out;
    EXPECT_EQ(ended.out, "etc-run: migrated, but cannot write to the standard "
                         "output: " +
                             noRoom + "\n");
  }
  for (const char *asked : {"--version", "--help"}) {
    ended = shell("(" ETC_RUN_BINARY " " + std::string(asked) +
                  " 2>&1 >/dev/full)");
    EXPECT_EQ(ended.code, 2) << asked << ": " << ended.out;
  }
  ended = shell("(" ETC_RUN_BINARY " --dry-run " + plan + " 2>&1 >/dev/full)");
  EXPECT_EQ(ended.code, 2) << ended.out;
}

TEST_F(EtcRun, RefusesOutputsThatAreNoFiles) {
  const std::string plan = write(twoStagePlan());
  const std::string fifo = directory / "fifo", folder = directory / "folder";
  ASSERT_EQ(shell("mkfifo " + fifo + " && mkdir " + folder).code, 0);
  const std::string regular = ": expected a regular file, got a ";
  struct Case {
    std::string option, message;
  };
  for (const Case &wrong : {
           Case{"--trace=" + fifo, fifo + regular + "FIFO"},
           Case{"--trace=" + folder, folder + regular + "directory"},
           Case{"--trace=/dev/full", "/dev/full" + regular + "device"},
           Case{"--report=" + fifo, "--report=" + fifo + regular + "FIFO"},
           Case{"--report=" + folder,
                "--report=" + folder + regular + "directory"},
           Case{"--out=" + fifo, fifo + ": cannot make it: Not a directory"},
           Case{"--out=/dev/full",
                "/dev/full: cannot make it: Not a directory"},
       }) {
    const Ended ended =
        shell("timeout 60 " ETC_RUN_BINARY " " + wrong.option + " " + plan);
    EXPECT_EQ(ended.code, 2) << ended.out;
    EXPECT_EQ(ended.out, "etc-run: " + wrong.message + "\n");
  }
}

/// What is migrated and then cannot be written, beyond `ulimit -f`.
void expectUntold(const std::string &options, const std::string &message) {
  const Ended ended =
      shell("(ulimit -f 0; exec " ETC_RUN_BINARY " " + options + ")");
  EXPECT_EQ(ended.code, 4) << ended.out;
  EXPECT_NE(ended.out.find(message), std::string::npos) << ended.out;
  EXPECT_EQ(ended.out.find("wrote the files"), std::string::npos) << ended.out;
}

TEST_F(EtcRun, SaysThatItMigratedWhereItCannotWriteTheState) {
  const std::string out = directory / "out";
  expectUntold("--out=" + out + " " + write(twoStagePlan()),
               "etc-run: migrated, but " + out + "/device-");
}

TEST_F(EtcRun, SaysThatItMigratedWhereItCannotWrite) {
  const std::string out = directory / "out", plan = write(twoStagePlan());
  const std::string launch = "--transport=tcp --launch=4 ";
  expectUntold(launch + "--out=" + out + " " + plan,
               "etc-run: migrated, but " + out + "/device-");
  const std::string trace = directory / "trace";
  expectUntold(launch + "--trace=" + trace + " " + plan,
               "etc-run: migrated, but " + trace +
                   ".0: cannot write: File too "
                   "large");
}

TEST_F(EtcRun, AClosedPipeIsAnError) {
  const Ended ended =
      shell("bash -c '(sleep 0.2; " ETC_RUN_BINARY " --json " +
            write(twoStagePlan()) + " 2>&3; echo exit $? >&3) 3>&2 | true'");
  EXPECT_EQ(ended.out, "etc-run: migrated, but cannot write to the standard "
                       "output: Broken pipe\nexit 4\n");
}

TEST_F(EtcRun, AFileSizeLimitIsAnError) {
  const std::string journal = directory / "journal";
  Ended ended = shell("(ulimit -f 0; " ETC_RUN_BINARY " --journal=" + journal +
                      " " + write(twoStagePlan()) + ")");
  EXPECT_EQ(ended.code, 2) << ended.out;
  EXPECT_NE(ended.out.find("cannot write: File too large"), std::string::npos)
      << ended.out;
  EXPECT_FALSE(std::filesystem::exists(journal)) << "a refusal left it";
}

TEST_F(EtcRun, RunningOutOfMemoryIsOneLine) {
  // From too little to be loaded to enough for all threads.
  const std::string plan = write(twoStagePlan());
  for (int kilobytes = 20'000; kilobytes <= 60'000; kilobytes += 1'000) {
    Ended ended = shell("(ulimit -v " + std::to_string(kilobytes) +
                        "; exec " ETC_RUN_BINARY " " + plan + ")");
    if (ended.code == 0 || ended.code == 127) // migrated, or was not loaded
      continue;
    SCOPED_TRACE(kilobytes);
    EXPECT_TRUE(ended.code == 2 || ended.code == 3) << ended.out;
    EXPECT_TRUE(ended.out.starts_with("etc-run: ")) << ended.out;
    EXPECT_EQ(ended.out.find('\n'), ended.out.size() - 1) << ended.out;
    EXPECT_NE(ended.out.find("(ulimit -v"), std::string::npos) << ended.out;
  }
}

TEST_F(EtcRun, ProcessesThatRunOutOfMemoryAreOneLine) {
  const std::string plan = write(twoStagePlan());
  for (int kilobytes = 24'000; kilobytes <= 44'000; kilobytes += 1'000) {
    const auto start = std::chrono::steady_clock::now();
    const Ended ended = shell(
        "(ulimit -v " + std::to_string(kilobytes) +
        "; exec " ETC_RUN_BINARY " --launch=4 --transport=tcp " + plan + ")");
    if (ended.code == 0 || ended.code == 127) // migrated, or was not loaded
      continue;
    SCOPED_TRACE(kilobytes);
    EXPECT_TRUE(ended.code == 2 || ended.code == 3) << ended.out;
    EXPECT_TRUE(ended.out.starts_with("etc-run: ")) << ended.out;
    EXPECT_EQ(ended.out.find('\n'), ended.out.size() - 1) << ended.out;
    EXPECT_NE(ended.out.find("(ulimit -v"), std::string::npos) << ended.out;
    EXPECT_LT(std::chrono::steady_clock::now() - start,
              std::chrono::seconds(50)); // of --timeout's 60
  }
}

} // namespace
