// What the processes of one job know and nobody else does.

#ifndef ETC_RUNTIME_CORE_NET_SECRET_H
#define ETC_RUNTIME_CORE_NET_SECRET_H

#include "core/plan/Status.h"

#include <array>
#include <string_view>

namespace etc::runtime {

/// A job's token, filled up with zeros.
struct Secret {
  static constexpr size_t kBytes = 64;
  std::array<char, kBytes> bytes{};
};

/// From text of 16 to 64 characters; the error is of kind Usage.
plan::Result<Secret> makeSecret(std::string_view value);
/// From the kernel's random numbers, as hexadecimal text.
std::string randomSecretText();

/// Takes equally long whatever the difference is.
bool equals(const Secret &a, const Secret &b);

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_NET_SECRET_H
