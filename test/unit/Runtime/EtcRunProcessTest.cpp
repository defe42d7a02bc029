// The etc-run binary with a process a participant.

#include "EtcRunFixture.h"

#include "core/plan/Slice.h"

#include <csignal>
#include <sstream>
#include <unistd.h>
#include <vector>

using namespace etc::plan;
using namespace etc::plan::test;
using namespace etc::run::test;

namespace {

TEST_F(EtcRun, LaunchesProcesses) {
  for (auto plan : {twoStagePlan(), relayPlan(), transitPlan()}) {
    auto count = std::to_string(plan.participants.size());
    Ended ended = run("--launch=" + count + " --transport=tcp --timeout=30 " +
                      write(std::move(plan)));
    EXPECT_EQ(ended.code, 0) << ended.out;
    EXPECT_NE(ended.out.find(kVerified), std::string::npos) << ended.out;
  }
  Ended encrypted =
      run("--launch=4 --transport=tcp --encrypt " + write(twoStagePlan()));
  EXPECT_EQ(encrypted.code, 0) << encrypted.out;
  EXPECT_NE(encrypted.out.find(kVerified), std::string::npos) << encrypted.out;
  // Nothing but the plan is left in the temporary directory.
  for (const auto &entry : std::filesystem::directory_iterator(directory))
    EXPECT_EQ(entry.path().filename(), "m.etcplan");
}

/// The children that a process has by now, where the kernel tells.
std::vector<pid_t> childrenOf(pid_t pid) {
  std::string task = "/proc/" + std::to_string(pid) + "/task/";
  std::ifstream file(task + std::to_string(pid) + "/children");
  std::vector<pid_t> children;
  for (pid_t child; file >> child;)
    children.push_back(child);
  return children;
}

TEST_F(EtcRun, AKilledProcessEndsTheRun) {
  if (!std::filesystem::exists("/proc/self/task/" + std::to_string(::getpid()) +
                               "/children"))
    GTEST_SKIP() << "the kernel does not list children";
  std::string plan = write(twoStagePlan()), log = directory / "log";
  pid_t parent = ::fork();
  if (parent == 0) {
    ::setenv("TMPDIR", directory.c_str(), 1);
    if (!std::freopen(log.c_str(), "w", stderr))
      ::_exit(127);
    ::execl(ETC_RUN_BINARY, "etc-run", "--launch=4", "--transport=tcp",
            "--timeout=30", plan.c_str(), nullptr);
    ::_exit(127);
  }
  // They cannot finish without the last one, which dies as soon as it is there.
  std::vector<pid_t> children;
  int state = 0;
  while (children.size() < 4 && ::waitpid(parent, &state, WNOHANG) == 0)
    children = childrenOf(parent);
  ASSERT_EQ(children.size(), 4u);
  ::kill(children.back(), SIGKILL);
  ASSERT_EQ(::waitpid(parent, &state, 0), parent);
  EXPECT_EQ(WEXITSTATUS(state), 3);
  std::stringstream message;
  message << std::ifstream(log).rdbuf();
  EXPECT_EQ(message.str(),
            "etc-run: device 3: before the first round: killed by signal 9\n");
  for (pid_t child : children)
    EXPECT_NE(::kill(child, 0), 0) << "left over";
}

TEST_F(EtcRun, WaitsWhereChildrenAreIgnored) {
  Ended ended = shell("env --ignore-signal=CHLD " ETC_RUN_BINARY
                      " --launch=4 --transport=tcp " +
                      write(twoStagePlan()));
  EXPECT_EQ(ended.code, 0) << ended.out;
  EXPECT_NE(ended.out.find(kVerified), std::string::npos) << ended.out;
}

TEST_F(EtcRun, CountsProcesses) {
  Ended ended = run("--launch=8 --transport=tcp " + write(twoStagePlan()));
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.out, "etc-run: the plan needs 4 processes (its "
                       "participants), --launch=8 starts 8; use --launch=4\n");
}

