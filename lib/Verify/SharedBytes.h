//===- SharedBytes.h - Bytes by who needs and who held them -----*- C++ -*-===//

#ifndef ETC_LIB_VERIFY_SHAREDBYTES_H
#define ETC_LIB_VERIFY_SHAREDBYTES_H

#include "core/proof/Claims.h"
#include "etc/Verify/LayoutOracle.h"

#include <set>

namespace etc {

/// What the oracle says, for previous roles that some living device had.
SharedBytes countShared(const TensorTable &table, const LayoutOracle &oracle,
                        const std::set<int64_t> &prevRoles, int64_t currRoles);

} // namespace etc

#endif // ETC_LIB_VERIFY_SHAREDBYTES_H
