//===- TrainerState.cpp - What a trainer sets for itself ------------------===//

#include "etc/Export/TrainerState.h"

#include "etc/Request/States.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace etc;
using request::Parallelism;

/// How many roles a summary names.
static constexpr size_t namedRoles = 8;

namespace {
/// What a generator's seed depends on.
struct Seed {
  int64_t stage, tensor, expert;
};
} // namespace

/// A seed of every slot of every stage, as often as slots share it.
static std::vector<Seed> seedsOf(const Parallelism &parallel) {
  std::vector<Seed> seeds;
  for (int64_t p = 0; p < parallel.pp; ++p)
    for (int64_t slot = 0; slot < parallel.slots(); ++slot)
      seeds.push_back(
          {p, slot % parallel.tp, slot % (parallel.expertTp() * parallel.ep)});
  return seeds;
}

std::vector<std::string> etc::rolesToSeed(const request::Request &request) {
  const Parallelism &prev = request.prev.parallel;
  bool hasExperts = request.model.experts.count != 0;
  std::vector<std::string> roles;
  for (const Seed &seed : seedsOf(request.curr.parallel)) {
    bool existed = seed.stage < prev.pp && seed.tensor < prev.tp &&
                   (!hasExperts || seed.expert < prev.expertTp() * prev.ep);
    if (existed)
      continue;
    std::string role =
        "P" + std::to_string(seed.stage) + "T" + std::to_string(seed.tensor);
    if (hasExperts)
      role += "E" + std::to_string(seed.expert);
    roles.push_back(std::move(role));
  }
  return roles;
}

void etc::writeTrainerState(const request::Request &request,
                            llvm::raw_ostream &os) {
  os << "  trainer  copies step and learning-rate state from any rank";
  // An inventory does not say whose generators went where.
  std::vector<std::string> roles;
  if (!request.prev.inventory && !request.curr.inventory)
    roles = rolesToSeed(request);
  if (!roles.empty()) {
    llvm::ArrayRef<std::string> named =
        llvm::ArrayRef(roles).take_front(namedRoles);
    os << ", seeds the generators of " << roles.size()
       << " new roles: " << llvm::join(named, ", ")
       << (named.size() < roles.size() ? ", ..." : "");
  }
  std::vector<std::string> recomputed;
  for (const request::State &state : request::statesOf(request.model))
    if (state.recomputed)
      recomputed.push_back(state.name.str());
  if (!recomputed.empty())
    os << "; recomputes " << llvm::join(recomputed, " and ") << " from master";
  os << "\n";
}
