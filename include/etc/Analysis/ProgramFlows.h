//===- ProgramFlows.h - What programs do to each tensor -------------------===//
//
// Turns instructions around: from programs that list workloads to tensors that
// list who does what with them.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_ANALYSIS_PROGRAMFLOWS_H
#define ETC_ANALYSIS_PROGRAMFLOWS_H

#include "etc/Analysis/Holdings.h"
#include "etc/Analysis/Programs.h"

#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace etc {

/// The axis along which a piece is cut: the outermost one that is long enough,
/// so that the parts of what is contiguous are contiguous; where none is, the
/// longest.
unsigned chunkAxis(const Piece &piece, int64_t chunks);

/// The positions of that axis that go in chunk `chunk`.
Span chunkOf(Span whole, int64_t chunk, int64_t chunks);

/// The part of a piece that goes in chunk `chunk` of `chunks`; may be empty,
/// but not the first.
Piece partOf(const Piece &piece, int64_t chunk, int64_t chunks);

/// One instruction on one piece. `order` is the instruction's place in its
/// program.
struct Step {
  const Instruction *instruction;
  unsigned order;
  /// A refer of a whole shard: the previous memory becomes the current one.
  bool binds;
  const Piece *piece;

  bool isSend() const { return instruction->action == Action::Send; }
  bool isRecv() const { return instruction->action == Action::Recv; }
  /// Whether the device passes the piece on without keeping it.
  bool isTransit() const { return instruction->transit; }
  /// Whether it writes the current state as others have it.
  bool writesMoved() const { return !isSend() && !isDerive() && !isTransit(); }
  bool isDerive() const { return instruction->action == Action::Derive; }
  bool isTransfer() const { return instruction->isTransfer(); }
  /// Of a transfer, how often its bytes have been received before.
  unsigned getHop() const { return instruction->hop; }
  bool isOf(unsigned type) const { return instruction->types.test(type); }
};

/// What a round does to one item in one type: chunk `chunk` of `chunks` of what
/// is moved, at its `hop`, and kept (with the first chunk, at hop 0); or, once
/// all of its source is there, what is derived.
struct Portion {
  unsigned type;
  int64_t chunk, chunks;
  unsigned hop;
  bool derives;

  /// Of what does not move by itself.
  bool isFirst() const { return !derives && chunk == 0 && hop == 0; }
  /// Of what reads the previous state.
  bool isLast() const { return !derives && chunk == chunks - 1 && hop == 0; }
};

/// Elements of a transfer that are in a portion.
int64_t elementsOf(const Step &step, const Portion &portion);

/// Whether both do the same to pieces of the same shape.
bool isAlike(const Step &a, const Step &b);

/// What one program does with one item, in elements of one type. The types of a
/// tensor are held alike, but not moved alike.
struct ItemFlow {
  ItemFlow() = default;
  // Vectors that grow copy what may throw when it is moved, as SmallVectors
  // may.
  ItemFlow(ItemFlow &&) noexcept = default;
  ItemFlow &operator=(ItemFlow &&) noexcept = default;

  unsigned program;
  int64_t allocated =
      0; ///< current tensors that are not bound to previous memory
  int64_t released = 0; ///< previous tensors that are not bound
  llvm::SmallVector<Step, 1> steps;
  /// Of the previous holdings, or of several tensors, which are twins.
  llvm::ArrayRef<Piece> releasedPieces;

  int64_t getSent(const Portion &portion) const;
  int64_t getReceived(const Portion &portion) const;
  /// A tensor is allocated when it is first written: with the derives only if
  /// these write all of it. Of twins, one may come with a later hop.
  int64_t getAllocated(const Portion &portion) const;
  /// What the device only passes on is allocated when the first of it arrives,
  /// and freed when the last of it has been sent.
  int64_t getArrived(const Portion &portion) const {
    const Passing it = find(portion.type).passing;
    return !portion.derives && portion.chunk == 0 && portion.hop == it.first
               ? it.elements
               : 0;
  }
  int64_t getPassedOn(const Portion &portion) const {
    const Passing it = find(portion.type).passing;
    return !portion.derives && portion.chunk == portion.chunks - 1 &&
                   portion.hop == it.last
               ? it.elements
               : 0;
  }
  int64_t getReleased(const Portion &portion) const {
    return portion.isLast() ? released : 0;
  }
  /// Whether the program derives any of a type.
  bool derives(unsigned type) const;
  /// The hop of the last transfer of a type.
  unsigned getLastHop(unsigned type) const;
  /// Whether a program does to another item what it does to this one, and
  /// `steps`, which are as many, are alike.
  bool isLike(const ItemFlow &other,
              llvm::function_ref<bool(const Step &, const Step &)> steps) const;
  /// Sums up the steps, which must all be there.
  void close(unsigned types);

private:
  /// What goes through the device: with which hop the first arrives and the
  /// last is sent.
  struct Passing {
    unsigned first = 0, last = 0;
    int64_t elements = 0;
    bool operator==(const Passing &) const = default;
  };
  /// A current tensor that is first written with a later hop than another one.
  struct Later {
    unsigned type, hop;
    int64_t elements;
    bool operator==(const Later &) const = default;
  };
  void addLater(unsigned type);
  /// Of one type.
  struct OfType {
    unsigned firstHop =
        0; ///< with which the current tensor begins to be written
    /// Elements of current tensors that nothing but derives writes.
    int64_t derivedWhole = 0;
    Passing passing;
    bool operator==(const OfType &) const = default;
  };
  OfType find(unsigned type) const {
    return ofTypes.empty() ? OfType() : ofTypes[type];
  }
  unsigned findFirstHop(unsigned type) const;
  Passing findPassing(unsigned type) const;
  int64_t sumDerivedWhole(unsigned type) const;

