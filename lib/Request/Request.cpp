//===- Request.cpp - What is asked of the planner -------------------------===//

#include "etc/Request/Request.h"

#include "Scalars.h"
#include "Stages.h"
#include "etc/Request/Fields.h"
#include "etc/Request/Presets.h"
#include "etc/Request/States.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>
#include <numeric>
#include <tuple>

using namespace etc::request;
using llvm::Error;

static void settleTypes(Request &request) {
  if (request.isGiven("types"))
    return;
  request.types.clear();
  for (llvm::StringRef name : typeNames(request.model))
    request.types.push_back(name.str());
}

Request::Request() {
  settleTypes(*this);
  for (const RequestField &field : requestFields())
    if (auto *word = std::get_if<std::string Request::*>(&field.stored))
      this->**word = field.words.front().str();
}

bool Request::defers(llvm::StringRef type) const {
  return isDeferred() &&
         (defer.front() == "optimizer" ? !isParameters(type)
                                       : llvm::is_contained(defer, type));
}

const SourceLocation &Request::whereOf(llvm::StringRef field) const {
  auto found = places.find(std::string_view(field));
  return found == places.end() ? where : found->second;
}

int64_t Request::deviceCount() const {
  return std::accumulate(nodes.begin(), nodes.end(), int64_t(0));
}

bool Request::isUsable(int64_t device) const {
  return !llvm::is_contained(failed, device) &&
         !llvm::is_contained(draining, device);
}

std::string SideSpec::str() const {
  return inventory ? "the inventory" : parallel.str();
}

static constexpr int64_t million = 1000000;

int64_t MemoryBudget::bytesFor(int64_t maxOfPrevAndCurr) const {
  if (unit == Unit::Bytes)
    return amount;
  __int128 bytes = static_cast<__int128>(maxOfPrevAndCurr) * amount / million;
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  return bytes > most ? most : static_cast<int64_t>(bytes);
}

std::string MemoryBudget::str() const {
  if (unit == Unit::Bytes)
    return std::to_string(amount);
  std::string text = std::to_string(amount / million);
  if (int64_t rest = amount % million) {
    std::string digits = std::to_string(million + rest).substr(1);
    digits.erase(digits.find_last_not_of('0') + 1);
    text += "." + digits;
  }
  return text + "x";
}

static auto sizesOf(const ModelSpec &m) {
  return std::tie(m.family, m.traits, m.layers, m.hidden, m.heads, m.ffn,
                  m.vocab, m.seq, m.kvHeads, m.headDim, m.mtpLayers, m.experts,
                  m.latent, m.tensors, m.tiedEmbeddings);
}

bool etc::request::isSameModel(const ModelSpec &a, const ModelSpec &b) {
  auto statesOf = [](const ModelSpec &m) {
    return std::tie(m.vocabMultiple, m.precision, m.optimizer, m.stateDTypes,
                    m.ownStates);
  };
  return sizesOf(a) == sizesOf(b) && statesOf(a) == statesOf(b);
}

static void settleModel(ModelSpec &model) {
  if (!model.ffnGiven)
    model.ffn = 4 * model.hidden;
  // A name that is no preset's comes from a file of another format.
  bool isPreset = llvm::is_contained(presetNames(), model.name);
  if (model.name.empty() ||
      (isPreset && sizesOf(model) != sizesOf(llvm::cantFail(
                                         lookupPreset(model.name, Field())))))
    model.name = "custom";
}

static void settleSides(Request &request) {
  for (SideSpec *side : {&request.prev, &request.curr}) {
    SideSpec settled = *side;
    Parallelism &grid = settled.parallel;
    if (settled.fillsCluster)
      grid.dp = std::max<int64_t>(1, request.deviceCount() /
                                         (grid.pp * grid.tp * grid.cp));
    if (Error error = resolveStages(settled, request.model.layers, Field())) {
      llvm::consumeError(std::move(error));
      continue;
    }
    *side = std::move(settled);
  }
}

void etc::request::adoptModel(Request &request) {
  ModelSpec &model = request.model;
  for (const SideSpec *side : {&request.prev, &request.curr})
    if (side->model && model.layers == 0 && model.hidden == 0)
      model = *side->model;
  adoptInventories(request);
}

void etc::request::settleRequest(Request &request) {
  adoptModel(request);
  settleModel(request.model);
  settleTypes(request);
  settleSides(request);
}
