// Whether the migration whose journals are in a directory has begun.

#ifndef ETC_RUNTIME_STATE_INVENTORY_BEGUN_H
#define ETC_RUNTIME_STATE_INVENTORY_BEGUN_H

#include "core/journal/Journal.h"

namespace etc::runtime {

/// Whether data may have moved: every device had its previous state, from which
/// the first round starts, and the migration was not rolled back by all. Fails
/// where the directory holds no journal, or one that can't be read.
Result<bool> hasBegun(const std::string &directory);

} // namespace etc::runtime

#endif // ETC_RUNTIME_STATE_INVENTORY_BEGUN_H
