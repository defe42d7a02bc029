// Who wants to know how far a device is, while it goes.

#ifndef ETC_RUNTIME_CORE_ENGINE_OBSERVER_H
#define ETC_RUNTIME_CORE_ENGINE_OBSERVER_H

#include <cstdint>

namespace etc::runtime {

/// The steps of a migration, in their order; those from Pack to Release repeat.
/// Where rounds overlap, Pack and Transfer of a round come before Wait of the
/// one before it.
enum class Phase : uint32_t {
  Fill,
  Pack,
  Transfer,
  Wait,
  Land,
  Acknowledge,
  Release,
  Prepare,
  Decide, // rank 0, all others being prepared
  Commit,
  Done,
};

/// Told by a device before each step. Devices that are threads call it at once.
class Observer {
public:
  virtual ~Observer() = default;
  /// `round` is the number of rounds where a phase is not of one.
  virtual void enter(uint32_t device, uint32_t round, Phase phase) = 0;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_ENGINE_OBSERVER_H
