//===- RoundWriter.cpp - Programs into rounds -----------------------------===//

#include "RoundWriter.h"

using namespace etc;
using namespace mlir;

/// The order of the release that ends a round.
static constexpr unsigned releaseOrder = ~0u;

RoundWriter::RoundWriter(MigrationOp migration, const ProgramFlows &flows,
                         int rounds)
    : migration(migration), flows(flows), programs(flows.getPrograms().size()),
      bytes(programs.size(), llvm::SmallVector<Bytes>(rounds)),
      bound(programs.size()) {
  for (auto [program, op] : llvm::zip_equal(programs, flows.getPrograms()))
    for (auto instruction :
         ProgramOp(op).getBody().getOps<InstructionOpInterface>())
      program.ops.push_back(instruction);
}

const Piece *RoundWriter::findPart(const Step &step, const Portion &portion) {
  if (!step.isTransfer() || portion.chunks == 1)
    return &step.piece;
  return &parts.emplace_back(step.getPart(portion.chunk, portion.chunks));
}

void RoundWriter::add(unsigned item, const Portion &portion, int round) {
  unsigned type = portion.type;
  int64_t size = flows.getTable().getTypeBytes(type);
  for (const ItemFlow &flow : flows.getFlows(item)) {
    Program &program = programs[flow.program];
    Bytes &account = bytes[flow.program][round];
    account.sent += flow.getSent(portion) * size;
    account.received += flow.getReceived(portion) * size;
    account.allocated += flow.getAllocated(portion) * size;
    account.released += flow.getReleased(portion) * size;
    for (const Step &step : flow.steps) {
      if (!step.types.test(type) || step.isDerive() != portion.derives)
        continue;
      if (portion.derives || step.isTransfer() ? step.hop != portion.hop
                                               : !portion.isFirst())
        continue;
      const Piece *part = findPart(step, portion);
      int when = step.binds ? 0 : round;
      if (part->size() > 0)
        program.shares.push_back({when, step.order, type, part});
      if (step.binds)
        bound[flow.program] += step.piece.size() * size;
    }
    if (portion.isLast())
      for (const Piece &piece : flow.releasedPieces)
        program.shares.push_back({round, releaseOrder, type, &piece});
  }
}

void RoundWriter::write() {
  for (auto [index, op] : llvm::enumerate(flows.getPrograms())) {
    writeProgram(op, programs[index]);
    statePeaks(op, index);
  }
}

bool RoundWriter::Beside::operator==(const Beside &other) const {
  return types == other.types &&
         llvm::equal(pieces, other.pieces,
                     [](const Piece *a, const Piece *b) { return *a == *b; });
}

size_t RoundWriter::FoldHash::operator()(const Beside &key) const {
  size_t hash = llvm::hash_value(key.types.getAsOpaquePointer());
  for (const Piece *piece : key.pieces)
    hash = hash * 31 + PieceHash()(*piece);
  return hash;
}

/// Both ends of a message list the same pieces, so most lists come twice.
ArrayAttr RoundWriter::fold(const Beside &key) {
  ArrayAttr &ids = folded[key];
  if (!ids)
    ids = foldWorkloads(flows.getTable(),
                        llvm::to_vector(llvm::make_pointee_range(key.pieces)),
                        flows.getTable().getTypes(key.types));
  return ids;
}

/// The elements at the front that have the first one's `key`.
template <typename T, typename KeyFn>
static ArrayRef<T> takeAlike(ArrayRef<T> list, KeyFn key) {
  return list.take_while(
      [&](const T &element) { return key(element) == key(list.front()); });
}

/// One instruction for all types that do the same.
void RoundWriter::writeStep(OpBuilder &builder, ProgramOp program,
                            InstructionOpInterface op, ArrayRef<Share> shares) {
  using Pieces = llvm::SmallVector<const Piece *, 4>;
  llvm::SmallVector<std::pair<Pieces, llvm::SmallVector<Attribute>>> alike;
  for (ArrayRef<Share> rest = shares; !rest.empty();) {
    ArrayRef<Share> ofType =
        takeAlike(rest, [](const Share &share) { return share.type; });
    rest = rest.drop_front(ofType.size());
    auto isSame = [](const Piece *piece, const Share &share) {
      return *piece == *share.piece;
    };
    auto it = llvm::find_if(alike, [&](const auto &entry) {
      return llvm::equal(entry.first, ofType, isSame);
    });
    if (it == alike.end()) {
      it = &alike.emplace_back();
      for (const Share &share : ofType)
        it->first.push_back(share.piece);
    }
    it->second.push_back(
        cast<StateAttr>(migration.getTypes()[ofType.front().type]).getName());
  }
  for (auto &[pieces, types] : alike) {
    ArrayAttr wt = builder.getArrayAttr(types),
              ids = fold({wt, std::move(pieces)});
    if (!op) {
      ReleaseOp::create(builder, program.getLoc(), ids, wt, program.getSelf());
      continue;
    }
    auto copy = cast<InstructionOpInterface>(builder.clone(*op));
    copy.setWidAttr(ids);
    copy.setWtAttr(wt);
  }
}

void RoundWriter::writeProgram(ProgramOp op, Program &program) {
  // Shares come item by item, which both ends of a message keep.
  llvm::stable_sort(program.shares, [](const Share &a, const Share &b) {
    return a.key() < b.key();
  });
  OpBuilder builder = OpBuilder::atBlockEnd(&op.getBody().front());
  RoundOp round;
  for (ArrayRef<Share> rest = program.shares; !rest.empty();) {
    ArrayRef<Share> step = takeAlike(rest, [](const Share &share) {
      return std::pair(share.round, share.order);
    });
    rest = rest.drop_front(step.size());
    const auto [index, order] =
        std::pair(step.front().round, step.front().order);
    if (!round || static_cast<int>(round.getIndex()) != index) {
      builder.setInsertionPointToEnd(&op.getBody().front());
      round = RoundOp::create(builder, op.getLoc(), index);
      builder.setInsertionPointToEnd(&round.getBody().emplaceBlock());
    }
    writeStep(builder, op, order == releaseOrder ? nullptr : program.ops[order],
              step);
  }
  for (InstructionOpInterface instruction : program.ops)
    instruction->erase();
  program = {}; // its memory serves the next one
}

void RoundWriter::statePeaks(ProgramOp op, unsigned program) {
  const ProgramMemory &memory = flows.getMemories()[program];
  int64_t live = memory.prev, peak = memory.prev, sent = 0, received = 0;
  for (const Bytes &round : bytes[program]) {
    live += round.allocated;
    peak = std::max(peak, live);
    live -= round.released;
    sent = std::max(sent, round.sent);
    received = std::max(received, round.received);
  }
  op.setSendSlab(sent);
  op.setRecvSlab(received);
  op.setPeak(peak + sent + received);
  op.setPeakSafe(memory.prev + memory.curr - bound[program] + sent + received);
}
