//===- Families.cpp - The tensors of each family --------------------------===//

#include "Families.h"

#include "Rows.h"

using namespace etc;
using namespace etc::model;

namespace {
/// Lists the tensors of one model, module by module.
class GptModel {
public:
  explicit GptModel(const request::ModelSpec &spec) : spec(spec) {}

  std::vector<TensorTemplate> run();

private:
  void add(llvm::ArrayRef<Row> rows, const std::string &prefix, Block block,
           std::optional<Span> layers = std::nullopt);
  void addVocabulary(std::string name, Block block, llvm::StringRef tiedTo);
  void addEmbedding();
  void addLayers();
  void addMlp(bool ofExperts, const std::string &prefix, Block block,
              std::optional<Span> layers);
  void addAttention(const std::string &prefix, Block block);
  void addPrediction(int64_t index);

  const request::ModelSpec &spec;
  std::vector<TensorTemplate> tensors;
};
} // namespace

static const char *const words = "embedding.word_embeddings.weight";

/// A row of a table in a model's sizes.
static TensorTemplate makeTensor(const Row &row, const request::ModelSpec &spec,
                                 const std::string &prefix, Block block) {
  TensorTemplate tensor;
  tensor.name = prefix + row.name;
  tensor.block = block;
  tensor.splitAxis = row.split;
  tensor.ofExpert = llvm::StringRef(tensor.name).contains("{expert}");
  for (Size size : row.shape)
    tensor.shape.push_back(size(spec));
  if (row.kind == Row::Buffer)
    tensor.types = {bufferType.str()};
  if (row.kind == Row::Paired && spec.traits.gated) {
    // Each half is cut for itself; factored, a shard is one box.
    tensor.view = tensor.shape;
    tensor.view[0] *= 2;
    tensor.shape.insert(tensor.shape.begin(), 2);
    ++tensor.splitAxis;
  }
  return tensor;
}

void GptModel::add(llvm::ArrayRef<Row> rows, const std::string &prefix,
                   Block block, std::optional<Span> layers) {
  for (const Row &row : rows) {
    if (row.when && !row.when(spec))
      continue;
    tensors.push_back(makeTensor(row, spec, prefix, block));
    tensors.back().layers = layers;
  }
}

/// A matrix with a row for each word.
void GptModel::addVocabulary(std::string name, Block block,
                             llvm::StringRef tiedTo) {
  TensorTemplate tensor;
  tensor.name = std::move(name);
  tensor.block = block;
  tensor.shape = {spec.vocab, spec.hidden};
  tensor.splitAxis = 0;
  tensor.vocabMultiple = spec.vocabMultiple;
  tensor.vocabRows = true;
  tensor.tiedTo = tiedTo.str();
  tensors.push_back(std::move(tensor));
}

void GptModel::addEmbedding() {
  addVocabulary(words, Block::Embed, "");
  if (spec.traits.learnedPositions) {
    TensorTemplate positions;
    positions.name = "embedding.position_embeddings.weight";
    positions.block = Block::Embed;
    positions.shape = {spec.seq, spec.hidden};
    tensors.push_back(std::move(positions));
  }
  // The stage that predicts further tokens embeds them itself. On it Megatron
  // calls the copy by the name of the embedding.
  if (spec.mtpLayers)
    addVocabulary("mtp." + std::string(words), Block::Mtp, words);
}

void GptModel::addAttention(const std::string &prefix, Block block) {
  bool latent = spec.traits.latentAttention;
  if (!spec.traits.fusedNames || latent)
    add(normRows(/*beforeMlp=*/false), prefix, block);
  add(latent ? latentAttentionRows() : attentionRows(), prefix, block);
  // One norm for whatever follows, dense or of experts.
  if (!spec.traits.fusedNames)
    add(normRows(/*beforeMlp=*/true), prefix, block);
}

void GptModel::addMlp(bool ofExperts, const std::string &prefix, Block block,
                      std::optional<Span> layers) {
  if (spec.traits.fusedNames && ofExperts)
    add(normRows(/*beforeMlp=*/true), prefix, block, layers);
  add(ofExperts ? expertsRows() : mlpRows(), prefix, block, layers);
}

void GptModel::addLayers() {
  const std::string prefix = "decoder.layers.{layer}.";
  int64_t dense = spec.experts.count ? spec.experts.denseLayers : spec.layers;
  addAttention(prefix, Block::Layer);
  bool mixed = dense > 0 && dense < spec.layers;
  if (dense > 0)
    addMlp(false, prefix, Block::Layer,
           mixed ? std::optional(Span{0, dense}) : std::nullopt);
  if (dense < spec.layers)
    addMlp(true, prefix, Block::Layer,
           mixed ? std::optional(Span{dense, spec.layers}) : std::nullopt);
}

/// A transformer layer like the model's last one, between projections.
void GptModel::addPrediction(int64_t index) {
  std::string prefix = "mtp.layers." + std::to_string(index) + ".";
  std::string inner = prefix + "transformer_layer.";
  add(mtpInputRows(), prefix, Block::Mtp);
  addAttention(inner, Block::Mtp);
  addMlp(spec.experts.count > 0, inner, Block::Mtp, std::nullopt);
  add(finalNormRows(), prefix, Block::Mtp);
}

std::vector<TensorTemplate> GptModel::run() {
  addEmbedding();
  addLayers();
  add(finalNormRows(), "decoder.", Block::Final);
  for (int64_t i = 0; i < spec.mtpLayers; ++i)
    addPrediction(i);
  addVocabulary("output_layer.weight", Block::Head,
                spec.tiedEmbeddings ? words : "");
  return std::move(tensors);
}

std::vector<TensorTemplate>
etc::model::gptModelTensors(const request::ModelSpec &spec) {
  return GptModel(spec).run();
}

static Block toBlock(llvm::StringRef name) {
  if (name == "embed")
    return Block::Embed;
  if (name == "layer")
    return Block::Layer;
  if (name == "final")
    return Block::Final;
  return name == "head" ? Block::Head : Block::Mtp;
}

std::vector<TensorTemplate>
etc::model::tableTensors(const request::ModelSpec &spec) {
  std::vector<TensorTemplate> tensors;
  for (const request::TensorSpec &row : spec.tensors) {
    TensorTemplate tensor;
    tensor.name = row.name;
    tensor.block = toBlock(row.block);
    tensor.shape = row.shape;
    tensor.splitAxis = static_cast<int>(row.split);
    tensor.vocabRows = row.vocabRows;
    tensor.vocabMultiple = spec.vocabMultiple;
    tensor.tiedTo = row.tiedTo;
    tensor.ofExpert = llvm::StringRef(row.name).contains("{expert}");
    tensor.view = row.view;
    tensor.types = row.types;
    tensor.layers = row.layers;
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}
