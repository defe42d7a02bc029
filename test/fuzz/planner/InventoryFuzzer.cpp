//===- InventoryFuzzer.cpp - Inventories, as the planner reads them -------===//

#include "etc/Request/Inventory.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  auto inventory = etc::request::parseInventory(text, "inventory.json");
  if (!inventory)
    consumeError(inventory.takeError());
  return 0;
}