TEST_F(EtcRun, AHostThatDoesNotResolve) {
  // No such name can exist, so no server is asked for it.
  Ended ended = run("--launch=4 --transport=tcp --host=no..host " +
                    write(twoStagePlan()));
  EXPECT_EQ(ended.code, 2);
  EXPECT_TRUE(
      ended.out.starts_with("etc-run: host no..host does not resolve: "))
      << ended.out;
  EXPECT_NE(ended.out.find("; set --host (in C and Python: host) to an address "
                           "of this machine that the other processes reach\n"),
            std::string::npos)
      << ended.out;
}

TEST_F(EtcRun, AHostOfAnotherMachine) {
  // 192.0.2.0/24 is reserved for documentation.
  Ended ended = run("--launch=4 --transport=tcp --host=192.0.2.1 " +
                    write(twoStagePlan()));
  EXPECT_EQ(ended.code, 2);
  EXPECT_TRUE(ended.out.starts_with("etc-run: host 192.0.2.1 is 192.0.2.1, "
                                    "where this machine cannot listen: "))
      << ended.out;
}

constexpr char kRaise[] = "Too many open files; raise the limit (ulimit -n)\n";

/// For a shell: what it starts from here on has so many descriptors at most.
std::string limitOpenFiles(int limit) {
  return "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; ulimit -n " +
         std::to_string(limit) + "; ";
}

/// How often a text is in another.
int count(const std::string &text, const std::string &what) {
  int found = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at)
    ++found;
  return found;
}

TEST_F(EtcRun, NamesTheLimitOfOpenFiles) {
  const std::string plan = write(twoStagePlan());
  bool hasRun = false;
  for (int limit = 4; !hasRun; ++limit) {
    Ended ended =
        shell("(" + limitOpenFiles(limit) +
              "exec timeout 50 " ETC_RUN_BINARY " --launch=4 --transport=tcp " +
              plan + ")");
    hasRun = ended.code == 0;
    if (hasRun)
      continue;
    EXPECT_EQ(ended.code, 2) << limit << ": " << ended.out;
    EXPECT_TRUE(ended.out.ends_with(kRaise)) << limit << ": " << ended.out;
    EXPECT_EQ(count(ended.out, "\n"), 1) << limit << ": " << ended.out;
    ASSERT_LT(limit, 40);
  }
}

/// Runs a command on a machine whose name cannot resolve.
constexpr char kUnderAnotherName[] =
    "unshare --user --map-root-user --uts sh -c "
    "'echo no..host > /proc/sys/kernel/hostname && exec \"$@\"' - ";

/// Processes as a launcher starts them, meeting in a directory.
class EtcRunLaunched : public EtcRun {
protected:
  void SetUp() override {
    EtcRun::SetUp();
    meeting = directory / "meeting";
    std::filesystem::create_directory(meeting);
  }

  /// Starts ranks 3 to `first`, each on its host; an empty one is a machine
  /// whose name does not resolve. Prints the exit status of each after what it
  /// says.
  Ended launch(const std::vector<std::string> &hosts, int first = 0) {
    return launch(hosts, first,
                  std::vector<std::string>(4, write(twoStagePlan())));
  }

  /// The same, each with a plan file of its own.
  Ended launch(const std::vector<std::string> &hosts, int first,
               const std::vector<std::string> &plans) {
    std::string command;
    for (int rank = 3; rank >= first; --rank)
      command += "(" + before + "RANK=" + std::to_string(rank) +
                 " WORLD_SIZE=4 " +
                 (hosts[rank].empty() ? kUnderAnotherName : "") +
                 ETC_RUN_BINARY " --transport=tcp --timeout=" +
                 std::to_string(patience) +
                 (hosts[rank].empty() ? "" : " --host=" + hosts[rank]) +
                 " --rendezvous=" + meeting.string() + " " + plans[rank] +
                 "; echo exit $?) & ";
    return shell("(" + command + "wait)");
  }

  /// The slices of a plan's ranks, as files.
  std::vector<std::string> writeSlices(fb::PlanT made) {
    const std::vector<uint8_t> bytes = packPlan(std::move(made));
    const PlanIndex index(*fb::GetPlan(bytes.data()));
    const FingerprintTree tree(index);
    std::vector<std::string> files;
    for (uint32_t rank = 0; rank != 4; ++rank)
      files.push_back(write(slicePlan(index, tree, rank),
                            text("slice-", rank, ".etcplan")));
    return files;
  }

