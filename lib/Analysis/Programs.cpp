//===- Programs.cpp - Devices that do the same ----------------------------===//

#include "etc/Analysis/Programs.h"

#include "etc/Analysis/Preserved.h"

using namespace etc;
using namespace mlir;

/// What a device does, apart from whom it does it with: its roles, and the
/// exchanges with each of its peers.
struct DevicePrograms::Behaviour {
  int64_t curr, prev;
  SmallVector<Exchanges> peers;

  auto operator<=>(const Behaviour &other) const {
    return std::tie(curr, prev, peers) <=>
           std::tie(other.curr, other.prev, other.peers);
  }
  bool operator==(const Behaviour &) const = default;
};

/// The devices of equal behaviour, and for each peer of the behaviour the
/// parallel list.
struct DevicePrograms::Members {
  SmallVector<int64_t> devices;
  SmallVector<SmallVector<int64_t>> peers;
};

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

DevicePrograms::DevicePrograms(MigrationOp, AnalysisManager &analyses)
    : table(analyses.getAnalysis<TensorTable, MigrationOp>()),
      devices(analyses.getAnalysis<Devices, MigrationOp>()),
      needs(analyses.getAnalysis<DeviceNeeds, MigrationOp>()),
      transfers(
          analyses.getAnalysis<TransferTable, MigrationOp>().getTransfers()) {
  std::vector<std::map<int64_t, Exchanges>> exchanges(devices.size());
  for (auto [number, transfer] : llvm::enumerate(transfers))
    for (auto [source, destination] :
         llvm::zip_equal(transfer.sources, transfer.destinations)) {
      exchanges[destination][source].push_back(
          {/*receives=*/true, static_cast<unsigned>(number)});
      exchanges[source][destination].push_back(
          {/*receives=*/false, static_cast<unsigned>(number)});
    }
  std::map<Behaviour, Members> classes;
  for (int64_t device = 0; device < devices.size(); ++device) {
    if (needs.getCurrRole(device) < 0 && devices.getPrevRole(device) < 0)
      continue;
    SmallVector<int64_t> peers;
    Members &members = classes[behaviourOf(device, exchanges[device], peers)];
    members.devices.push_back(device);
    members.peers.resize(peers.size());
    for (auto [list, peer] : llvm::zip_equal(members.peers, peers))
      list.push_back(peer);
  }
  programs.reserve(classes.size());
  for (bool isIdle : {false, true})
    for (auto &[behaviour, members] : classes)
      if ((behaviour.curr < 0) == isIdle)
        addProgram(behaviour, members);
}

/// The peers come in the behaviour's order.
DevicePrograms::Behaviour
DevicePrograms::behaviourOf(int64_t device, std::map<int64_t, Exchanges> &peers,
                            SmallVectorImpl<int64_t> &order) const {
  Behaviour behaviour{
      needs.getCurrRole(device), devices.getPrevRole(device), {}};
  SmallVector<std::pair<Exchanges, int64_t>> ordered;
  for (auto &[peer, list] : peers) {
    llvm::sort(list);
    ordered.emplace_back(std::move(list), peer);
  }
  llvm::sort(ordered);
  for (auto &[list, peer] : ordered) {
    behaviour.peers.push_back(std::move(list));
    order.push_back(peer);
  }
  return behaviour;
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

void DevicePrograms::addProgram(const Behaviour &behaviour, Members &members) {
  DeviceProgram &program = programs.emplace_back();
  program.curr = behaviour.curr;
  program.prev = behaviour.prev;
  for (const Needs *part : needs.get(members.devices.front()))
    if (part)
      llvm::append_range(program.instructions, localOf(*part));
  for (auto [peer, list] : llvm::enumerate(behaviour.peers))
    for (const Exchange &exchange : list) {
      const Transfer &transfer = transfers[exchange.transfer];
      program.instructions.push_back(
          {exchange.receives ? Action::Recv : Action::Send, transfer.hop,
           static_cast<unsigned>(peer + 1), transfer.types, transfer.pieces,
           exchange.receives ? transfer.toTransit : transfer.fromTransit});
    }
  program.devices.push_back(std::move(members.devices));
  for (SmallVector<int64_t> &peer : members.peers)
    program.devices.push_back(std::move(peer));
}

const DevicePrograms::Local &DevicePrograms::localOf(const Needs &part) {
  auto [entry, isNew] = ofNeeds.try_emplace(&part);
  Local &local = entry->second;
  if (!isNew)
    return local;
  addByTypes(Action::Refer, part.kept, local);
  for (const auto &[twin, pieces] : part.keptTied)
    addByTypes(Action::Refer, pieces, local);
  addByTypes(Action::Derive, part.lacking, local);
  addByTypes(Action::Zero, part.zeroed, local);
  return local;
}

/// One instruction for all tensors that have the same types, of all or of those
/// that are derived.
void DevicePrograms::addByTypes(Action action, ArrayRef<Piece> list,
                                Local &local) {
  std::map<SmallVector<unsigned>, SmallVector<Piece, 0>> byTypes;
  for (const Piece &piece : list) {
    llvm::SmallBitVector types = action == Action::Derive
                                     ? table.getDerivedTypes(piece.tensor)
                                     : table.getTypes(piece.tensor);
    if (types.any())
      byTypes[SmallVector<unsigned>(types.set_bits())].push_back(piece);
  }
  for (auto &[numbers, ofTypes] : byTypes) {
    llvm::SmallBitVector types(table.getTypeCount());
    for (unsigned type : numbers)
      types.set(type);
    local.push_back({action, /*hop=*/0, /*peer=*/0, std::move(types),
                     pieces.emplace_back(std::move(ofTypes))});
  }
}

bool DevicePrograms::isInvalidated(
    const AnalysisManager::PreservedAnalyses &preserved) {
  return !arePreserved<DevicePrograms, TensorTable, Devices, DeviceNeeds,
                       TransferTable>(preserved);
}
