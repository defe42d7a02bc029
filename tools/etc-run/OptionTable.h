// All options: how they are written, what they mean, and how they are read.

#ifndef ETC_RUN_OPTIONTABLE_H
#define ETC_RUN_OPTIONTABLE_H

#include "Options.h"

#include <span>
#include <string_view>

namespace etc::run {

/// One option: how it is written, what it means, and how it is read. `read`
/// returns whether the value is allowed.
struct Option {
  std::string_view name;
  std::string_view values; ///< as in the help; empty for a flag
  std::string_view meaning;
  bool (*read)(Options &options, std::string_view value);
};

/// In the order of the help.
std::span<const Option> allOptions();

} // namespace etc::run

#endif // ETC_RUN_OPTIONTABLE_H
