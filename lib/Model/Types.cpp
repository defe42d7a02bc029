//===- Types.cpp - The workload types -------------------------------------===//

#include "Types.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

using namespace etc;
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

static DType toDType(llvm::StringRef name) {
  for (auto [i, dtype] : llvm::enumerate(dtypes))
    if (dtype.name == name)
      return static_cast<DType>(i);
  llvm::report_fatal_error("unknown element type in the table of states");
}

std::vector<request::State>
etc::model::statesNamed(const request::ModelSpec &spec,
                        llvm::ArrayRef<std::string> names) {
  std::vector<request::State> states, all = request::statesOf(spec);
  for (const std::string &name : names) {
    auto known = llvm::find_if(all, [&](const request::State &state) {
      return state.name == name && !state.recomputed;
    });
    if (known == all.end())
      llvm::report_fatal_error("unknown workload type: the request was not "
                               "checked");
    states.push_back(*known);
  }
  return states;
}

std::vector<StateType>
etc::model::stateTypes(llvm::ArrayRef<request::State> states) {
  std::vector<StateType> types;
  for (const request::State &state : states) {
    bool isDerived = llvm::any_of(states, [&](const request::State &source) {
      return source.name == state.derivedFrom;
    });
    types.push_back({state.name.str(), toDType(state.dtype),
                     isDerived ? state.derivedFrom.str() : ""});
  }
  return types;
}

bool etc::model::hasState(const TensorTemplate &tensor,
                          const request::State &state) {
  const std::vector<int64_t> &view =
      tensor.view.empty() ? tensor.shape : tensor.view;
  bool isMatrix = view.size() >= 2;
  bool isHidden = view.size() == 2 && !tensor.vocabRows;
  switch (state.subjects) {
  case request::Subjects::All:
    return true;
  case request::Subjects::Matrices:
    return isMatrix;
  case request::Subjects::Vectors:
    return !isMatrix;
  case request::Subjects::HiddenMatrices:
    return isHidden;
  case request::Subjects::NoHiddenMatrices:
    return !isHidden;
  }
  llvm_unreachable("unknown subjects");
}

TensorTemplate etc::model::keepAxes(TensorTemplate tensor,
                                    request::KeptAxes axes) {
  int last = static_cast<int>(tensor.shape.size()) - 1;
  switch (axes) {
  case request::KeptAxes::All:
  case request::KeptAxes::Blocks: // never in a plan
    break;
  case request::KeptAxes::Rows:
    tensor.shape.pop_back();
    if (!tensor.view.empty())
      tensor.view.pop_back();
    if (tensor.splitAxis == last)
      tensor.splitAxis = -1;
    break;
  case request::KeptAxes::Columns:
    tensor.shape = {tensor.shape.back()};
    tensor.view.clear();
    tensor.splitAxis = tensor.splitAxis == last ? 0 : -1;
    tensor.vocabRows = false;
    break;
  }
  return tensor;
}
