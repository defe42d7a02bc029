//===- SharedBytes.h - Bytes by who needs and who held them -----*- C++ -*-===//

#ifndef ETC_LIB_VERIFY_SHAREDBYTES_H
#define ETC_LIB_VERIFY_SHAREDBYTES_H

#include "etc/Verify/LayoutOracle.h"

#include <map>
#include <set>

namespace etc {

/// Bytes, in the types that move, that just these current roles need and just
/// these previous roles held; both lists ascend. A tied copy and its twin are
/// the same bytes.
using SharedBytes =
    std::map<std::pair<std::vector<int64_t>, std::vector<int64_t>>, int64_t>;

/// Works them out, for previous roles that some living device had.
SharedBytes countShared(const TensorTable &table, const LayoutOracle &oracle,
                        const std::set<int64_t> &prevRoles, int64_t currRoles);

} // namespace etc

#endif // ETC_LIB_VERIFY_SHAREDBYTES_H
