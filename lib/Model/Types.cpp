//===- Types.cpp - The workload types -------------------------------------===//

#include "Types.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

using namespace etc::model;

namespace {
struct DTypeInfo {
  llvm::StringRef name;
  int64_t bytes;
};
} // namespace

// In the order of DType.
static const DTypeInfo dtypes[] = {{"bf16", 2}, {"fp16", 2}, {"fp32", 4},
                                   {"fp64", 8}, {"i64", 8},  {"u8", 1}};

int64_t etc::model::byteSize(DType dtype) {
  return dtypes[static_cast<unsigned>(dtype)].bytes;
}

llvm::StringRef etc::model::dtypeName(DType dtype) {
  return dtypes[static_cast<unsigned>(dtype)].name;
}

// Mixed-precision Adam. After an optimizer step a parameter is the cast of its
// master copy.
static const StateType knownTypes[] = {
    {"param", DType::BF16, "master"},
    {"master", DType::FP32, ""},
    {"exp_avg", DType::FP32, ""},
    {"exp_avg_sq", DType::FP32, ""},
};

std::vector<StateType>
etc::model::stateTypes(llvm::ArrayRef<std::string> names) {
  std::vector<StateType> types;
  for (const std::string &name : names) {
    auto known = llvm::find_if(
        knownTypes, [&](const StateType &type) { return type.name == name; });
    if (known == std::end(knownTypes))
      llvm::report_fatal_error("unknown workload type: the request was not "
                               "checked");
    types.push_back(*known);
    if (!llvm::is_contained(names, known->derivedFrom))
      types.back().derivedFrom.clear();
  }
  return types;
}
