// Text of error messages: lower case, no full stop, the place first.

#ifndef ETC_LIB_OPTIMIZE_ASSIGNMENT_MESSAGE_H
#define ETC_LIB_OPTIMIZE_ASSIGNMENT_MESSAGE_H

#include "WideWeight.h"

#include <concepts>
#include <optional>
#include <string>
#include <string_view>

namespace etc::assignment {

using Message = std::optional<std::string>;

/// array[index], in a message.
struct At {
  std::string_view array;
  size_t index;
};

inline void append(std::string &out, std::string_view text) { out += text; }

template <std::integral T> void append(std::string &out, T value) {
  out += std::to_string(value);
}

inline void append(std::string &out, Int128 value) {
  if (value < 0) {
    out += '-';
    value = -value;
  }
  if (value >= 10)
    append(out, value / 10);
  out += char('0' + int(value % 10));
}

template <typename... Parts> std::string text(const Parts &...parts) {
  std::string out;
  (append(out, parts), ...);
  return out;
}

inline void append(std::string &out, const At &at) {
  append(out, at.array);
  append(out, "[");
  append(out, at.index);
  append(out, "]");
}

inline void append(std::string &out, const WideWeight &w) {
  append(out, "(");
  append(out, w.node);
  append(out, ", ");
  append(out, w.device);
  append(out, ")");
}

inline void append(std::string &out, Weight w) { append(out, WideWeight(w)); }

} // namespace etc::assignment

#endif // ETC_LIB_OPTIMIZE_ASSIGNMENT_MESSAGE_H
