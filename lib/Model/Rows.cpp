//===- Rows.cpp - Tables of tensors ---------------------------------------===//
//
// One table a module, its rows in the order of Megatron-Core's
// named_parameters(): what the constructor of a module assigns first, and a
// module's own parameters before those of its children.
//
//===----------------------------------------------------------------------===//

#include "Rows.h"

using namespace etc::model;
using Spec = etc::request::ModelSpec;

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

static int64_t one(const Spec &) { return 1; }
static int64_t hidden(const Spec &m) { return m.hidden; }
static int64_t twoHidden(const Spec &m) { return 2 * m.hidden; }
static int64_t ffn(const Spec &m) { return m.ffn; }
static int64_t channels(const Spec &m) { return m.channels(); }
static int64_t queryRows(const Spec &m) { return m.heads * m.channels(); }

/// Grouped by key-value head: its queries, the key, the value. A shard is one
/// interval of the rows, even where it cuts a group.
static int64_t qkvRows(const Spec &m) {
  return (m.heads + 2 * m.keyValueHeads()) * m.channels();
}

static int64_t queryRank(const Spec &m) { return m.latent.queryRank; }
static int64_t keyValueRank(const Spec &m) { return m.latent.keyValueRank; }
static int64_t keyValueDown(const Spec &m) {
  return m.latent.keyValueRank + m.latent.rotaryDim;
}
static int64_t latentQueries(const Spec &m) {
  return m.heads * (m.latent.plainDim + m.latent.rotaryDim);
}
static int64_t latentKeysAndValues(const Spec &m) {
  return m.heads * (m.latent.plainDim + m.latent.valueDim);
}
static int64_t latentValues(const Spec &m) {
  return m.heads * m.latent.valueDim;
}

static int64_t experts(const Spec &m) { return m.experts.count; }
static int64_t expertFfn(const Spec &m) { return m.experts.ffn; }
static int64_t sharedFfn(const Spec &m) { return m.experts.sharedFfn; }

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

