// The etc-run binary as a user meets it.

#include "EtcRunFixture.h"

#include <nlohmann/json.hpp>

#include <set>
#include <sstream>

using namespace etc::plan::test;
using namespace etc::run::test;

namespace {

TEST_F(EtcRun, MigratesLocally) {
  Ended ended = run(write(twoStagePlan()));
  EXPECT_EQ(ended.code, 0) << ended.out;
  EXPECT_NE(ended.out.find(kVerified), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("device   sent  received"), std::string::npos)
      << ended.out;
}

TEST_F(EtcRun, WritesJson) {
  Ended ended = run("--json " + write(twoStagePlan()));
  EXPECT_EQ(ended.code, 0) << ended.out;
  EXPECT_NE(ended.out.find("\"moved_bytes\": 160"), std::string::npos);
  EXPECT_NE(ended.out.find("\"verified\": true"), std::string::npos);
  ended = run("--json --verify=off " + write(twoStagePlan()));
  EXPECT_NE(ended.out.find("\"verified\": null"), std::string::npos);
}

TEST_F(EtcRun, ExplainsItself) {
  Ended ended = run("--help");
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.out.substr(0, 30), "usage: etc-run [options] PLAN\n");
  EXPECT_TRUE(run("--version")
                  .out.starts_with("etc-run " ETC_TEST_VERSION
                                   " (plan format 2, revision "));
}

TEST_F(EtcRun, RefusesWrongUse) {
  struct Case {
    const char *arguments, *message;
  };
  for (const Case &wrong : {
           Case{"", "no plan given; try: etc-run m.etcplan (etc-opt "
                    "--emit=plan writes one, etc-run --help says more)"},
           Case{"--fast m", "unknown option --fast; etc-run --help lists all"},
           Case{"--transport=mpi m",
                "--transport=mpi: expected --transport=local|tcp|nccl"},
           Case{"--memory=cuda --transport=tcp m",
                "--transport=tcp moves host memory; use --transport=nccl for "
                "GPUs, or --transport=local for all devices in one process"},
           Case{"--ceiling --memory=cuda m",
                "--ceiling measures bare messages, and devices that share a "
                "process and its GPUs send none; remove it, or use "
                "--transport=nccl or --memory=host"},
           Case{"--ceiling --dry-run m",
                "--ceiling measures bare messages, and --dry-run sends none; "
                "remove one of them"},
           Case{"--timeout=soon m",
                "--timeout=soon: expected --timeout=SECONDS"},
           Case{"--launch=2 m",
                "--launch needs --transport=tcp or nccl; without both, every "
                "device is a thread of this process"},
           Case{"--launch", "--launch needs a value: --launch=N"},
           Case{"--encrypt m", "--encrypt is for --transport=tcp"},
           Case{"--json=1 m", "--json takes no value"},
           Case{"a b", "one plan at a time: a and b"},
           Case{"/nonexistent/m",
                "/nonexistent/m: cannot open: No such file or directory"},
       }) {
    Ended ended = run(wrong.arguments);
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(ended.out, "etc-run: " + std::string(wrong.message) + "\n");
  }
}

/// What a dry run predicts and what a run then counts.
void expectForecast(const Ended &dry, const Ended &real) {
  ASSERT_EQ(dry.code, 0) << dry.out;
  ASSERT_EQ(real.code, 0) << real.out;
  auto predicted = nlohmann::json::parse(dry.out);
  auto counted = nlohmann::json::parse(real.out);
  EXPECT_EQ(predicted["moved_bytes"], counted["moved_bytes"]);
  EXPECT_EQ(predicted["internode_bytes"], counted["internode_bytes"]);
  ASSERT_EQ(predicted["devices"].size(), counted["devices"].size());
  for (size_t i = 0; i != predicted["devices"].size(); ++i)
    for (auto &[name, value] : predicted["devices"][i].items()) {
      if (name == "node") // known from the plan
        continue;
      EXPECT_EQ(value, counted["devices"][i][name]) << name << " of " << i;
    }
}

TEST_F(EtcRun, PredictsBytesAndPeakExactly) {
  for (auto plan : {twoStagePlan(), relayPlan(), transitPlan()}) {
    std::string path = write(std::move(plan));
    expectForecast(run("--dry-run --json " + path), run("--json " + path));
  }
}

