// How functions of the runtime fail: a kind, which decides what a tool exits
// with, and one line for people.

#ifndef ETC_PLAN_STATUS_H
#define ETC_PLAN_STATUS_H

#include <cassert>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

namespace etc::plan {

enum class ErrorKind {
  None,
  Usage,        // a wrong argument, too little memory, a missing library
  Malformed,    // a plan that is not one, or that breaks a rule
  Verification, // the migrated state, or a message, is not what it should be
  Peer,         // another participant failed or did not answer in time
  Excluded,     // the others went on without this process
};

/// The outcome of a function without a value: success, or an error with a
/// message. Messages are lower case, without a full stop, and name the place
/// first.
class [[nodiscard]] Status {
public:
  static Status success() { return Status(ErrorKind::None, {}); }
  Status(ErrorKind kind, std::string message)
      : kind_(kind), message_(std::move(message)) {}

  bool ok() const { return kind_ == ErrorKind::None; }
  ErrorKind kind() const { return kind_; }
  const std::string &message() const { return message_; }

  /// The same error with `place` and a colon before the message.
  Status at(const std::string &place) const {
    return ok() ? *this : Status(kind_, place + ": " + message_);
  }

private:
  ErrorKind kind_;
  std::string message_;
};

/// A value or the error that came instead.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : value_(std::move(value)), status_(Status::success()) {}
  Result(Status error) : status_(std::move(error)) { assert(!status_.ok()); }

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Status &status() const { return status_; }
  T &operator*() { return *value_; }
  const T &operator*() const { return *value_; }
  T *operator->() { return &*value_; }
  const T *operator->() const { return &*value_; }

private:
  std::optional<T> value_;
  Status status_;
};

/// All arguments printed one after the other.
template <typename... Parts> std::string text(const Parts &...parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

template <typename... Parts> Status malformed(const Parts &...parts) {
  return Status(ErrorKind::Malformed, text(parts...));
}

} // namespace etc::plan

#endif // ETC_PLAN_STATUS_H
