// Text of error messages: lower case, no full stop, the place first.

#ifndef ETC_LIB_OPTIMIZE_MESSAGE_H
#define ETC_LIB_OPTIMIZE_MESSAGE_H

#include <concepts>
#include <optional>
#include <string>
#include <string_view>

namespace etc::optimize {

using Message = std::optional<std::string>;

inline void append(std::string &out, std::string_view text) { out += text; }

template <std::integral T> void append(std::string &out, T value) {
  out += std::to_string(value);
}

template <typename... Parts> std::string text(const Parts &...parts) {
  std::string out;
  (append(out, parts), ...);
  return out;
}

/// array[index], at the head of a message.
inline std::string at(std::string_view array, size_t index) {
  return text(array, "[", index, "]");
}

} // namespace etc::optimize

#endif // ETC_LIB_OPTIMIZE_MESSAGE_H