TEST_F(EtcRun, PredictsBytesAndPeakOfProcessesExactly) {
  std::string path = write(twoStagePlan());
  expectForecast(run("--dry-run --transport=tcp --json " + path),
                 run("--transport=tcp --launch=4 --json " + path));
}

/// Steps of a trace: 4 devices, 2 rounds, 5 steps each.
void expectTrace(const std::string &path) {
  auto trace = nlohmann::json::parse(std::ifstream(path));
  std::set<std::tuple<uint32_t, uint32_t, std::string>> steps;
  for (const auto &event : trace["traceEvents"])
    if (event["ph"] == "X")
      steps.emplace(event["tid"], event["args"]["round"], event["name"]);
  EXPECT_EQ(steps.size(), 4u * 2 * 5);
  EXPECT_TRUE(steps.contains({3, 1, "unpack"}));
}

TEST_F(EtcRun, WritesATrace) {
  std::string trace = directory / "trace.json", plan = write(twoStagePlan());
  EXPECT_EQ(run("--trace=" + trace + " " + plan).code, 0);
  expectTrace(trace);
  EXPECT_EQ(run("--trace=/nonexistent/t " + plan).out,
            "etc-run: /nonexistent/t: cannot write; name a file in a folder "
            "that exists\n");
}

TEST_F(EtcRun, WritesATraceOfProcesses) {
  std::string trace = directory / "trace.json", plan = write(twoStagePlan());
  EXPECT_EQ(
      run("--transport=tcp --launch=4 --trace=" + trace + " " + plan).code, 0);
  expectTrace(trace);
  EXPECT_FALSE(std::filesystem::exists(trace + ".0"));
}

TEST_F(EtcRun, PredictsTheTimeOnACluster) {
  std::string cluster = directory / "cluster.json";
  std::ofstream(cluster) << R"({"name": "mine",
    "link": {"bytes_per_second": 16, "latency_seconds": 1},
    "port": {"per_node": 1, "bytes_per_second": 1, "latency_seconds": 1},
    "pack": {"bytes_per_second": 32}})";
  Ended ended =
      run("--dry-run --cluster=" + cluster + " " + write(relayPlan()));
  EXPECT_EQ(ended.out, "moves inside nodes   64 B\n"
                       "moves between nodes  0 B\n"
                       "peak of a device     48 B\n"
                       "time                 11.0000 s on mine\n"
                       "busiest port         2.0000 s at its full rate\n");
  ended = run("--cluster=" + cluster + " m");
  EXPECT_EQ(ended.out, "etc-run: --cluster is where --dry-run computes the "
                       "time; add --dry-run, or --report=FILE\n");
}

TEST_F(EtcRun, AnEarlierAttemptKeepsItsMode) {
  const std::string journal = directory / "journal";
  ASSERT_EQ(
      run("--mode=safe --journal=" + journal + " " + write(twoStagePlan()))
          .code,
      0);
  for (const char *verb : {"resume ", "rollback "}) {
    Ended ended = run(verb + journal + " --mode=eager");
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(ended.out, "etc-run: " + journal +
                             ": was begun with --mode=safe; leave --mode "
                             "out\n");
  }
  EXPECT_EQ(run("resume " + journal + " --mode=safe").code, 0);
}

TEST_F(EtcRun, RefusesWhatIsNoFileAtOnce) {
  const std::string plan = write(twoStagePlan());
  const std::string journal = directory / "journal", in = directory / "in";
  ASSERT_EQ(run("--journal=" + journal + " " + plan).code, 0);
  struct Case {
    std::string file, arguments;
  };
  for (const Case &input : {
           Case{directory / "cluster",
                "--dry-run --cluster=" + (directory / "cluster").string() +
                    " " + plan},
           Case{in + "/param.safetensors", "--in=" + in + " " + plan},
           Case{in + "/inventory.json", "--in=" + in + " " + plan},
           Case{journal + "/device-0.journal", "status " + journal},
           Case{journal + "/options", "status " + journal},
       })
    for (auto [kind, make] :
         {std::pair("FIFO", "mkfifo "), std::pair("directory", "mkdir "),
          std::pair("device", "ln -s /dev/zero ")}) {
      std::filesystem::remove_all(in);
      std::filesystem::create_directory(in);
      std::filesystem::remove_all(input.file);
      ASSERT_EQ(shell(make + input.file).code, 0);
      const Ended ended =
          shell("(ulimit -v 2000000; exec timeout 60 " ETC_RUN_BINARY " " +
                input.arguments + ")");
      EXPECT_EQ(ended.code, 2) << ended.out;
      EXPECT_EQ(ended.out, "etc-run: " + input.file +
                               ": expected a regular file, got a " + kind +
                               "\n");
    }
}

