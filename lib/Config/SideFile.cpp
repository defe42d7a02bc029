//===- SideFile.cpp - A side that a file describes ------------------------===//

#include "etc/Config/Request.h"

#include "plan/PlanFile.h"

using namespace etc::config;
using llvm::Error;
using llvm::StringRef;

bool etc::config::namesSideFile(StringRef text) {
  return text.ends_with(".json") || text.ends_with(".etcplan");
}

Error etc::config::planOfFile(StringRef path, const Field &field,
                              SideSpec &side) {
  auto file = plan::PlanFile::open(path.str());
  if (!file)
    return malformed(field, file.status().message());
  const plan::fb::Plan &last = file->plan();
  if (!last.model() || !last.curr_label())
    return malformed(field, path + ": says neither model nor "
                                   "configuration; plan it again");
  auto parallel = parseParallelism(last.curr_label()->string_view(), field);
  if (!parallel)
    return parallel.takeError();
  side.parallel = std::move(*parallel);
  side.devices.emplace(last.curr_placement()->begin(),
                       last.curr_placement()->end());
  side.devicesWhere = field.where;
  StringRef model = last.model()->string_view();
  model.consume_back(".defragment"); // the second of two stages
  side.plannedModel = model.str();
  side.planned = std::make_shared<const plan::PlanFile>(std::move(*file));
  return Error::success();
}

Error etc::config::sideOfFile(StringRef path, const Field &field,
                              SideSpec &side) {
  return path.ends_with(".etcplan") ? planOfFile(path, field, side)
                                    : inventoryOfFile(path, field, side);
}
