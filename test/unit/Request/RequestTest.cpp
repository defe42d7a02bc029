//===- RequestTest.cpp - Requests from JSON -------------------------------===//

#include "Support.h"

using namespace etc::request;

TEST(Request, ReadsAllFields) {
  Request request = requestOf(R"({
    "model": "gpt2", "prev": "PP4TP2",
    "curr": {"pp": 2, "tp": 2, "dp": 2, "cp": 1, "distributed_optimizer": false,
             "devices": [7, 6, 5, 4, 3, 2, 1, 0]},
    "cluster": {"nodes": 6, "devices_per_node": 4},
    "failed": [9, 8], "draining": [10], "types": ["master", "param"],
    "derive": "none", "policy": "best", "place": "any",
    "memory_budget": "1.05x"})");
  EXPECT_EQ(request.model.name, "gpt2");
  EXPECT_EQ(request.model.where.line, 2u);
  EXPECT_EQ(request.model.where.column, 14u);
  EXPECT_EQ(request.prev.parallel, (Parallelism{4, 2, 1}));
  EXPECT_FALSE(request.prev.devices);
  EXPECT_EQ(request.curr.parallel, (Parallelism{2, 2, 2}));
  EXPECT_EQ(request.curr.devices->front(), 7);
  EXPECT_EQ(request.nodes, std::vector<int64_t>(6, 4));
  EXPECT_EQ(request.failed, (std::vector<int64_t>{8, 9}));
  EXPECT_EQ(request.draining, (std::vector<int64_t>{10}));
  EXPECT_EQ(request.types, (std::vector<std::string>{"param", "master"}));
  EXPECT_EQ(request.derive, "none");
  EXPECT_EQ(request.memoryBudget->str(), "1.05x");
  EXPECT_EQ(show(checkRequest(request)), "");
}

TEST(Request, Defaults) {
  Request request = requestOf("{}");
  EXPECT_EQ(request.types, (std::vector<std::string>{"param", "master",
                                                     "exp_avg", "exp_avg_sq"}));
  EXPECT_EQ(request.derive, "param");
  EXPECT_EQ(request.policy, "best");
  EXPECT_EQ(request.place, "pack");
  EXPECT_FALSE(request.memoryBudget);
}

TEST(Request, ModelFromSizesOrPresetWithChanges) {
  ModelSpec own = requestOf(R"({"model": {"layers": 2, "hidden": 8, "heads": 2,
      "vocab": 100, "seq": 16, "tied": false}})")
                      .model;
  EXPECT_EQ(own.name, "custom");
  EXPECT_EQ(own.ffn, 32);
  EXPECT_FALSE(own.tiedEmbeddings);
  // The preset is the base wherever it stands.
  ModelSpec changed =
      requestOf(R"({"model": {"layers": 24, "preset": "gpt2"}})").model;
  EXPECT_EQ(changed.layers, 24);
  EXPECT_EQ(changed.hidden, 768);
  EXPECT_EQ(changed.name, "custom");
}

TEST(Request, MixedNodes) {
  EXPECT_EQ(requestOf(R"({"cluster": {"nodes": [4, 4, 8]}})").nodes,
            (std::vector<int64_t>{4, 4, 8}));
}

TEST(Request, UnknownFields) {
  EXPECT_EQ(errorOf("{\"modle\": \"gpt2\"}"),
            "exit 2: r.json:1:2: error: unknown field \"modle\"; did you mean "
            "\"model\"? accepted: model, prev, curr, cluster, hosts, failed, "
            "draining, types, optimizer, precision, derive, policy, "
            "paper_costs, place, objective, memory_budget, reserve, "
            "defer, gradient_bytes");
  EXPECT_EQ(errorOf("{\"prev\": {\"pipeline\": 4}}"),
            "exit 2: r.json:1:11: error: prev: unknown field \"pipeline\"; "
            "accepted: pp, tp, dp, cp, ep, etp, vpp, fsdp, parallel, "
            "megatron_args, order, "
            "layers_per_stage, first_stage_layers, last_stage_layers, "
            "account_for_embedding, account_for_loss, pipeline_layout, "
            "mtp_stage, devices, distributed_optimizer, bucket_size, "
            "inventory, plan");
}

TEST(Request, WrongKinds) {
  EXPECT_EQ(errorOf("{\"model\": 3}"),
            "exit 2: r.json:1:11: error: model: expected the name of a preset "
            "or an object, got 3");
  EXPECT_EQ(errorOf("{\"model\": {\"preset\": 3}}"),
            "exit 2: r.json:1:22: error: model.preset: expected the name of a "
            "preset, got 3");
  EXPECT_EQ(errorOf("{\"model\": {\"tied\": 1}}"),
            "exit 2: r.json:1:20: error: model.tied: expected true or false, "
            "got 1");
  EXPECT_EQ(errorOf("{\"model\": {\"layers\": 12.5}}"),
            "exit 2: r.json:1:22: error: model.layers: expected a positive "
            "integer, got 12.5");
  EXPECT_EQ(errorOf("{\"model\": {\"layers\": 0}}"),
            "exit 2: r.json:1:22: error: model.layers: expected a positive "
            "integer, got 0");
  EXPECT_EQ(errorOf("{\"model\": {\"layers\": 70000}}"),
            "exit 2: r.json:1:22: error: model.layers: expected a positive "
            "integer up to 65536, got 70000");
  EXPECT_EQ(errorOf("{\"model\": {\"seq\": 18446744073709551615}}"),
            "exit 2: r.json:1:19: error: model.seq: expected a positive "
            "integer up to 268435456, got 18446744073709551615");
  EXPECT_EQ(errorOf("{\"prev\": [4]}"),
            "exit 2: r.json:1:10: error: prev: expected a configuration such "
            "as \"PP4TP2\" or an object, got an array");
  EXPECT_EQ(errorOf("{\"prev\": {\"devices\": 3}}"),
            "exit 2: r.json:1:22: error: prev.devices: expected an array of "
            "integers, got 3");
  EXPECT_EQ(errorOf("{\"types\": \"param\"}"),
            "exit 2: r.json:1:11: error: types: expected an array of strings, "
            "got \"param\"");
  EXPECT_EQ(errorOf("{\"cluster\": 6}"),
            "exit 2: r.json:1:13: error: cluster: expected a cluster such as "
            "\"6x4\", or an object, got 6");
  EXPECT_EQ(errorOf("{\"memory_budget\": 1.05}"),
            "exit 2: r.json:1:19: error: memory_budget: expected a number of "
            "bytes or a ratio such as \"1.05x\", got 1.05");
  EXPECT_EQ(errorOf("{\"place\": false}"),
            "exit 2: r.json:1:11: error: place: expected a string, got false");
}

