//===- Arguments.cpp - The arguments of a training script -----------------===//

#include "Arguments.h"

#include "llvm/ADT/StringExtras.h"

using namespace etc::request;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

/// Words, of which quotes hold some together, as in a shell.
static Expected<std::vector<std::string>> splitWords(StringRef text,
                                                     const Field &field) {
  std::vector<std::string> words;
  bool open = false;
  char quote = 0;
  for (char c : text) {
    if (quote ? c == quote : c == '"' || c == '\'') {
      quote = quote ? 0 : c;
      continue;
    }
    if (!quote && (llvm::isSpace(c) || c == '\\')) {
      open = false;
      continue;
    }
    if (!open)
      words.emplace_back();
    open = true;
    words.back() += c;
  }
  if (quote)
    return malformed(field, "a " + Twine(quote) + " is not closed");
  return words;
}

namespace {
/// An argument that changes what is held in a way that no configuration can
/// say.
struct Refused {
  StringRef name, reason;
  bool isOfTensors = true; ///< then a table of tensors is the remedy
};
} // namespace

static const Refused refused[] = {
    {"use-torch-fsdp2", "it cuts parameters over data-parallel ranks", false},
    {"use-megatron-fsdp", "it cuts parameters over data-parallel ranks", false},
    {"use-custom-fsdp", "it cuts parameters over data-parallel ranks", false},
    {"ddp-pad-buckets-for-high-nccl-busbw",
     "it aligns the ends of buckets otherwise", false},
    {"fp4-param-gather", "it holds parameters in four bits", false},
    {"hybrid-layer-pattern", "its layers differ in kind"},
    {"hybrid-override-pattern", "its layers differ in kind"},
    {"heterogeneous-layers-config-path", "its layers differ in size"},
    {"experimental-attention-variant", "its attention has other tensors"},
    {"attention-output-gate", "its attention has other tensors"},
    {"moe-latent-size", "its experts have other tensors"},
    {"spec", "its modules are not known"},
};

/// What says how state is cut over ranks: misspelt, it would pass as one of the
/// many arguments that say nothing about tensors.
static const StringRef parallelNames[] = {
    "tensor-model-parallel-size",
    "pipeline-model-parallel-size",
    "pipeline-model-parallel-layout",
    "context-parallel-size",
    "expert-model-parallel-size",
    "expert-tensor-parallel-size",
    "num-virtual-stages-per-pipeline-rank",
    "num-layers-per-virtual-pipeline-stage",
    "decoder-first-pipeline-num-layers",
    "decoder-last-pipeline-num-layers",
    "account-for-embedding-in-pipeline-split",
    "account-for-loss-in-pipeline-split",
    "use-tp-pp-dp-mapping",
    "use-distributed-optimizer",
    "num-distributed-optimizer-instances",
};

/// The argument that an unknown one was meant to be.
static StringRef findMeant(StringRef name) {
  constexpr unsigned mostEdits = 2;
  if (llvm::is_contained(parallelNames, name))
    return "";
  auto meant = llvm::find_if(parallelNames, [&](StringRef known) {
    return name.edit_distance(known, true, mostEdits) <= mostEdits;
  });
  return meant == std::end(parallelNames) ? "" : *meant;
}

Error Arguments::parse(StringRef text) {
  auto words = splitWords(text, field);
  if (!words)
    return words.takeError();
  std::vector<std::pair<std::string, std::string>> given;
  std::string *last = nullptr;
  for (StringRef word : *words) {
    if (word.consume_front("--")) {
      auto [name, value] = word.split('=');
      std::string key = name.str();
      std::replace(key.begin(), key.end(), '_', '-');
      last = &given.emplace_back(key, value.str()).second;
    } else if (last && last->empty()) {
      *last = word.str();
    }
  }
  for (const auto &[name, value] : given)
    if (Error error = add(name, value))
      return error;
  if (values.empty())
    return malformed(field, "expected arguments of a training script such as "
                            "--num-layers 32, got \"" +
                                text + "\"");
  for (const Refused &entry : refused)
    if (has(entry.name))
      return malformed(
          fieldOf(entry.name),
          "not supported, since " + entry.reason +
              (entry.isOfTensors ? "; list the tensors in model.tensors" : ""));
  return Error::success();
}

/// As Megatron does, the last value of a name decides; not of those that say
/// how state is cut.
Error Arguments::add(StringRef name, StringRef value) {
  if (StringRef meant = findMeant(name); !meant.empty())
    return malformed(fieldOf(name),
                     "unknown argument; did you mean --" + meant + "?");
  auto [entry, isNew] = values.try_emplace(name, value.str());
  if (!isNew && entry->second != value &&
      llvm::is_contained(parallelNames, name))
    return malformed(fieldOf(name), "is given as \"" + entry->second +
                                        "\" and as \"" + value +
                                        "\"; give it once");
  entry->second = value.str();
  return Error::success();
}

StringRef Arguments::text(StringRef name) const {
  auto found = values.find(name);
  return found == values.end() ? "" : StringRef(found->second);
}

Error Arguments::number(StringRef name, int64_t &target, Bounds bounds) {
  if (!has(name))
    return Error::success();
  return store(parseInteger(text(name), bounds, fieldOf(name)), target);
}

Error Arguments::numbers(llvm::ArrayRef<Number> list) {
  for (const Number &number : list)
    if (Error error = this->number(number.name, *number.target, number.bounds))
      return error;
  return Error::success();
}
