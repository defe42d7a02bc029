// What the C API's opaque types are, and how errors cross its border.

#ifndef ETC_RUNTIME_CAPI_HANDLES_H
#define ETC_RUNTIME_CAPI_HANDLES_H

#include "capi/OpenPlan.h"
#include "core/plan/SystemError.h"
#include "core/transport/Deadline.h"

#include "etc-c/recover.h"

#include <cstring>
#include <exception>
#include <new>

struct etc_error {
  etc_error_kind kind;
  std::string message;
};

struct etc_plan {
  std::shared_ptr<const etc::runtime::OpenPlan> open;
};

struct etc_value {
  std::string bytes;
};

namespace etc::runtime {

/// Null for success.
etc_error *toError(const Status &status);

/// Takes an error of a callback; success for null.
Status takeError(etc_error *error);

inline etc_error *usage(const std::string &message) {
  return toError(Status(ErrorKind::Usage, message));
}

/// Runs the body of an API function: no exception leaves the library.
template <typename Body> etc_error *guarded(Body body) {
  try {
    return toError(body());
  } catch (const std::bad_alloc &) {
    return usage(text("out of memory", plan::kMoreMemory));
  } catch (const std::exception &error) {
    return usage(error.what());
  }
}

/// A caller's struct is as long as its header said: fields beyond that are not
/// written or read.
template <typename Struct>
Status copyOut(const Struct &value, Struct *target, const char *name) {
  if (!target)
    return Status(ErrorKind::Usage, text(name, ": is NULL"));
  const uint32_t size = target->struct_size;
  if (size < sizeof size)
    return Status(ErrorKind::Usage,
                  text(name, ": struct_size is not set to sizeof(", name, ")"));
  std::memcpy(target, &value, std::min<size_t>(size, sizeof value));
  target->struct_size = size;
  return Status::success();
}

template <typename Struct>
Result<Struct> copyIn(const Struct *source, const char *name) {
  if (!source)
    return Status(ErrorKind::Usage, text(name, ": is NULL"));
  if (source->struct_size < sizeof(uint32_t))
    return Status(ErrorKind::Usage,
                  text(name, ": struct_size is not set to sizeof(", name, ")"));
  Struct value{};
  std::memcpy(&value, source,
              std::min<size_t>(source->struct_size, sizeof value));
  return value;
}

/// A number of seconds of an options struct.
inline Result<Milliseconds> readTime(const char *name, double seconds,
                                     double otherwise) {
  if (!(seconds >= 0 && seconds < 1e9))
    return Status(
        ErrorKind::Usage,
        text(name, " ", seconds, ": expected seconds, or 0 for the default"));
  return Milliseconds(static_cast<int64_t>(
      std::max(1.0, (seconds > 0 ? seconds : otherwise) * 1000)));
}

inline Side sideOf(etc_side side) {
  return side == ETC_PREV ? Side::Prev : Side::Curr;
}

} // namespace etc::runtime

#endif // ETC_RUNTIME_CAPI_HANDLES_H
