//===- CheckPairing.cpp - V7: what is sent is what is received ------------===//

#include "Rules.h"

#include <set>

using namespace etc;
using namespace mlir;

namespace {
class PairingChecker {
public:
  PairingChecker(const PlanUnderTest &plan, ArrayRef<Exchanges> exchanges)
      : plan(plan), exchanges(exchanges) {}

  LogicalResult run();

private:
  LogicalResult checkPeer(unsigned program, unsigned argument, size_t place);
  unsigned findArgument(const Appearance &of, int64_t device) const;

  const PlanUnderTest &plan;
  ArrayRef<Exchanges> exchanges; ///< [program]
  /// (program, argument, peer's program, peer's argument) already compared.
  std::set<std::array<unsigned, 4>> compared;
};
} // namespace

/// The argument that stands for a device in the program of another; 0 where
/// there is none.
unsigned PairingChecker::findArgument(const Appearance &of,
                                      int64_t device) const {
  ProgramOp program = plan.programs[of.program];
  unsigned found = 0;
  for (unsigned argument = 1; argument < program.getBindings().size();
       ++argument)
    if (program.getDevices(program.getBody().getArgument(argument))[of.place] ==
        device)
      found = argument;
  return found;
}

LogicalResult PairingChecker::checkPeer(unsigned index, unsigned argument,
                                        size_t place) {
  ProgramOp program = plan.programs[index];
  const int64_t device = program.getDevices()[place],
                peer = program.getDevices(
                    program.getBody().getArgument(argument))[place];
  auto appearance = plan.appearances.find(peer);
  if (appearance == plan.appearances.end())
    return Refusal(program, Rule::Pairing)
           << "device " << device << " has peer " << peer
           << ", which has no program";
  const unsigned other = appearance->second.program,
                 back = findArgument(appearance->second, device);
  if (back == 0)
    return Refusal(program, Rule::Pairing)
           << "device " << device << " has peer " << peer
           << ", which does not know it";
  if (!compared.insert({index, argument, other, back}).second)
    return success();
  ArrayRef<Message> sent = exchanges[index].sends[argument],
                    received = exchanges[other].recvs[back];
  if (sent == received)
    return success();
  Refusal refusal(program, Rule::Pairing);
  refusal << "device " << device << " sends " << sent.size() << " pieces to "
          << peer << ", which does not receive the same " << received.size()
          << " in the same rounds";
  refusal.attachNote(ProgramOp(plan.programs[other]).getLoc())
      << "the program of device " << peer;
  return refusal;
}

LogicalResult PairingChecker::run() {
  for (auto [index, op] : llvm::enumerate(plan.programs)) {
    ProgramOp program = op;
    for (unsigned argument = 1; argument < program.getBindings().size();
         ++argument)
      for (size_t place = 0; place < program.getDevices().size(); ++place)
        if (failed(checkPeer(index, argument, place)))
          return failure();
  }
  return success();
}

LogicalResult etc::checkPairing(const PlanUnderTest &plan,
                                ArrayRef<Exchanges> exchanges) {
  return PairingChecker(plan, exchanges).run();
}