  const std::vector<std::string> here{4, "127.0.0.1"};
  std::filesystem::path meeting;
  int patience = 30;  // seconds
  std::string before; // in the shell of each process
};

TEST_F(EtcRunLaunched, AllNameTheLimitOfOpenFiles) {
  bool hasRun = false;
  for (int limit = 4; !hasRun; ++limit) {
    before = limitOpenFiles(limit);
    Ended ended = launch(here);
    hasRun = count(ended.out, "exit 0\n") == 4;
    if (hasRun)
      continue;
    EXPECT_EQ(count(ended.out, "exit 2\n"), 4) << limit << ": " << ended.out;
    EXPECT_EQ(count(ended.out, kRaise), count(ended.out, "\n") - 4)
        << limit << ": " << ended.out;
    EXPECT_GE(count(ended.out, kRaise), 1) << limit << ": " << ended.out;
    ASSERT_LT(limit, 40);
  }
}

TEST_F(EtcRunLaunched, RunsSlices) {
  std::vector<std::string> plans = writeSlices(twoStagePlan());
  // Who has the whole plan takes part all the same.
  plans[2] = write(twoStagePlan());
  Ended ended = launch(here, 0, plans);
  EXPECT_NE(ended.out.find(kVerified), std::string::npos) << ended.out;
  EXPECT_EQ(count(ended.out, "exit 0\n"), 4) << ended.out;
}

TEST_F(EtcRunLaunched, SlicesOfTwoPlansRefuseEachOther) {
  fb::PlanT other = twoStagePlan();
  other.model = "other";
  std::vector<std::string> plans = writeSlices(std::move(other));
  plans[0] = write(twoStagePlan());
  Ended ended = launch(here, 0, plans);
  EXPECT_NE(ended.out.find("has another plan than rank 0"), std::string::npos)
      << ended.out;
  EXPECT_EQ(count(ended.out, "exit 0\n"), 0) << ended.out;
}

TEST_F(EtcRunLaunched, ASliceIsOfOneRank) {
  const std::vector<std::string> plans = writeSlices(twoStagePlan());
  Ended alone = run(plans[1] + " 2>&1");
  EXPECT_NE(alone.out.find("is the slice of rank 1; start a process for each "
                           "rank with torchrun, srun or mpirun"),
            std::string::npos)
      << alone.out;
}

TEST_F(EtcRunLaunched, Runs) {
  Ended ended = launch(here);
  EXPECT_NE(ended.out.find(kVerified), std::string::npos) << ended.out;
  EXPECT_EQ(count(ended.out, "exit 0\n"), 4) << ended.out;
  EXPECT_TRUE(std::filesystem::is_empty(meeting));
}

TEST_F(EtcRunLaunched, OneTellsWhyTheyDoNotMeet) {
  std::vector<std::string> plans(4, write(twoStagePlan()));
  plans[2].insert(0, "--mode=safe ");
  Ended ended = launch(here, 0, plans);
  EXPECT_EQ(count(ended.out, "exit 2\n"), 4) << ended.out;
  EXPECT_EQ(count(ended.out, "etc-run: "), 1) << ended.out;
  EXPECT_NE(ended.out.find("etc-run: rank 2 has another --mode than rank 0; "
                           "give every process the same\n"),
            std::string::npos)
      << ended.out;
}

TEST_F(EtcRunLaunched, AllLearnOfAHostThatDoesNotResolve) {
  for (int rank : {0, 2}) {
    auto hosts = here;
    hosts[rank] = "no..host";
    Ended ended = launch(hosts);
    EXPECT_EQ(count(ended.out, "exit 2\n"), 4) << ended.out;
    EXPECT_EQ(count(ended.out, "host no..host does not resolve: "),
              rank == 0 ? 4 : 1)
        << ended.out;
    EXPECT_EQ(count(ended.out, "etc-run: rank 0: host no..host does not "),
              rank == 0 ? 3 : 0)
        << ended.out;
  }
}