static bool fused(const Spec &m) { return m.traits.fusedNames; }
static bool local(const Spec &m) { return !m.traits.fusedNames; }
static bool normBias(const Spec &m) { return m.traits.normBias; }
static bool fusedBias(const Spec &m) { return fused(m) && normBias(m); }
static bool linearBias(const Spec &m) { return m.traits.linearBias; }
static bool qkvBias(const Spec &m) {
  return m.traits.qkvBias || m.traits.linearBias;
}
static bool qkNorm(const Spec &m) { return m.traits.qkNorm; }
static bool qkNormBias(const Spec &m) { return qkNorm(m) && normBias(m); }
static bool wholeQuery(const Spec &m) { return !m.latent.queryRank; }
static bool compressedQuery(const Spec &m) { return m.latent.queryRank != 0; }
static bool fusedQuery(const Spec &m) { return fused(m) && compressedQuery(m); }
static bool localQuery(const Spec &m) { return local(m) && compressedQuery(m); }
static bool fusedQueryNorm(const Spec &m) { return fusedQuery(m) && qkNorm(m); }
static bool localQueryNorm(const Spec &m) { return localQuery(m) && qkNorm(m); }
static bool fusedQkNorm(const Spec &m) { return fused(m) && qkNorm(m); }
static bool localQkNorm(const Spec &m) { return local(m) && qkNorm(m); }
static bool routerBias(const Spec &m) { return m.traits.routerBias; }
static bool grouped(const Spec &m) { return m.traits.groupedExperts; }
static bool apart(const Spec &m) { return !m.traits.groupedExperts; }
static bool groupedBias(const Spec &m) { return grouped(m) && linearBias(m); }
static bool apartBias(const Spec &m) { return apart(m) && linearBias(m); }
static bool shared(const Spec &m) { return m.experts.sharedFfn != 0; }
static bool sharedGate(const Spec &m) {
  return shared(m) && m.traits.sharedGate;
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

llvm::ArrayRef<Row> etc::model::normRows(bool beforeMlp) {
  static const Row input[] = {
      {"input_layernorm.weight", {hidden}},
      {"input_layernorm.bias", {hidden}, -1, normBias},
  };
  static const Row preMlp[] = {
      {"pre_mlp_layernorm.weight", {hidden}},
      {"pre_mlp_layernorm.bias", {hidden}, -1, normBias},
  };
  return beforeMlp ? llvm::ArrayRef(preMlp) : llvm::ArrayRef(input);
}

llvm::ArrayRef<Row> etc::model::attentionRows() {
  static const Row table[] = {
      {"self_attention.linear_proj.weight", {hidden, queryRows}, 1},
      {"self_attention.linear_proj.bias", {hidden}, -1, linearBias},
      {"self_attention.linear_qkv.layer_norm_weight", {hidden}, -1, fused},
      {"self_attention.linear_qkv.layer_norm_bias", {hidden}, -1, fusedBias},
      {"self_attention.linear_qkv.weight", {qkvRows, hidden}, 0},
      {"self_attention.linear_qkv.bias", {qkvRows}, 0, qkvBias},
      {"self_attention.q_layernorm.weight", {channels}, -1, qkNorm},
      {"self_attention.q_layernorm.bias", {channels}, -1, qkNormBias},
      {"self_attention.k_layernorm.weight", {channels}, -1, qkNorm},
      {"self_attention.k_layernorm.bias", {channels}, -1, qkNormBias},
  };
  return table;
}

// Transformer Engine's down projections are whole on every rank, those of the
// local modules are cut.
llvm::ArrayRef<Row> etc::model::latentAttentionRows() {
  static const Row table[] = {
      {"self_attention.linear_proj.weight", {hidden, latentValues}, 1},
      {"self_attention.linear_proj.bias", {hidden}, -1, linearBias},
      {"self_attention.linear_q_proj.weight",
       {latentQueries, hidden},
       0,
       wholeQuery},
      {"self_attention.linear_q_down_proj.weight",
       {queryRank, hidden},
       -1,
       fusedQuery},
      {"self_attention.linear_q_down_proj.weight",
       {queryRank, hidden},
       0,
       localQuery},
      {"self_attention.linear_q_up_proj.layer_norm_weight",
       {queryRank},
       -1,
       fusedQueryNorm},
      {"self_attention.linear_q_up_proj.weight",
       {latentQueries, queryRank},
       0,
       compressedQuery},
      {"self_attention.linear_kv_down_proj.weight",
       {keyValueDown, hidden},
       -1,
       fused},
      {"self_attention.linear_kv_down_proj.weight",
       {keyValueDown, hidden},
       0,
       local},
      {"self_attention.linear_kv_up_proj.layer_norm_weight",
       {keyValueRank},
       -1,
       fusedQkNorm},
      {"self_attention.linear_kv_up_proj.weight",
       {latentKeysAndValues, keyValueRank},
       0},
      {"self_attention.q_layernorm.weight", {queryRank}, -1, localQueryNorm},
      {"self_attention.kv_layernorm.weight", {keyValueRank}, -1, localQkNorm},
  };
  return table;
}

llvm::ArrayRef<Row> etc::model::mlpRows() {
  static const Row table[] = {
      {"mlp.linear_fc1.layer_norm_weight", {hidden}, -1, fused},
      {"mlp.linear_fc1.layer_norm_bias", {hidden}, -1, fusedBias},
      {"mlp.linear_fc1.weight", {ffn, hidden}, 0, nullptr, Row::Paired},
      {"mlp.linear_fc1.bias", {ffn}, 0, linearBias, Row::Paired},
      {"mlp.linear_fc2.weight", {hidden, ffn}, 1},
      {"mlp.linear_fc2.bias", {hidden}, -1, linearBias},
  };
  return table;
}

// Grouped linear layers have all experts of a projection in a row, experts that
// are modules all projections of one.
llvm::ArrayRef<Row> etc::model::expertsRows() {
  static const Row table[] = {
      {"mlp.router.weight", {experts, hidden}},
      {"mlp.router.expert_bias", {experts}, -1, routerBias, Row::Buffer},
      {"mlp.experts.linear_fc1.weight{expert}",
       {expertFfn, hidden},
       0,
       grouped,
       Row::Paired},
      {"mlp.experts.linear_fc1.bias{expert}",
       {expertFfn},
       0,
       groupedBias,
       Row::Paired},
      {"mlp.experts.linear_fc2.weight{expert}",
       {hidden, expertFfn},
       1,
       grouped},
      {"mlp.experts.linear_fc2.bias{expert}", {hidden}, -1, groupedBias},
      {"mlp.experts.local_experts.{expert}.linear_fc1.weight",
       {expertFfn, hidden},
       0,
       apart,
       Row::Paired},
      {"mlp.experts.local_experts.{expert}.linear_fc1.bias",
       {expertFfn},
       0,
       apartBias,
       Row::Paired},
      {"mlp.experts.local_experts.{expert}.linear_fc2.weight",
       {hidden, expertFfn},
       1,
       apart},
      {"mlp.experts.local_experts.{expert}.linear_fc2.bias",
       {hidden},
       -1,
       apartBias},
      {"mlp.shared_experts.gate_weight", {one, hidden}, -1, sharedGate},
      {"mlp.shared_experts.linear_fc1.weight",
       {sharedFfn, hidden},
       0,
       shared,
       Row::Paired},
      {"mlp.shared_experts.linear_fc2.weight", {hidden, sharedFfn}, 1, shared},
  };
  return table;
}

llvm::ArrayRef<Row> etc::model::mtpInputRows() {
  static const Row table[] = {
      {"enorm.weight", {hidden}},
      {"enorm.bias", {hidden}, -1, normBias},
      {"hnorm.weight", {hidden}},
      {"hnorm.bias", {hidden}, -1, normBias},
      {"eh_proj.weight", {hidden, twoHidden}, 0},
  };
  return table;
}

llvm::ArrayRef<Row> etc::model::finalNormRows() {
  static const Row table[] = {
      {"final_layernorm.weight", {hidden}},
      {"final_layernorm.bias", {hidden}, -1, normBias},
  };
  return table;
}
