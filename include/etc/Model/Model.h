//===- Model.h - The meta model ---------------------------------*- C++ -*-===//
//
// Every tensor of a model, once for all layers: its global name, its planning
// shape and the axis that tensor parallelism cuts. Names are Megatron-Core's.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_MODEL_MODEL_H
#define ETC_MODEL_MODEL_H

#include "etc/Request/Request.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace etc::model {

/// The part of a model that a tensor belongs to, in forward order. It decides
/// the pipeline stage: Embed is on the first one, Final, Head and Mtp
/// (multi-token prediction) on the last.
enum class Block { Embed, Layer, Final, Head, Mtp };

enum class DType { BF16, FP16, FP32, FP64, I64, U8 };

/// The size of an element in bytes.
int64_t byteSize(DType dtype);
/// The name in plans: "bf16", "fp32", ...
llvm::StringRef dtypeName(DType dtype);

/// A workload type: what is stored for every parameter.
struct StateType {
  std::string name; ///< "param", "master", "exp_avg", ...
  DType dtype;
  /// The type it can be rebuilt from bit for bit, or empty.
  std::string derivedFrom;
};

/// A tensor, or one for each layer, or one for each layer and expert, in the
/// types that are laid out alike. A tensor whose types are not (parameters in
/// full, optimizer states in flat ranges) is several templates of one name.
struct TensorTemplate {
  /// The global name; "{layer}" stands for the layer's number, "{expert}" for
  /// the expert's.
  std::string name;
  Block block;
  /// The planning shape in elements, with the vocabulary not padded. The shape
  /// on a side is shapeOn().
  std::vector<int64_t> shape;
  /// The axis that tensor parallelism cuts evenly (of an expert, that of its
  /// own tensor parallelism); -1 if it is replicated. There is at most one axis
  /// before it and one behind it.
  int splitAxis = -1;
  /// Axis 0 is the vocabulary, padded by each side for itself.
  bool vocabRows = false;
  /// Rows of a vocabulary are padded to a multiple of this times tp.
  int64_t vocabMultiple = 128;
  /// The tensor that this one is a tied copy of, or empty. A tied copy exists
  /// only where the two ends of the model are on different stages.
  std::string tiedTo;
  /// The layers that have it, or all.
  std::optional<Span> layers = std::nullopt;
  /// One for each expert, which expert parallelism cuts evenly.
  bool ofExpert = false;
  /// The names of the types that this template is laid out for; empty: all of
  /// the model's.
  std::vector<std::string> types = {};
  /// On a side with the distributed optimizer, a rank holds flat ranges of its
  /// shard (which it would hold in full otherwise).
  bool flat = false;
  /// The shape that the trainer sees, where the planning shape factors an axis;
  /// empty: the same.
  std::vector<int64_t> view = {};

  bool isOfLayer() const { return block == Block::Layer; }
};

struct Model {
  std::string name;
  int64_t layers = 0;
  int64_t experts = 0; ///< of every layer that has any
  /// In Megatron's module order, that of its parameter buffers, backwards: the
  /// templates of layers repeat as a whole for every layer, and likewise a run
  /// of templates behind a module of every expert ("local_experts.{expert}.").
  /// Without the distributed optimizer, which alone depends on it, linear_proj
  /// stands behind linear_qkv, in forward order.
  std::vector<TensorTemplate> tensors;
  /// The workload types that are migrated, in their fixed order.
  std::vector<StateType> types;

  /// The index of the tensor with this (template's) name.
  std::optional<unsigned> findTensor(llvm::StringRef name) const;
  /// The bytes of one element in all types.
  int64_t bytesPerElement() const;
  /// The bytes of one element of a tensor in the types that it is laid out for.
  int64_t bytesPerElement(const TensorTemplate &tensor) const;
  /// Whether a tensor is laid out for a type.
  bool isOf(const TensorTemplate &tensor, llvm::StringRef type) const;
};

/// The model of a spec that request::checkRequest has passed. `types` are names
/// of request::typeNames(spec); a type is derived only if its source is there
/// as well. With `distributedOptimizer` (on either side) the types that it
/// shards are templates of their own, and so are types that not all tensors
/// have, or of which they keep some axes only.
Model buildModel(const request::ModelSpec &spec,
                 llvm::ArrayRef<std::string> types,
                 bool distributedOptimizer = false);

/// All families that buildModel knows; config's values().family accepts the
/// same ones.
std::vector<llvm::StringRef> familyNames();

/// The global name of a layer's tensor; `layer` is ignored by tensors that are
/// not of a layer.
std::string tensorName(const TensorTemplate &tensor, int64_t layer,
                       int64_t expert = -1);

/// Whether the layer has the tensor; true for one that is not of a layer.
bool hasLayer(const TensorTemplate &tensor, int64_t layer);

/// Calls `see` with every layer and expert that a template has a tensor for; 0
/// stands for both outside of them.
void forInstances(const TensorTemplate &tensor, const Model &model,
                  llvm::function_ref<void(int64_t, int64_t)> see);

/// How many tensors there are, of all layers and experts.
int64_t tensorCount(const Model &model);

/// Megatron's padding: the next multiple of 128 (or another number) * tp.
int64_t paddedVocab(int64_t vocab, int64_t tp, int64_t multiple = 128);

/// Whether a side has the tensor at all.
bool existsOn(const TensorTemplate &tensor,
              const request::Parallelism &parallel);

/// The rows of the vocabulary without padding; 0 for a model that has none.
int64_t vocabOf(const Model &model);

/// The global planning shape on a side: the vocabulary is padded.
std::vector<int64_t> shapeOn(const TensorTemplate &tensor,
                             const request::Parallelism &parallel);

/// The parameters of the model on a side, each once, without padding. Tied
/// copies count where they exist.
int64_t parameterCount(const Model &model,
                       const request::Parallelism &parallel);

} // namespace etc::model

#endif // ETC_MODEL_MODEL_H
