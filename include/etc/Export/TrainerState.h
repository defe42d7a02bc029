//===- TrainerState.h - What a trainer sets for itself ----------*- C++ -*-===//
//
// Beside tensors a trainer has state that no plan moves: scalars that every
// rank has alike, random number generators of which each role has its own, and
// what is computed from tensors where these land.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_EXPORT_TRAINERSTATE_H
#define ETC_EXPORT_TRAINERSTATE_H

#include "etc/Request/Request.h"

#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace etc {

/// The current roles whose random number generators the previous configuration
/// had none of, as "P2T1", or "P2T1E3" in a model with experts: stage, tensor
/// rank and expert rank (ep rank * etp + etp rank). Megatron seeds them by
/// these. A generator is moved or kept where its role existed, but never copied
/// from another one, which would repeat its numbers.
std::vector<std::string> rolesToSeed(const request::Request &request);

/// Lines for a summary: what the trainer copies, seeds and recomputes.
void writeTrainerState(const request::Request &request, llvm::raw_ostream &os);

} // namespace etc

#endif // ETC_EXPORT_TRAINERSTATE_H
