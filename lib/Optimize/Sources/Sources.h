//===- Sources.h - From which device a missing fragment comes -------------===//

#ifndef ETC_LIB_OPTIMIZE_SOURCES_SOURCES_H
#define ETC_LIB_OPTIMIZE_SOURCES_SOURCES_H

#include "etc/Optimize/Sources/Solver.h"

namespace etc {

/// Chooses sources, fragment by fragment: on the same node first, then a device
/// that sends to the destination anyway, then the holders in turn, those that
/// have sent least first. Taking turns keeps equal devices equal, so that they
/// stay one class.
class Sources {
public:
  explicit Sources(const Fleet &fleet)
      : fleet(fleet), senders(fleet.size()), sent(fleet.size()) {}

  /// Who sends `fragment` to each of `destinations`. Someone alive has it.
  SourceList choose(const Fragment &fragment,
                    llvm::ArrayRef<int64_t> destinations);

private:
  int64_t leastLoaded(const Fragment &fragment,
                      llvm::ArrayRef<int64_t> candidates) const;
  int64_t chooseNear(const Fragment &fragment, int64_t destination) const;

  const Fleet &fleet;
  llvm::SmallVector<llvm::SmallVector<int64_t>>
      senders;                     ///< [destination] so far
  llvm::SmallVector<int64_t> sent; ///< [device] bytes so far
};

} // namespace etc

#endif // ETC_LIB_OPTIMIZE_SOURCES_SOURCES_H
