//===- Support.h - What the Python modules share --------------------------===//

#ifndef ETC_LIB_BINDINGS_SUPPORT_H
#define ETC_LIB_BINDINGS_SUPPORT_H

#include "etc-c/store.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <memory>

namespace etc::python {

namespace nb = nanobind;

/// The exception class of an error, from etc/errors.py.
inline const char *exceptionName(etc_error_kind kind) {
  switch (kind) {
  case ETC_ERROR_MALFORMED:
    return "PlanError";
  case ETC_ERROR_UNSATISFIABLE:
    return "UnsatisfiableError";
  case ETC_ERROR_VERIFICATION:
    return "VerificationError";
  case ETC_ERROR_PEER:
    return "PeerError";
  case ETC_ERROR_EXCLUDED:
    return "Excluded";
  case ETC_ERROR_USAGE:
    break;
  }
  return "UsageError";
}

/// Raises an error of the C API, and frees it; does nothing for null.
inline void check(etc_error *error) {
  if (!error)
    return;
  const std::string message = etc_error_message(error);
  const char *name = exceptionName(etc_error_kind_of(error));
  etc_error_free(error);
  nb::object type = nb::module_::import_("etc.errors").attr(name);
  PyErr_SetString(type.ptr(), message.c_str());
  throw nb::python_error();
}

inline const char *dtypeName(etc_dtype dtype) {
  static const char *const names[] = {"bf16", "fp16", "fp32",
                                      "fp64", "i64",  "u8"};
  return names[dtype];
}

inline nb::tuple toTuple(const int64_t *values, uint32_t count) {
  nb::list list;
  for (uint32_t i = 0; i != count; ++i)
    list.append(values[i]);
  return nb::tuple(list);
}

struct FreePlan {
  void operator()(etc_plan *plan) const { etc_plan_free(plan); }
};
using PlanPointer = std::unique_ptr<etc_plan, FreePlan>;

struct FreeValue {
  void operator()(etc_value *value) const { etc_value_free(value); }
};
using Value = std::unique_ptr<etc_value, FreeValue>;

inline nb::bytes bytesOf(const Value &value) {
  size_t size = 0;
  const void *data = etc_value_data(value.get(), &size);
  return nb::bytes(static_cast<const char *>(data), size);
}

} // namespace etc::python

#endif // ETC_LIB_BINDINGS_SUPPORT_H
