//===- ScheduleWriter.h - Rounds of items as cuts ---------------*- C++ -*-===//

#ifndef ETC_LIB_TRANSFORMS_SCHEDULEWRITER_H
#define ETC_LIB_TRANSFORMS_SCHEDULEWRITER_H

#include "etc/Analysis/ProgramFlows.h"

namespace etc {

/// Writes the `etc.schedule` of a migration.
class ScheduleWriter {
public:
  explicit ScheduleWriter(const ProgramFlows &flows);

  /// A portion of one item is in `round`. The chunks of a type come in order,
  /// hop by hop.
  void add(unsigned item, const Portion &portion, int64_t round);
  /// Once all portions are there: one `etc.cut` for all that are cut alike.
  void write(MigrationOp migration) const;

private:
  /// The rounds of one item in one type: of all chunks hop by hop, and of what
  /// is derived (-1: nothing).
  struct Cut {
    llvm::SmallVector<int64_t, 2> rounds;
    int64_t chunks = 0, derived = -1;
    auto operator<=>(const Cut &other) const {
      return std::tie(rounds, chunks, derived) <=>
             std::tie(other.rounds, other.chunks, other.derived);
    }
    bool operator==(const Cut &other) const = default;
  };
  /// The items that are cut alike, by type.
  struct Group {
    const Cut *cut;
    std::vector<llvm::SmallVector<unsigned, 0>> items;
  };
  std::vector<Group> groupAlike() const;
  void writeGroup(mlir::OpBuilder &builder, mlir::Location loc,
                  const Group &group) const;

  const ProgramFlows &flows;
  const unsigned types;
  std::vector<Cut> cuts; ///< [item][type]
};

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_SCHEDULEWRITER_H
