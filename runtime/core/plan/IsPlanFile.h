// Which files are plans: by their content, since a name is the user's.

#ifndef ETC_PLAN_ISPLANFILE_H
#define ETC_PLAN_ISPLANFILE_H

#include <string>

namespace etc::plan {

/// Whether a regular file has the identifier of plans, whatever its name and
/// its state; false where it cannot be read. PlanFile::open makes sure.
bool isPlanFile(const std::string &path);

} // namespace etc::plan

#endif // ETC_PLAN_ISPLANFILE_H