TEST_F(EtcRun, OneOfSeveralStartsGetsTheDirectory) {
  const std::string journal = directory / "journal";
  const std::string out = directory / "out";
  const std::string start = ETC_RUN_BINARY " --journal=" + journal + " " +
                            write(twoStagePlan()) + " >" + out;
  const Ended ended =
      shell("for i in 1 2 3 4; do (" + start + "$i 2>&1; echo \"exit $?\" >>" +
            out + "$i) & done; wait; cat " + out + "?");
  std::istringstream lines(ended.out);
  int winners = 0, losers = 0;
  for (std::string line; std::getline(lines, line);) {
    winners += line == "exit 0";
    losers += line == "exit 2";
    if (!line.starts_with("etc-run: "))
      continue;
    EXPECT_TRUE(line.starts_with("etc-run: " + journal +
                                 ": holds the journal "
                                 "of a migration") ||
                line == "etc-run: " + journal +
                            ": a process still has this "
                            "journal; end it first")
        << line;
  }
  EXPECT_EQ(winners, 1) << ended.out;
  EXPECT_EQ(losers, 3) << ended.out;
}

TEST_F(EtcRun, RefusesABrokenPlan) {
  etc::plan::fb::PlanT plan = twoStagePlan();
  plan.programs[0]->peak = 1;
  std::string path = write(std::move(plan));
  Ended ended = run(path);
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.out, "etc-run: " + path +
                           ": programs[0]: peak is 160 bytes in round 0, the "
                           "plan states 1\n");
}

/// Where bounds are shown, as etc-opt refuses it; migrations need no bound.
TEST_F(EtcRun, ShowsNoForgedBound) {
  etc::plan::fb::PlanT plan = certifiedPlan();
  plan.certificates[0]->row_duals = {40, 56}; // with the same sum
  const std::string path = write(std::move(plan));
  const std::string refusal =
      "etc-run: " + path +
      ": certificates[0]: row_duals[0] + column_duals[1] is 56, less than the "
      "64 bytes of row 0 that column 1 has\n";
  for (const std::string &options :
       {std::string("--dry-run"), std::string("--dry-run --json"),
        "--report=" + (directory / "page.html").string()}) {
    const Ended ended = run(options + " " + path);
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(ended.out, refusal);
  }
  EXPECT_FALSE(std::filesystem::exists(directory / "page.html"));
  EXPECT_EQ(run(path).code, 0);
}

TEST_F(EtcRun, RefusesWhatDoesNotFit) {
  // One parameter of 2^40 elements that stays where it is.
  PlanBuilder b;
  constexpr int64_t rows = int64_t{1} << 40;
  uint32_t w = b.tensor("w", "param", etc::plan::fb::DType::bf16, {rows});
  uint32_t shard = b.shard(w, {{{0, rows}}});
  const etc::plan::fb::Role role(0, 0, -1);
  auto &program = b.program(role, role, {0}, {});
  program.prev_shards = program.curr_shards = {shard};
  b.round(program, {refer(w, b.box({{0, rows}}))});
  program.peak = program.peak_safe = 2 * rows;
  b.plan.nodes = {1};
  b.plan.prev = grid(1, 1, 1);
  b.plan.curr = grid(1, 1, 1);
  b.plan.participants = b.plan.prev_placement = b.plan.curr_placement = {0};
  b.forecast(0, 0);
  b.plan.summary = std::make_unique<etc::plan::fb::SummaryT>();
  b.plan.summary->kept_bytes = 2 * rows;
  Ended ended = run(write(std::move(b.plan)));
  EXPECT_EQ(ended.code, 2);
  std::string start = "etc-run: needs 2.2 TB of host memory for 1 device, ";
  EXPECT_EQ(ended.out.substr(0, start.size()), start);
  EXPECT_NE(ended.out.find(" are available; plan a smaller model, for example "
                           "--model="),
            std::string::npos)
      << ended.out;
}

} // namespace
