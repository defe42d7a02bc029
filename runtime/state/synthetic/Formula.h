// The state that a run without input starts from: every element is a function
// of where it stands, so that every device can check its own result.

#ifndef ETC_RUNTIME_STATE_SYNTHETIC_FORMULA_H
#define ETC_RUNTIME_STATE_SYNTHETIC_FORMULA_H

#include "core/pack/Values.h"

#include "core/plan/PlanIndex.h"

#include <cstddef>

namespace etc::runtime {

using plan::PlanIndex;

/// The values of one tensor. An element's bits depend on the name of the tensor
/// that it is a tied copy of, on the state type, and on its row-major index in
/// the planning shape, in which a padded first axis changes nothing.
/// Floating-point values are finite and in [-1, 1); those of a derived tensor
/// are cast from its source's.
class Formula {
public:
  Formula(const PlanIndex &index, uint32_t tensor);

  /// Writes `count` elements from the row-major index `first` on.
  void generate(uint64_t first, uint64_t count, std::byte *out) const;

  unsigned elementBytes() const { return valueBytes(kind_); }
  /// What valueBits() takes.
  ValueKind kind() const { return kind_; }
  uint64_t key() const { return key_; }

private:
  ValueKind kind_;
  uint64_t key_;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_STATE_SYNTHETIC_FORMULA_H
