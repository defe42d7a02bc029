// Errors as opaque objects.

#include "capi/Handles.h"

using namespace etc::runtime;

static etc_error_kind kindOf(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::Malformed:
    return ETC_ERROR_MALFORMED;
  case ErrorKind::Verification:
    return ETC_ERROR_VERIFICATION;
  case ErrorKind::Peer:
    return ETC_ERROR_PEER;
  case ErrorKind::Excluded:
    return ETC_ERROR_EXCLUDED;
  case ErrorKind::None:
  case ErrorKind::Usage:
    break;
  }
  return ETC_ERROR_USAGE;
}

static ErrorKind kindOf(etc_error_kind kind) {
  switch (kind) {
  case ETC_ERROR_USAGE:
    return ErrorKind::Usage;
  case ETC_ERROR_MALFORMED:
    return ErrorKind::Malformed;
  case ETC_ERROR_VERIFICATION:
    return ErrorKind::Verification;
  case ETC_ERROR_EXCLUDED:
    return ErrorKind::Excluded;
  default: // whatever a callback said
    return ErrorKind::Peer;
  }
}

etc_error *etc::runtime::toError(const Status &status) {
  if (status.ok())
    return nullptr;
  return new etc_error{kindOf(status.kind()), status.message()};
}

Status etc::runtime::takeError(etc_error *error) {
  if (!error)
    return Status::success();
  const ErrorKind kind = kindOf(error->kind);
  Status status(kind, std::move(error->message));
  delete error;
  return status;
}

extern "C" {

uint32_t etc_run_api_version(void) { return ETC_RUN_API_VERSION; }

const char *etc_run_version(void) { return ETC_VERSION; }

etc_error *etc_error_new(etc_error_kind kind, const char *message) {
  return new etc_error{kind, message ? message : "unknown error"};
}

etc_error_kind etc_error_kind_of(const etc_error *error) { return error->kind; }

const char *etc_error_message(const etc_error *error) {
  return error->message.c_str();
}

void etc_error_free(etc_error *error) { delete error; }

void etc_value_assign(etc_value *value, const void *data, size_t size) {
  value->bytes.assign(static_cast<const char *>(data), size);
}

} // extern "C"
