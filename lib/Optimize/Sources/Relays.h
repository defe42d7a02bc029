//===- Relays.h - Devices that forward what they received -----------------===//
//
// Where more devices lack a fragment than hold it, the holders send it several
// times, and everyone waits for them. A device that has received it can send it
// as well: along a chain nobody sends it more than once, and since chunks
// follow each other, a chain takes hardly longer than one transfer.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_LIB_OPTIMIZE_SOURCES_RELAYS_H
#define ETC_LIB_OPTIMIZE_SOURCES_RELAYS_H

#include "etc/Optimize/Sources/Solver.h"

#include "llvm/ADT/DenseMap.h"

namespace etc {

/// How a device that has a fragment is chosen.
struct RelayRule {
  /// How often it may send it before others that have it do.
  unsigned fanOut;
  /// Whether nodes are entered early, so that hops are left within them, or by
  /// those that have sent least.
  bool entersEarly;
};

/// Chooses among holders and those that have been served.
class Relays {
public:
  /// `owed`: what devices have to send as holders, in bytes.
  Relays(const Fleet &fleet, llvm::ArrayRef<int64_t> owed, RelayRule rule)
      : fleet(fleet), owed(owed), rule(rule), sent(fleet.size()) {}

  /// The sources of one fragment, parallel to its destinations.
  SourceList choose(const Fragment &fragment,
                    llvm::ArrayRef<int64_t> destinations,
                    llvm::ArrayRef<int64_t> holders);

private:
  struct Candidate {
    int64_t device;
    unsigned hop;
    unsigned given = 0; ///< how often it sends the fragment
  };
  /// Who has the fragment at hand, in all and by node.
  struct Candidates {
    llvm::SmallVector<Candidate> list;
    llvm::DenseMap<int64_t, llvm::SmallVector<unsigned>> onNode;
  };
  void add(Candidates &candidates, Candidate candidate) const;
  Candidate &findNearest(Candidates &candidates, int64_t destination) const;
  bool isBetter(const Candidate &a, const Candidate &b, bool isFar) const;

  const Fleet &fleet;
  const llvm::ArrayRef<int64_t> owed;
  const RelayRule rule;
  llvm::SmallVector<int64_t> sent; ///< [device] bytes so far
};

} // namespace etc

#endif // ETC_LIB_OPTIMIZE_SOURCES_RELAYS_H
