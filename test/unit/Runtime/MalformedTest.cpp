// Malformed plans and requests as a user meets them: one line that says what is
// wrong, the right exit code, and nothing left behind. P11 and P12 of
// docs/reliability.md.

#include "MalformedPlans.h"
#include "Shell.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace etc::plan;
using namespace etc::plan::test;
using etc::test::Ended;
using etc::test::shell;

namespace {

class Malformed : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "etc-malformed-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory = pattern;
    plan = directory / "m.etcplan";
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  void write(const std::string &path, std::string_view bytes) {
    std::filesystem::create_directories(
        std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

  void writePlan(fb::PlanT malformed) {
    std::vector<uint8_t> bytes = packPlan(std::move(malformed));
    write(plan, {reinterpret_cast<const char *>(bytes.data()), bytes.size()});
  }

  Ended run(const std::string &arguments) {
    return shell("cd " + directory.string() + " && TMPDIR=" +
                 directory.string() + " " ETC_RUN_BINARY " " + arguments);
  }

  /// Every file there is, by name.
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto &entry :
         std::filesystem::recursive_directory_iterator(directory))
      names.push_back(
          std::filesystem::relative(entry.path(), directory).string());
    std::sort(names.begin(), names.end());
    return names;
  }

  void expect(const std::string &arguments, const std::string &message) {
    const std::vector<std::string> before = files();
    Ended ended = run(arguments);
    EXPECT_EQ(ended.code, 2) << arguments;
    EXPECT_EQ(ended.out, "etc-run: " + message + "\n") << arguments;
    EXPECT_EQ(files(), before) << arguments;
  }

  void expectAll(const std::vector<MalformedPlan> &plans) {
    for (const MalformedPlan &wrong : plans) {
      SCOPED_TRACE(wrong.name);
      fb::PlanT damaged = wrong.base();
      wrong.damage(damaged);
      writePlan(std::move(damaged));
      expect("--journal=journal m.etcplan",
             std::string("m.etcplan: ") + wrong.message);
    }
  }

  std::filesystem::path directory;
  std::string plan;
};

TEST_F(Malformed, Tables) { expectAll(kMalformedTables); }

TEST_F(Malformed, Programs) { expectAll(kMalformedPrograms); }

TEST_F(Malformed, Certificates) { expectAll(kMalformedCertificates); }