TEST(Request, FilesThatAreMissing) {
  EXPECT_EQ(errorOf("{\"prev\": {\"plan\": \"last.etcplan\"}}"),
            "exit 2: r.json:1:19: error: prev.plan: last.etcplan: cannot open: "
            "No such file or directory");
  EXPECT_EQ(errorOf("{\"prev\": \"left.json\"}"),
            "exit 2: r.json:1:10: error: prev: left.json: cannot open: No such "
            "file or directory");
}

TEST(Request, Words) {
  EXPECT_EQ(errorOf("{\"policy\": \"bst\"}"),
            "exit 2: r.json:1:12: error: policy: unknown value \"bst\"; did "
            "you mean \"best\"? accepted: best, paper");
  EXPECT_EQ(errorOf("{\"derive\": \"master\"}"),
            "exit 2: r.json:1:12: error: derive: unknown value \"master\"; "
            "accepted: param, none");
  EXPECT_EQ(errorOf("{\"model\": {\"family\": \"lama\"}}"),
            "exit 2: r.json:1:22: error: model.family: unknown value "
            "\"lama\"; did you mean \"llama\"? accepted: gpt, llama, "
            "mistral, qwen2, qwen3, mixtral, qwen2-moe, qwen3-moe, "
            "deepseek-v3, nemotron, table");
  EXPECT_EQ(errorOf("{\"types\": [\"exp_avg\", \"params\"]}"),
            "exit 2: r.json:1:23: error: types[1]: unknown value \"params\"; "
            "did you mean \"param\"? accepted: param, master, exp_avg, "
            "exp_avg_sq");
  EXPECT_EQ(errorOf("{\"types\": []}"),
            "exit 2: r.json:1:11: error: types: expected at least one type; "
            "accepted: param, master, exp_avg, exp_avg_sq");
  EXPECT_EQ(errorOf("{\"types\": [\"param\", \"param\"]}"),
            "exit 2: r.json:1:11: error: types: \"param\" is listed twice; "
            "list every type once");
}

TEST(Request, Clusters) {
  EXPECT_EQ(errorOf("{\"cluster\": {\"nodes\": 6}}"),
            "exit 2: r.json:1:13: error: cluster: expected {\"nodes\": 6, "
            "\"devices_per_node\": 4} or {\"nodes\": [4, 4, 8]}, got neither");
  EXPECT_EQ(errorOf("{\"cluster\": {\"nodes\": [4, 0]}}"),
            "exit 2: r.json:1:27: error: cluster.nodes[1]: expected a positive "
            "integer, got 0");
  EXPECT_EQ(errorOf("{\"cluster\": {\"nodes\": 1048576, "
                    "\"devices_per_node\": 1048576}}"),
            "exit 2: r.json:1:13: error: cluster: expected at most 1048576 "
            "devices in all nodes, got more");
}

TEST(Request, DeviceListsHoldADeviceOnce) {
  EXPECT_EQ(errorOf("{\"failed\": [3, 1, 3]}"),
            "exit 2: r.json:1:12: error: failed: device 3 is listed twice; "
            "list every device once");
}

static const Field budgetOption = {{"etc-opt", 0, 0}, "--memory-budget"};

TEST(MemoryBudget, ExactRatios) {
  auto parse = [](llvm::StringRef text) {
    return llvm::cantFail(parseMemoryBudget(text, budgetOption));
  };
  using Unit = MemoryBudget::Unit;
  EXPECT_EQ(parse("1.05x"), (MemoryBudget{Unit::PartsPerMillion, 1050000}));
  EXPECT_EQ(parse("2x"), (MemoryBudget{Unit::PartsPerMillion, 2000000}));
  EXPECT_EQ(parse("80000000000"), (MemoryBudget{Unit::Bytes, 80000000000}));
  EXPECT_EQ(parse("1.05x").bytesFor(1000), 1050);
  EXPECT_EQ(parse("1.000001x").bytesFor(999999), 999999);
  EXPECT_EQ(parse("77").bytesFor(1000), 77);
  EXPECT_EQ(parse("1.050x").str(), "1.05x");
  EXPECT_EQ(parse("2x").str(), "2x");
  EXPECT_EQ(parse("77").str(), "77");
  for (llvm::StringRef bad : {"", "x", "0", "0.9x", "1.05", "1.x", "-1x",
                              "1.0000001x", "1001x", "1e3x", "12 GB"})
    EXPECT_EQ(show(parseMemoryBudget(bad, budgetOption)),
              "exit 2: etc-opt: error: --memory-budget: expected a number of "
              "bytes, or a ratio from 1x to 1000x with at most six decimals "
              "such as 1.05x, got \"" +
                  bad.str() + "\"");
}
