// What this program was built with, and what it finds on this machine.

#ifndef ETC_TOOLS_ETC_RUN_VERSION_H
#define ETC_TOOLS_ETC_RUN_VERSION_H

#include <string>

namespace etc::run {

/// The text of --version: the version on the first line, then a line for every
/// library, those that are looked up at run time with what was found.
std::string versionText();

} // namespace etc::run

#endif // ETC_TOOLS_ETC_RUN_VERSION_H
