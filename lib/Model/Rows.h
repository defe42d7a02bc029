//===- Rows.h - Tables of tensors -------------------------------*- C++ -*-===//

#ifndef ETC_LIB_MODEL_ROWS_H
#define ETC_LIB_MODEL_ROWS_H

#include "etc/Model/Model.h"

#include "llvm/ADT/ArrayRef.h"

namespace etc::model {

/// A size of a model's tensors.
using Size = int64_t (*)(const request::ModelSpec &);
/// Whether a model has a tensor.
using Condition = bool (*)(const request::ModelSpec &);

/// A tensor of some module, in terms of a model's sizes.
struct Row {
  enum Kind {
    Plain,
    Paired, ///< [gate; up] in gated models: two of this shape, each cut alike
    Buffer, ///< no parameter: it has no optimizer state
  };

  const char *name; ///< behind the module's prefix
  std::vector<Size> shape;
  int split = -1;           ///< the axis that tensor parallelism cuts
  Condition when = nullptr; ///< null: always
  Kind kind = Plain;
};

/// The tables of a layer, in the order in which Megatron-Core's modules
/// register their parameters.
llvm::ArrayRef<Row> normRows(bool beforeMlp);
llvm::ArrayRef<Row> attentionRows();
llvm::ArrayRef<Row> latentAttentionRows();
llvm::ArrayRef<Row> mlpRows();
llvm::ArrayRef<Row> expertsRows();

/// The tables of a layer of multi-token prediction, before and behind the
/// transformer layer in it.
llvm::ArrayRef<Row> mtpInputRows();
llvm::ArrayRef<Row> finalNormRows();

} // namespace etc::model

#endif // ETC_LIB_MODEL_ROWS_H
