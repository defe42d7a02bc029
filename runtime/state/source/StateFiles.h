// The state that an earlier process left in files.

#ifndef ETC_RUNTIME_STATE_SOURCE_STATEFILES_H
#define ETC_RUNTIME_STATE_SOURCE_STATEFILES_H

#include "core/engine/StateSource.h"
#include "core/memory/FileAllocator.h"
#include "state/checkpoint/Checkpoint.h"
#include "state/inventory/Inventory.h"

#include <memory>

namespace etc::runtime {

/// The files of one device, mapped.
class DeviceFiles {
public:
  DeviceFiles(const PlanIndex &index, uint32_t rank, const Standing &standing,
              const std::string &stateDirectory);
  ~DeviceFiles();
  DeviceFiles(const DeviceFiles &) = delete;
  DeviceFiles &operator=(const DeviceFiles &) = delete;

  /// Maps everything; the error names what is missing.
  Status open();
  /// Compares every element with the formula, bit for bit. The error is of kind
  /// Verification.
  Status check() const;
  /// Copies what this device holds of `region` of a tensor, and returns the
  /// boxes of it that it does not hold.
  std::vector<Box> read(const std::string &tensor, Region region) const;
  /// Whether it holds an element of a box.
  bool holds(const std::string &tensor, BoxView box) const;

private:
  struct MappedShard {
    HeldShard held;
    Buffer memory;
  };
  template <typename Visit> Status forEachBox(Visit visit) const;

  const PlanIndex &index;
  const uint32_t rank;
  FileAllocator allocator;
  std::vector<MappedShard> shards;
};

/// The previous state of one migration is what another one left, in whatever
/// condition. What no survivor holds any more comes from a checkpoint, if there
/// is one, and nothing else does: it may be of an older step.
class LeftState final : public StateSource {
public:
  /// Opens the files of all survivors.
  static Result<std::unique_ptr<LeftState>>
  open(const PlanIndex &index, const Survivors &survivors,
       const std::string &stateDirectory,
       std::optional<Checkpoint> checkpoint = std::nullopt);

  Result<uint64_t> read(const PlanIndex &index, uint32_t device,
                        uint32_t tensor, Region region) const override;
  /// By formula: what a first migration has filled, whatever came after.
  Status check(const PlanIndex &index, uint32_t device, uint32_t tensor,
               ConstRegion region) const override;

private:
  Result<uint64_t> restore(const PlanIndex &index, uint32_t tensor,
                           Region region, BoxView box) const;

  std::map<uint32_t, std::unique_ptr<DeviceFiles>> devices;
  std::optional<Checkpoint> checkpoint;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_STATE_SOURCE_STATEFILES_H
