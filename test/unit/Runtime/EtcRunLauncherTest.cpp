// The etc-run binary under a launcher that ends all processes once the first
// one has ended, as torchrun, mpirun and srun can do.

#include "EtcRunFixture.h"

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace etc::plan::test;
using namespace etc::run::test;

namespace {

class EtcRunLauncher : public EtcRun {
protected:
  void SetUp() override {
    EtcRun::SetUp();
    meeting = directory / "meeting";
    std::filesystem::create_directory(meeting);
  }

  /// Starts a process for each of these settings of variables; returns what
  /// they say.
  std::string launch(const std::vector<std::string> &settings,
                     const std::string &binary, const std::string &options) {
    const std::string plan = write(twoStagePlan());
    int said[2]; // a pipe, since a disk may be full
    EXPECT_EQ(::pipe(said), 0);
    std::vector<pid_t> processes;
    for (const std::string &variables : settings) {
      const std::string command =
          variables + "; export RANK ETC_FAULT WORLD_SIZE=4; exec " + binary +
          " $MODE --transport=tcp --host=127.0.0.1 --rendezvous=" +
          meeting.string() + " " + options + " " + plan;
      processes.push_back(::fork());
      if (processes.back() == 0) {
        ::dup2(said[1], STDOUT_FILENO);
        ::dup2(said[1], STDERR_FILENO);
        ::close(said[0]);
        ::close(said[1]);
        ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
        ::_exit(127);
      }
    }
    const pid_t first = ::wait(nullptr);
    for (pid_t process : processes)
      if (process != first)
        ::kill(process, SIGTERM);
    while (::wait(nullptr) > 0)
      ;
    std::filesystem::remove(meeting / "etc-run-control");
    ::close(said[1]);
    std::string out;
    char part[4096];
    for (ssize_t size; (size = ::read(said[0], part, sizeof part)) > 0;)
      out.append(part, size);
    ::close(said[0]);
    return out;
  }

  std::filesystem::path meeting;
};

TEST_F(EtcRunLauncher, HearsWhyTheyDoNotMeet) {
  struct Case {
    std::string why;
    std::vector<std::string> processes;
    std::string timeout = "30";
  };
  for (const Case &given :
       {Case{"not all of the 4 processes met in " + meeting.string() +
                 " within 1 s; missing: rank 3",
             {"RANK=0", "RANK=1", "RANK=2"},
             "1"},
        Case{"two processes are rank 2",
             {"RANK=0", "RANK=1", "RANK=2", "RANK=2"}},
        Case{"rank 3 has another --mode than rank 0; give every process the "
             "same",
             {"RANK=0", "RANK=1", "RANK=2", "RANK=3 MODE=--mode=safe"}}})
    EXPECT_EQ(
        launch(given.processes, ETC_RUN_BINARY, "--timeout=" + given.timeout),
        "etc-run: " + given.why + "\n");
}

TEST_F(EtcRunLauncher, HearsWhyTheMigrationFails) {
  const std::string journal = directory / "journal";
  for (const std::string fault :
       {"flip@2:0:wait", "flip@0:0:wait", "full@2:0:pack", "hang@2:0:pack",
        "hang@0:0:pack"})
    for (const bool isKept : {false, true}) {
      // Without files no disk can be full.
      if (!isKept && fault.starts_with("full"))
        continue;
      const std::string said =
          launch({"RANK=0", "RANK=1", "RANK=2", "RANK=3"},
                 "env ETC_FAULT=" + fault + " " ETC_FAULTY_BINARY,
                 "--timeout=1" + (isKept ? " --journal=" + journal : ""));
      EXPECT_TRUE(said.starts_with("etc-run: ")) << fault << ": " << said;
      EXPECT_EQ(said.find('\n'), said.size() - 1) << fault << ": " << said;
      // Rank 0 cannot look for what is left where it hangs.
      const bool isNoted = isKept && fault != "hang@0:0:pack";
      EXPECT_EQ(said.ends_with("; etc-run status " + journal +
                               " says what is left\n"),
                isNoted)
          << fault << ": " << said;
      std::filesystem::remove_all(journal);
    }
}

/// What is wrong only once the state has moved.
TEST_F(EtcRunLauncher, HearsThatTheStateIsNotWritten) {
  const std::string said = launch(
      {"RANK=0", "RANK=1", "RANK=2 ETC_FAULT=full@2:2:done", "RANK=3"},
      ETC_FAULTY_BINARY, "--timeout=30 --out=" + (directory / "out").string());
  const size_t line = said.find("etc-run: migrated, but ");
  ASSERT_NE(line, std::string::npos) << said;
  EXPECT_EQ(said.find('\n', line), said.size() - 1) << said;
}

} // namespace