TEST_F(Malformed, Requests) {
  writePlan(twoStagePlan());
  struct Case {
    const char *arguments, *message;
  };
  for (const Case &wrong : {
           Case{"", "no plan given; try: etc-run m.etcplan (etc-opt "
                    "--emit=plan writes one, etc-run --help says more)"},
           Case{"a b", "one plan at a time: a and b"},
           Case{"--fast m.etcplan",
                "unknown option --fast; etc-run --help lists all"},
           Case{"--mode m.etcplan", "--mode needs a value: --mode=eager|safe"},
           Case{"--mode=fast m.etcplan",
                "--mode=fast: expected --mode=eager|safe"},
           Case{"--mode= m.etcplan", "--mode=: expected --mode=eager|safe"},
           Case{"--journal= m.etcplan", "--journal=: expected --journal=DIR"},
           Case{"--state= m.etcplan", "--state=: expected --state=DIR"},
           Case{"--state=s m.etcplan",
                "--state needs --journal=DIR, which says what is in it"},
           Case{"--timeout=0 m.etcplan",
                "--timeout=0: expected --timeout=SECONDS"},
           Case{"--timeout=-1 m.etcplan",
                "--timeout=-1: expected --timeout=SECONDS"},
           Case{"--timeout=nan m.etcplan",
                "--timeout=nan: expected --timeout=SECONDS"},
           Case{"--timeout=1e7 m.etcplan",
                "--timeout=1e7: expected --timeout=SECONDS"},
           Case{"--timeout=5s m.etcplan",
                "--timeout=5s: expected --timeout=SECONDS"},
           Case{"--silence=0 m.etcplan",
                "--silence=0: expected --silence=SECONDS"},
           Case{"--floor-rate=0 m.etcplan",
                "--floor-rate=0: expected --floor-rate=MB/S"},
           Case{"--floor-rate=fast m.etcplan",
                "--floor-rate=fast: expected --floor-rate=MB/S"},
           Case{"--launch=0 m.etcplan", "--launch=0: expected --launch=N"},
           Case{"--launch=-4 m.etcplan", "--launch=-4: expected --launch=N"},
           Case{"--launch=4x m.etcplan", "--launch=4x: expected --launch=N"},
           Case{"--launch=4 m.etcplan",
                "--launch needs --transport=tcp or nccl; without both, every "
                "device is a thread of this process"},
           Case{"--launch=99999999999 m.etcplan",
                "--launch=99999999999: expected --launch=N"},
           Case{"--transport=nccl --journal=j m.etcplan",
                "--journal is for state in host memory, which can outlive a "
                "process; use --transport=tcp or local with --memory=host"},
           Case{"--memory=cuda --from=j m.etcplan",
                "--from is for state in host memory, which can outlive a "
                "process; use --transport=tcp or local with --memory=host"},
           Case{"--cluster=c.json m.etcplan",
                "--cluster is where --dry-run computes the time; add "
                "--dry-run, or --report=FILE"},
           Case{"--failed=1 m.etcplan",
                "--failed is for etc-run status and inventory, and for "
                "--from"},
           Case{"--restore-from=d m.etcplan",
                "--restore-from is for etc-run inventory, and for --from"},
           Case{"--failed= m.etcplan", "--failed=: expected --failed=LIST"},
           Case{"--failed=1,,2 m.etcplan",
                "--failed=1,,2: expected --failed=LIST"},
           Case{"--failed=x m.etcplan", "--failed=x: expected --failed=LIST"},
           Case{"--verify=some m.etcplan",
                "--verify=some: expected --verify=full|checksum|off"},
           Case{"--progress=yes m.etcplan",
                "--progress=yes: expected --progress=auto|on|off"},
           Case{"--rows=3 m.etcplan", "--rows=3: expected --rows=auto|all"},
           Case{"--json=1 m.etcplan", "--json takes no value"},
           Case{"--help=1", "--help takes no value"},
           Case{"--control= m.etcplan",
                "--control=: expected --control=HOST:PORT"},
           Case{"--rendezvous= m.etcplan",
                "--rendezvous=: expected --rendezvous=DIR"},
           Case{"--host= m.etcplan", "--host=: expected --host=NAME"},
           Case{"--from= m.etcplan", "--from=: expected --from=DIR"},
           Case{"--from=none m.etcplan", "none: no migration's journal is here "
                                         "(etc-run --journal=none makes one)"},
           Case{
               "resume",
               "resume needs the directory of the journal: etc-run resume DIR"},
           Case{
               "resume --json",
               "resume needs the directory of the journal: etc-run resume DIR"},
           Case{"rollback", "rollback needs the directory of the journal: "
                            "etc-run rollback DIR"},
           Case{
               "status",
               "status needs the directory of the journal: etc-run status DIR"},
           Case{"inventory", "inventory needs the directory of the journal: "
                             "etc-run inventory DIR"},
           Case{"resume none", "none: no migration's journal is here (etc-run "
                               "--journal=none makes one)"},
           Case{"rollback none", "none: no migration's journal is here "
                                 "(etc-run --journal=none makes one)"},
           Case{"status none", "none: no migration's journal is here (etc-run "
                               "--journal=none makes one)"},
           Case{"inventory none", "none: no migration's journal is here "
                                  "(etc-run --journal=none makes one)"},
           Case{"none.etcplan",
                "none.etcplan: cannot open: No such file or directory"},
           Case{".", ".: expected a regular file, got a directory"},
           Case{
               "--transport=tcp m.etcplan",
               "the plan needs 4 processes (its participants), and no launcher "
               "started this one; use --launch=4, or torchrun, srun or mpirun"},
           Case{"--launch=3 --transport=tcp m.etcplan",
                "the plan needs 4 processes (its participants), --launch=3 "
                "starts 3; use --launch=4"},
       }) {
    SCOPED_TRACE(wrong.arguments);
    expect(wrong.arguments, wrong.message);
  }
}

