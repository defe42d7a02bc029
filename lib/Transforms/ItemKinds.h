//===- ItemKinds.h - Items that move alike --------------------------------===//
//
// What is found out about one tensor of a layer holds for that of the next
// layer, as a rule.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_LIB_TRANSFORMS_ITEMKINDS_H
#define ETC_LIB_TRANSFORMS_ITEMKINDS_H

#include "etc/Analysis/ProgramFlows.h"

namespace etc {

/// Items of one kind have the same types, and the same programs do to them
/// steps that are alike.
class ItemKinds {
public:
  using StepsAlike = llvm::function_ref<bool(const Step &, const Step &)>;

  explicit ItemKinds(const ProgramFlows &flows,
                     StepsAlike stepsAlike = isAlike);

  unsigned size() const { return count; }
  unsigned operator[](unsigned item) const { return kinds[item]; }

private:
  std::vector<unsigned> kinds; ///< [items]
  unsigned count = 0;
};

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_ITEMKINDS_H
