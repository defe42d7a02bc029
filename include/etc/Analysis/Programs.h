//===- Programs.h - Devices that do the same --------------------*- C++ -*-===//

#ifndef ETC_ANALYSIS_PROGRAMS_H
#define ETC_ANALYSIS_PROGRAMS_H

#include "etc/Analysis/Needs.h"
#include "etc/Analysis/Transfers.h"

#include <deque>

namespace etc {

enum class Action { Refer, Derive, Zero, Send, Recv, Release };

/// What a device does to some pieces, in some types.
struct Instruction {
  Action action;
  /// Of a transfer, how often the pieces have been received before.
  unsigned hop;
  /// With whom: a number among the program's lists of devices, 0 its own.
  unsigned peer;
  llvm::SmallBitVector types;
  llvm::ArrayRef<Piece> pieces; ///< of needs or transfers
  /// The device only passes the pieces on, and frees their memory then.
  bool transit = false;

  bool isTransfer() const {
    return action == Action::Send || action == Action::Recv;
  }
};

/// What the devices of a class do, which have the same roles and do the same
/// with their peers.
struct DeviceProgram {
  int64_t curr, prev; ///< roles, -1 where there is none
  /// Its devices, ascending, and for each peer the parallel list of devices.
  llvm::SmallVector<llvm::SmallVector<int64_t>> devices;
  /// In the order in which programs list them: what is local, then the
  /// transfers peer by peer.
  std::vector<Instruction> instructions;
};

/// The programs of a migration, from its needs and transfers. Devices that take
/// no role come last, those without any role are in none.
class DevicePrograms {
public:
  DevicePrograms(MigrationOp migration, mlir::AnalysisManager &analyses);

  llvm::ArrayRef<DeviceProgram> getPrograms() const { return programs; }

  bool isInvalidated(const mlir::AnalysisManager::PreservedAnalyses &preserved);

private:
  /// One transfer with a peer.
  struct Exchange {
    bool receives;
    unsigned transfer;
    auto operator<=>(const Exchange &) const = default;
  };
  using Exchanges = llvm::SmallVector<Exchange>;
  struct Behaviour;
  struct Members;
  /// Local instructions of some needs.
  using Local = std::vector<Instruction>;

  Behaviour behaviourOf(int64_t device, std::map<int64_t, Exchanges> &peers,
                        llvm::SmallVectorImpl<int64_t> &order) const;
  void addProgram(const Behaviour &behaviour, Members &members);
  const Local &localOf(const Needs &part);
  void addByTypes(Action action, llvm::ArrayRef<Piece> pieces, Local &local);

  const TensorTable &table;
  const Devices &devices;
  const DeviceNeeds &needs;
  llvm::ArrayRef<Transfer> transfers;
  std::vector<DeviceProgram> programs;
  std::map<const Needs *, Local> ofNeeds;
  std::deque<llvm::SmallVector<Piece, 0>> pieces; ///< of local instructions
};

} // namespace etc

#endif // ETC_ANALYSIS_PROGRAMS_H