TEST_F(EtcRunLaunched, AllLearnOfAMachineWhoseNameDoesNotResolve) {
  if (shell(std::string(kUnderAnotherName) + "true").code != 0)
    GTEST_SKIP() << "the kernel gives this user no namespaces";
  for (int rank : {0, 2}) {
    auto hosts = here;
    hosts[rank].clear();
    Ended ended = launch(hosts);
    EXPECT_EQ(count(ended.out, "exit 2\n"), 4) << ended.out;
    EXPECT_EQ(count(ended.out, "machine's name no..host does not resolve: "),
              rank == 0 ? 4 : 1)
        << ended.out;
    EXPECT_EQ(count(ended.out, "; set --host (in C and Python: host) to an "
                               "address of this machine that the other "
                               "processes reach\n"),
              rank == 0 ? 4 : 1)
        << ended.out;
  }
}

TEST_F(EtcRunLaunched, PassesOverWhatAKilledRunLeft) {
  const std::string file = meeting / "etc-run-control";
  std::ofstream(file) << "127.0.0.1:1\n" << std::string(64, 'a') << "\n";
  std::filesystem::permissions(file, std::filesystem::perms(0600));
  Ended ended = launch(here);
  EXPECT_EQ(count(ended.out, "exit 0\n"), 4) << ended.out;
}

TEST_F(EtcRunLaunched, NamesWhatAKilledRunLeft) {
  const std::string file = meeting / "etc-run-control";
  std::ofstream(file) << "127.0.0.1:1\n" << std::string(64, 'a') << "\n";
  std::filesystem::permissions(file, std::filesystem::perms(0600));
  patience = 1;
  Ended ended = launch(here, 3);
  EXPECT_EQ(ended.out, "etc-run: " + file +
                           ": no process answered at 127.0.0.1:1 within 1 s; "
                           "if an earlier run that was killed left the "
                           "file, remove it\nexit 3\n");
}

TEST_F(EtcRunLaunched, RefusesAStrangersFile) {
  const std::string file = meeting / "etc-run-control";
  std::ofstream(file) << "127.0.0.1:1\n" << std::string(64, 'a') << "\n";
  std::filesystem::permissions(file, std::filesystem::perms(0666));
  Ended ended = launch(here, 3);
  EXPECT_EQ(ended.out, "etc-run: " + file +
                           ": is open to other users, and so is not from this "
                           "job; use a directory that only you can write "
                           "to\nexit 2\n");
}

TEST_F(EtcRunLaunched, MeetsInADirectory) {
  meeting = directory / "none";
  Ended ended = launch(here, 3);
  EXPECT_EQ(ended.out,
            "etc-run: " + meeting.string() +
                ": is not a directory; --rendezvous takes an empty one "
                "that all hosts share\nexit 2\n");
}

TEST_F(EtcRun, MissingPeersEndTheRun) {
  std::string command = "RANK=0 WORLD_SIZE=4 " ETC_RUN_BINARY
                        " --transport=tcp --timeout=1 --host=127.0.0.1 "
                        "--rendezvous=" +
                        directory.string() + " " + write(twoStagePlan());
  Ended ended = shell(command);
  EXPECT_EQ(ended.code, 3);
  EXPECT_EQ(ended.out, "etc-run: not all of the 4 processes met in " +
                           directory.string() +
                           " within 1 s; missing: ranks 1, 2, 3\n");
}

TEST_F(EtcRun, ASlowRankZeroLeavesTheFileOfTheNextRun) {
  const std::string file = (directory / "etc-run-control").string();
  const std::string next = "127.0.0.1:1\\n" + std::string(64, 'a') + "\\n";
  const std::string command =
      "{ (sleep 0.5; umask 077; printf '" + next + "' > " + file +
      ".next; mv " + file + ".next " + file +
      ") & RANK=0 WORLD_SIZE=4 " ETC_RUN_BINARY
      " --transport=tcp --timeout=1 --host=127.0.0.1 --rendezvous=" +
      directory.string() + " " + write(twoStagePlan()) + "; wait; cat " + file +
      "; }";
  const Ended ended = shell(command);
  EXPECT_NE(ended.out.find("missing: ranks 1, 2, 3\n127.0.0.1:1\n"),
            std::string::npos)
      << ended.out;
}

} // namespace