/// What an earlier migration left, damaged.
TEST_F(Malformed, Directories) {
  writePlan(twoStagePlan());
  const std::string journal = directory / "j/device-0.journal";
  ASSERT_EQ(run("--journal=j m.etcplan").code, 0);
  expect("--journal=j m.etcplan",
         "j: holds the journal of a migration; go on with etc-run resume, back "
         "with etc-run rollback, or name another directory");
  expect("--journal=k --state=j m.etcplan",
         "j/device-0: holds state already; name another directory, or remove "
         "it");
  expect("--journal=m.etcplan m.etcplan",
         "m.etcplan: cannot make it: Not a directory");
  expect("rollback j",
         "cannot roll back: the migration is complete; plan the way back as a "
         "new one, with etc-opt --prev=j/plan.etcplan");
  expect("status j --failed=9",
         "--failed: device 9 takes no part in the migration");
  expect("status j k", "one directory at a time: j and k");
  expect("resume j --from=j",
         "--from is for a new migration, not for an earlier one");
  for (const std::string verb : {"resume", "rollback"})
    expect(verb + " j --failed=1",
           verb + " needs the files of all devices, so leave --failed out; "
                  "etc-run inventory j --failed=1 lists what is left to plan "
                  "from");

  write(journal, "abc");
  for (const char *verb : {"status", "resume", "rollback", "inventory"})
    expect(std::string(verb) + " j",
           "j/device-0.journal: not a journal: 3 bytes");
  write(journal, std::string(40, 'x'));
  expect("status j", "j/device-0.journal: not a journal of this version "
                     "(expected ETCJRNL1)");
  write(journal, "ETCJRNL1" + std::string(32, 'x'));
  expect("status j", "j/device-0.journal: damaged: the header does not match "
                     "its checksum");
  write(directory / "j/options", "--fast\n");
  expect("status j",
         "j/options: unknown option --fast; etc-run --help lists all");
  write(directory / "j/options", "");
  write(directory / "j/plan.etcplan", "");
  expect("status j", "j/plan.etcplan: not an ETC plan (expected file "
                     "identifier 'ETCP', the file has 0 bytes)");
}

TEST_F(Malformed, AnotherPlansJournal) {
  writePlan(twoStagePlan());
  ASSERT_EQ(run("--journal=j m.etcplan").code, 0);
  writePlan(relayPlan());
  std::filesystem::copy_file(plan, directory / "j/plan.etcplan",
                             std::filesystem::copy_options::overwrite_existing);
  for (const char *verb : {"status", "resume", "rollback", "inventory"})
    expect(std::string(verb) + " j", "j/device-0.journal: is of another plan");
}

TEST_F(Malformed, Launchers) {
  writePlan(twoStagePlan());
  auto launched = [&](const std::string &variables, const char *arguments) {
    return shell("cd " + directory.string() + " && " + variables +
                 " " ETC_RUN_BINARY " --transport=tcp " + arguments +
                 " m.etcplan");
  };
  struct Case {
    const char *variables, *arguments, *message;
  };
  for (const Case &wrong : {
           Case{"RANK=0 WORLD_SIZE=4", "",
                "processes started by a launcher need --rendezvous=DIR, an "
                "empty directory that all of them share, or "
                "--control=HOST:PORT, "
                "or MASTER_ADDR and MASTER_PORT"},
           Case{"RANK=0 WORLD_SIZE=4 MASTER_ADDR=localhost MASTER_PORT=29500",
                "",
                "set ETC_JOB_TOKEN to the same secret of 16 to 64 characters "
                "for all processes of the job (openssl rand -hex 32 makes "
                "one)"},
           Case{"RANK=0 WORLD_SIZE=4 MASTER_ADDR=localhost MASTER_PORT=29500 "
                "ETC_JOB_TOKEN=short",
                "",
                "set ETC_JOB_TOKEN to the same secret of 16 to 64 characters "
                "for all processes of the job (openssl rand -hex 32 makes "
                "one)"},
           Case{"RANK=0 WORLD_SIZE=4", "--control=here",
                "here: expected HOST:PORT"},
           Case{"SLURM_PROCID=0 SLURM_NTASKS=5", "",
                "the plan needs 4 processes (its participants), the launcher "
                "started 5; start 4"},
           Case{"OMPI_COMM_WORLD_RANK=7 OMPI_COMM_WORLD_SIZE=4", "",
                "the plan needs 4 processes (its participants), and no "
                "launcher started this one; use --launch=4, or torchrun, srun "
                "or mpirun"},
       }) {
    Ended ended = launched(wrong.variables, wrong.arguments);
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(ended.out, "etc-run: " + std::string(wrong.message) + "\n");
    EXPECT_EQ(files(), std::vector<std::string>{"m.etcplan"});
  }
}

} // namespace