  unsigned lastHop = 0;        ///< of all types
  std::vector<OfType> ofTypes; ///< empty where there is nothing to say
  llvm::SmallVector<Later, 0> later;
};

/// Bytes of state on every device of a program, those that it transfers, and
/// those of gradients while deferred types move.
struct ProgramMemory {
  int64_t prev = 0, curr = 0;
  int64_t sent = 0, received = 0;
  int64_t gradients = 0;
  /// Of the transfers, those that are not deferred.
  int64_t urgentSent = 0, urgentReceived = 0;
};

/// An *item* is a previous tensor of a layer, with everything that is made from
/// it: itself, and twins; where a device makes one of two previous tensors from
/// the other, both are one item.
class ProgramFlows {
public:
  ProgramFlows(MigrationOp migration, mlir::AnalysisManager &analyses);

  const TensorTable &getTable() const { return table; }
  /// Of every program, in their order.
  llvm::ArrayRef<ProgramMemory> getMemories() const { return memories; }
  unsigned getItemCount() const { return items.size(); }
  /// By program, ascending.
  llvm::ArrayRef<ItemFlow> getFlows(unsigned item) const {
    return items[item].flows;
  }
  /// The current tensor, whole.
  Piece getWhole(unsigned item) const;
  unsigned getTensor(unsigned item) const {
    return std::get<unsigned>(items[item].key);
  }
  /// The item of a tensor of a layer and expert.
  std::optional<unsigned> find(const Piece &piece) const;

  bool isInvalidated(const mlir::AnalysisManager::PreservedAnalyses &preserved);

private:
  /// Layer, expert, tensor: layers stay together.
  using Key = std::tuple<int64_t, int64_t, unsigned>;
  static Key keyOf(const Piece &piece) {
    return {piece.layer, piece.expert, piece.tensor};
  }
  /// By key. Where state is deferred, the first forward pass may wait for
  /// parameters layer by layer: what stands behind the layers then comes behind
  /// them, not with the first.
  std::pair<Part, Key> orderOf(const Key &key) const {
    const bool isForward = table.getDeferredTypes().any();
    return {isForward ? table.getPart(std::get<unsigned>(key)) : Part::Embed,
            key};
  }
  struct Item {
    Key key;
    std::vector<ItemFlow> flows;
  };
  void addProgram(unsigned index, const DeviceProgram &program);
  void addSteps(unsigned index, const DeviceProgram &program);
  void addPrev(unsigned index, const DeviceProgram &program,
               llvm::ArrayRef<Piece> shard);
  void addCurr(unsigned index, const DeviceProgram &program,
               llvm::ArrayRef<Piece> shard);
  bool isBound(const DeviceProgram &program, const Piece &piece) const;
  ItemFlow &flowOf(unsigned program, const Piece &piece);
  void addJoined(const DeviceProgram &program);
  /// The piece as one of the tensor that its item goes by.
  Piece ofItem(const Piece &piece) const;

  const TensorTable &table;
  const Holdings &prev, &curr;
  std::vector<ProgramMemory> memories;
  llvm::SmallVector<unsigned> itemOf; ///< [tensor], the tensor of its item
  std::deque<llvm::SmallVector<Piece, 0>> several; ///< pieces of twins
  llvm::DenseMap<Key, size_t> numbers; ///< of items, until all are there
  std::vector<Item> items;             ///< in order
};

} // namespace etc

#endif // ETC_ANALYSIS_PROGRAMFLOWS_H
