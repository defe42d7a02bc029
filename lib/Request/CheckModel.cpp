//===- CheckModel.cpp - Whether a model's sizes go together ---------------===//

#include "Checks.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace etc::request;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;

Field etc::request::fieldAt(const SourceLocation &where, StringRef name) {
  if (!where.isCommandLine())
    return {where, name.str()};
  // Only a file can list the devices of a side.
  size_t dot = name.rfind('.');
  StringRef option = dot == StringRef::npos ? name : name.drop_front(dot + 1);
  return {where, ("--" + option).str()};
}

std::string
etc::request::useNearest(StringRef name, int64_t most, int64_t wanted,
                         llvm::function_ref<bool(int64_t)> isValid) {
  int64_t below = std::min(wanted - 1, most), above = wanted + 1;
  while (below > 0 && !isValid(below))
    --below;
  while (above <= most && !isValid(above))
    ++above;
  std::string text = "use ";
  auto append = [&](int64_t value) {
    text += (text.size() > 4 ? " or " : "") + name.str() + " = " +
            std::to_string(value);
  };
  if (below > 0)
    append(below);
  if (above <= most)
    append(above);
  return text;
}

std::string etc::request::useDivisor(StringRef name, int64_t number,
                                     int64_t wanted) {
  return useNearest(name, number, wanted,
                    [&](int64_t it) { return number % it == 0; });
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

using Wide = unsigned __int128;

/// The elements of a layer, and beyond any doubt more.
static Wide mostOfLayer(const ModelSpec &model) {
  Wide hidden = model.hidden, heads = model.heads;
  Wide attention = hidden * 4 * std::max(hidden, heads * model.headDim);
  const LatentSizes &latent = model.latent;
  Wide widest = latent.plainDim + latent.rotaryDim + latent.valueDim;
  Wide compressed =
      (latent.queryRank + latent.keyValueRank + latent.rotaryDim) *
      (hidden + 2 * heads * widest);
  Wide mlp = hidden * (3 * Wide(model.ffn) + 16) + 3 * Wide(model.ffn);
  const ExpertSizes &experts = model.experts;
  Wide routed =
      hidden * 3 * (Wide(experts.ffn) + 1) * experts.count + experts.count;
  return attention + compressed + mlp + routed +
         hidden * 3 * (Wide(experts.sharedFfn) + 1);
}

/// The elements of all tensors: plans count their bytes, 14 an element and
/// replica, in 63 bits.
static Error checkModelSize(const ModelSpec &model) {
  Wide ends = Wide(model.hidden) *
              (2 * (Wide(model.vocab) + (Wide(1) << 28)) + model.seq);
  Wide most = Wide(1) << 56;
  Wide layer = mostOfLayer(model);
  if (layer <= most && layer * (model.layers + model.mtpLayers) + ends <= most)
    return Error::success();
  return unsatisfiable(fieldAt(model.where, "model"),
                       "expected a model of at most 2^56 elements, got more; "
                       "use fewer layers or smaller sizes");
}

static Error checkHeads(const ModelSpec &model) {
  if (!model.headDim && !model.traits.latentAttention &&
      model.hidden % model.heads != 0)
    return unsatisfiable(
        fieldAt(model.where, "model.heads"),
        Twine(model.heads) +
            " attention heads do not divide hidden = " + Twine(model.hidden) +
            "; " + useDivisor("heads", model.hidden, model.heads));
  int64_t groups = model.keyValueHeads();
  if (model.heads % groups != 0)
    return unsatisfiable(fieldAt(model.where, "model.kv_heads"),
                         Twine(groups) + " key-value heads do not divide " +
                             Twine(model.heads) + " attention heads; " +
                             useDivisor("kv_heads", model.heads, groups));
  return Error::success();
}

static Error checkExperts(const ModelSpec &model) {
  const ExpertSizes &experts = model.experts;
  if (experts.count && !experts.ffn)
    return malformed(fieldAt(model.where, "model.expert_ffn"),
                     "missing; expected a positive integer");
  if (!experts.count && (experts.ffn || experts.sharedFfn))
    return malformed(fieldAt(model.where, "model.experts"),
                     "missing; expected a positive integer");
  if (experts.denseLayers > model.layers)
    return unsatisfiable(fieldAt(model.where, "model.dense_layers"),
                         Twine(experts.denseLayers) +
                             " dense layers are more than all " +
                             Twine(model.layers) + " layers");
  return Error::success();
}

static Error checkLatent(const ModelSpec &model) {
  if (!model.traits.latentAttention)
    return Error::success();
  const LatentSizes &latent = model.latent;
  for (auto [name, size] : {std::pair("model.kv_rank", latent.keyValueRank),
                            std::pair("model.nope_dim", latent.plainDim),
                            std::pair("model.rope_dim", latent.rotaryDim),
                            std::pair("model.value_dim", latent.valueDim)})
    if (size == 0)
      return malformed(fieldAt(model.where, name),
                       "missing; expected a positive integer");
  return Error::success();
}

Error etc::request::checkModel(const ModelSpec &model) {
  if (model.family == "table")
    return Error::success();
  for (auto check : {checkHeads, checkExperts, checkLatent, checkModelSize})
    if (Error error = check(model))
      return error;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

static Wide elementsOf(llvm::ArrayRef<int64_t> shape) {
  Wide elements = 1;
  for (int64_t extent : shape)
    elements *= extent;
  return elements;
}

static Error checkRowShape(const TensorSpec &row, const Field &field) {
  if (row.shape.empty() || row.shape.size() > 3)
    return malformed(field, "expected a shape of 1 to 3 axes, got " +
                                Twine(row.shape.size()));
  if (row.split >= static_cast<int64_t>(row.shape.size()))
    return malformed(field, "split = " + Twine(row.split) +
                                " is not an axis of the shape; expected 0 to " +
                                Twine(row.shape.size() - 1));
  if (row.vocabRows && row.split > 0)
    return malformed(field, "rows of a vocabulary are padded along axis 0, but "
                            "split = " +
                                Twine(row.split) + "; use split = 0");
  if (!row.view.empty() && elementsOf(row.view) != elementsOf(row.shape))
    return malformed(field, "view and shape differ in the number of elements");
  return Error::success();
}

static Error checkRow(const ModelSpec &model, const TensorSpec &row,
                      const Field &field) {
  bool ofLayer = row.block == "layer";
  if (ofLayer != StringRef(row.name).contains("{layer}"))
    return malformed(field, ofLayer
                                ? "a tensor of layers needs {layer} in its name"
                                : "only a tensor of layers has {layer} in its "
                                  "name; set block to \"layer\"");
  if (StringRef(row.name).contains("{expert}") && !model.experts.count)
    return malformed(field, "the name has {expert}, but model.experts is "
                            "missing; give the number of experts");
  if (StringRef(row.name).contains("{expert}") && !ofLayer)
    return malformed(field, "a tensor of experts is one of layers; put {layer} "
                            "in its name");
  if (row.layers &&
      (row.layers->begin >= row.layers->end || row.layers->end > model.layers))
    return malformed(field, "layers " + Twine(row.layers->begin) + " to " +
                                Twine(row.layers->end) +
                                " are not a range of the model's " +
                                Twine(model.layers));
  return checkRowShape(row, field);
}

/// What ids call a tensor of the block: its name without the layer's prefix and
/// the expert's number.
static std::string shortNameOf(const TensorSpec &row) {
  auto [prefix, rest] = StringRef(row.name).split("{layer}");
  StringRef name = rest.empty() ? StringRef(row.name) : rest.ltrim('.');
  auto [front, back] = name.split("{expert}");
  bool ofExpert = front.size() != name.size();
  return row.block + "/" + (ofExpert ? front.rtrim('.') : front).str() +
         back.str();
}

/// Ids tell all tensors of a block apart.
static Error checkShortNames(const ModelSpec &model) {
  llvm::StringMap<StringRef> names;
  for (const TensorSpec &row : model.tensors) {
    auto [other, isNew] = names.try_emplace(shortNameOf(row), row.name);
    if (!isNew && (row.types.empty() || other->second != row.name))
      return malformed({model.where, "model.tensors: " + row.name},
                       "\"" + other->second +
                           "\" has the same name behind {layer} and without "
                           "{expert}; rename one of the two");
  }
  return Error::success();
}

/// A name with numbers apart: "enc.{layer}.w" is {"enc.", "{layer}", ".w"}, and
/// so are those of "enc.0.w". Numbers have odd places.
static llvm::SmallVector<StringRef> partsOf(StringRef name) {
  llvm::SmallVector<StringRef> parts;
  size_t begin = 0;
  for (size_t at = 0; at < name.size();) {
    StringRef rest = name.substr(at);
    size_t width = rest.take_while(llvm::isDigit).size();
    for (StringRef mark : {"{layer}", "{expert}"})
      if (rest.starts_with(mark))
        width = mark.size();
    if (width) {
      parts.push_back(name.slice(begin, at));
      parts.push_back(rest.take_front(width));
      begin = at + width;
    }
    at += std::max<size_t>(width, 1);
  }
  parts.push_back(name.substr(begin));
  return parts;
}

/// The numbers that a part stands for, in the rows of a table.
static std::optional<etc::Span>
numbersOf(const ModelSpec &model, const TensorSpec &row, StringRef part) {
  if (part == "{layer}")
    return row.layers.value_or(etc::Span{0, model.layers});
  if (part == "{expert}")
    return etc::Span{0, model.experts.count};
  int64_t number;
  // No layer is written "007".
  if (part.getAsInteger(10, number) || Twine(number).str() != part)
    return std::nullopt;
  return etc::Span{number, number + 1};
}

/// A name that a tensor of both rows has; empty where there is none.
static std::string sharedName(const ModelSpec &model, const TensorSpec &a,
                              const TensorSpec &b) {
  const auto first = partsOf(a.name), second = partsOf(b.name);
  std::string name;
  for (size_t i = 0; i < first.size(); ++i) {
    if (i % 2 == 0 ||
        (first[i] == second[i] && llvm::isDigit(first[i].front()))) {
      name += first[i];
      continue;
    }
    const auto x = numbersOf(model, a, first[i]),
               y = numbersOf(model, b, second[i]);
    if (!x || !y)
      return "";
    const etc::Span both = {std::max(x->begin, y->begin),
                            std::min(x->end, y->end)};
    if (both.size() <= 0)
      return "";
    name += std::to_string(both.begin);
  }
  return name;
}

/// No layer's or expert's tensor is called as that of another row.
static Error checkFullNames(const ModelSpec &model) {
  // The patterns and the plain names that are alike but for numbers.
  struct Alike {
    std::vector<const TensorSpec *> patterns, names;
  };
  std::map<std::string, Alike> alike;
  for (const TensorSpec &row : model.tensors) {
    std::string key;
    const auto parts = partsOf(row.name);
    for (size_t i = 0; i < parts.size(); ++i)
      key += i % 2 ? "#" : parts[i].str();
    auto &[patterns, names] = alike[key];
    const bool isPattern = StringRef(row.name).contains("{layer}");
    (isPattern ? patterns : names).push_back(&row);
  }
  for (const auto &[key, rows] : alike) {
    const auto &[patterns, names] = rows;
    for (size_t i = 0; i < patterns.size(); ++i)
      for (const auto *list : {&patterns, &names})
        for (size_t j = list == &patterns ? i + 1 : 0; j < list->size(); ++j) {
          const TensorSpec &row = *patterns[i], &other = *(*list)[j];
          if (row.name == other.name)
            continue;
          if (std::string name = sharedName(model, row, other); !name.empty())
            return malformed({model.where, "model.tensors: " + other.name},
                             "\"" + row.name + "\" has a tensor \"" + name +
                                 "\", too; rename one of the two");
        }
  }
  return Error::success();
}

/// A tied copy equals a tensor that is no copy itself, element by element.
static Error checkTie(const ModelSpec &model, const TensorSpec &row) {
  if (row.tiedTo.empty())
    return Error::success();
  Field field = {model.where, "model.tensors: " + row.name};
  auto twin = llvm::find_if(model.tensors, [&](const TensorSpec &other) {
    return other.name == row.tiedTo;
  });
  if (twin == model.tensors.end())
    return malformed(field, "tied_to \"" + row.tiedTo +
                                "\" is no tensor of the model");
  if (!twin->tiedTo.empty())
    return malformed(field, "tied_to \"" + row.tiedTo +
                                "\" is a tied copy itself; name the tensor "
                                "that it is a copy of");
  if ((twin->block == "layer") != (row.block == "layer") ||
      twin->layers != row.layers)
    return malformed(field,
                     "tied_to \"" + row.tiedTo + "\" is of other layers");
  if (twin->shape != row.shape || twin->split != row.split ||
      twin->vocabRows != row.vocabRows)
    return malformed(field, "tied_to \"" + row.tiedTo +
                                "\" has another shape or split");
  return Error::success();
}

Error etc::request::checkTable(const ModelSpec &model) {
  if (model.layers == 0)
    return malformed(fieldAt(model.where, "model.layers"),
                     "missing; expected a positive integer");
  Wide elements = 0;
  llvm::StringSet<> names;
  for (const TensorSpec &row : model.tensors) {
    Field field = {model.where, "model.tensors: " + row.name};
    if (Error error = checkRow(model, row, field))
      return error;
    // A name may have types of several shapes.
    if (row.types.empty() && !names.insert(row.name).second)
      return malformed(field, "stands twice; give every tensor once");
    Wide size = elementsOf(row.shape);
    if (row.block == "layer")
      size *= model.layers;
    elements += size * std::max<int64_t>(1, model.experts.count);
  }
  if (Error error = checkShortNames(model))
    return error;
  if (Error error = checkFullNames(model))
    return error;
  for (const TensorSpec &row : model.tensors)
    if (Error error = checkTie(model, row))
      return error;
  if (elements > Wide(1) << 56)
    return unsatisfiable(fieldAt(model.where, "model"),
                         "expected a model of at most 2^56 elements, got "
                         "more; use fewer layers or smaller sizes");
  return Error::success();
}
