//===- LayoutDump.cpp - What lib/Model and lib/Layout say, as JSON --------===//
//
//   etc-layout-dump request.json
//
// Prints the tensors of a request's model and, for every rank of its previous
// configuration, what the rank holds, chunk by chunk in module order, and which
// ranges the distributed optimizer gives it.
//
//===----------------------------------------------------------------------===//

#include "etc/Layout/Layout.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace etc;
using llvm::json::Array;
using llvm::json::Object;

static Array toJson(llvm::ArrayRef<int64_t> numbers) {
  Array array;
  for (int64_t number : numbers)
    array.push_back(number);
  return array;
}

static Array toJson(Span span) { return Array({span.begin, span.end}); }

static std::string nameOf(const model::Model &model,
                          const layout::Instance &instance) {
  return tensorName(model.tensors[instance.tensor], instance.layer,
                    instance.expert);
}

static Array tensorsOf(const model::Model &model) {
  Array tensors;
  for (const model::TensorTemplate &tensor : model.tensors) {
    Array types;
    for (const std::string &type : tensor.types)
      types.push_back(type);
    tensors.push_back(Object{{"name", tensor.name},
                             {"shape", toJson(tensor.shape)},
                             {"view", toJson(tensor.view)},
                             {"split", tensor.splitAxis},
                             {"flat", tensor.flat},
                             {"types", std::move(types)}});
  }
  return tensors;
}

/// What a rank holds of one chunk.
static Object chunkOf(const model::Model &model,
                      const request::Parallelism &parallel, layout::Role role,
                      int64_t k) {
  Array whole, flat;
  for (const layout::Instance &instance :
       layout::instancesOf(model, parallel, role.p, k, role.t)) {
    const model::TensorTemplate &tensor = model.tensors[instance.tensor];
    if (tensor.flat)
      continue;
    Array box;
    for (Span span : layout::boxOf(tensor, parallel, role.t))
      box.push_back(toJson(span));
    whole.push_back(Object{{"tensor", instance.tensor},
                           {"name", nameOf(model, instance)},
                           {"box", std::move(box)}});
  }
  for (const layout::FlatSpan &flatSpan :
       layout::flatSpans(model, parallel, role, k))
    flat.push_back(Object{{"name", nameOf(model, flatSpan.instance)},
                          {"range", toJson(flatSpan.span)}});
  return Object{{"layers", toJson(layout::layersOfChunk(model.layers, parallel,
                                                        role.p, k))},
                {"holds", std::move(whole)},
                {"flat", std::move(flat)}};
}

static Array ranksOf(const model::Model &model,
                     const request::Parallelism &parallel) {
  Array ranks;
  for (int64_t rank = 0; rank < parallel.world(); ++rank) {
    layout::VirtualRank virtualRank = layout::virtualRank(parallel, rank);
    virtualRank.role.d = virtualRank.d;
    Array chunks;
    for (int64_t k = 0; k < parallel.vpp; ++k)
      chunks.push_back(chunkOf(model, parallel, virtualRank.role, k));
    ranks.push_back(Object{{"stage", virtualRank.role.p},
                           {"slot", virtualRank.role.t},
                           {"replica", virtualRank.d},
                           {"chunks", std::move(chunks)}});
  }
  return ranks;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    llvm::errs() << "usage: etc-layout-dump request.json\n";
    return 2;
  }
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(argv[1], /*IsText=*/true);
  if (!buffer) {
    llvm::errs() << argv[1] << ": " << buffer.getError().message() << "\n";
    return 2;
  }
  auto request = request::parseRequest((*buffer)->getBuffer(), argv[1]);
  if (!request)
    return request::reportError(request.takeError(), llvm::errs());
  if (llvm::Error error = request::checkRequest(*request))
    return request::reportError(std::move(error), llvm::errs());
  // The planes of the distributed optimizer show the order of modules.
  model::Model model = model::buildModel(request->model, request->types, true);
  llvm::outs() << llvm::json::Value(
                      Object{{"configuration", request->prev.parallel.str()},
                             {"tensors", tensorsOf(model)},
                             {"ranks", ranksOf(model, request->prev.parallel)}})
               << "\n";
  return 0;
}
