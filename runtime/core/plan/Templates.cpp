#include "core/plan/Templates.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <optional>

using namespace etc::plan;

namespace {

/// A name, taken apart. Names have no control characters.
struct ParsedName {
  std::string text; // with kNumber in place of each number
  std::vector<uint32_t> numbers;
};

bool isDigit(char c) { return '0' <= c && c <= '9'; }

/// Numbers are those that come out as they are written: without leading zeros,
/// and of 32 bits.
ParsedName parse(std::string_view name) {
  constexpr size_t kMostDigits = 9;
  ParsedName parsed;
  for (size_t i = 0, end; i != name.size(); i = end) {
    for (end = i + 1;
         end != name.size() && isDigit(name[end]) == isDigit(name[i]);)
      ++end;
    const std::string_view part = name.substr(i, end - i);
    if (!isDigit(part[0]) || part.size() > kMostDigits ||
        (part[0] == '0' && part.size() > 1)) {
      parsed.text += part;
      continue;
    }
    std::from_chars(part.data(), part.data() + part.size(),
                    parsed.numbers.emplace_back());
    parsed.text += kNumber;
  }
  return parsed;
}

using Tensors = std::vector<std::unique_ptr<fb::TensorT>>;

void makeRelative(fb::TensorT &tensor, int64_t number) {
  tensor.name.clear();
  for (int32_t *link : {&tensor.tied_to, &tensor.derived_from})
    *link = *link < 0 ? 0 : static_cast<int32_t>(*link - number);
}

void appendTo(std::string &key, const fb::TensorT &tensor) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::Tensor::Pack(builder, &tensor));
  key.append(reinterpret_cast<const char *>(builder.GetBufferPointer()),
             builder.GetSize());
}

/// Collects templates, each once, and the names that are of them.
class TemplateWriter {
public:
  /// Takes the tensors of one name, from `first` to `end`.
  void add(Tensors &tensors, size_t first, size_t end);
  void write(fb::CondensedT &condensed, CondensedLists &out);

private:
  struct Name {
    uint32_t index;
    std::vector<uint32_t> numbers;
  };
  /// What names have of each number of a template, where they agree.
  using Constants = std::vector<std::optional<uint32_t>>;

  void drop(Name &name) const;
  bool continues(const Name &last, const Name &next) const;

  std::map<std::string, uint32_t> known;
  std::vector<std::unique_ptr<fb::TensorTemplateT>> templates;
  std::vector<Constants> constants; // of each template
  std::vector<Name> names;
};

} // namespace

void TemplateWriter::add(Tensors &tensors, size_t first, size_t end) {
  ParsedName parsed = parse(tensors[first]->name);
  std::string key = parsed.text + '\0';
  for (size_t i = first; i != end; ++i) {
    makeRelative(*tensors[i], static_cast<int64_t>(i));
    appendTo(key, *tensors[i]);
  }
  const auto [entry, isNew] =
      known.try_emplace(std::move(key), templates.size());
  if (isNew) {
    auto made = std::make_unique<fb::TensorTemplateT>();
    made->name = std::move(parsed.text);
    std::move(tensors.begin() + static_cast<std::ptrdiff_t>(first),
              tensors.begin() + static_cast<std::ptrdiff_t>(end),
              std::back_inserter(made->tensors));
    templates.push_back(std::move(made));
    constants.emplace_back(parsed.numbers.begin(), parsed.numbers.end());
  }
  Constants &same = constants[entry->second];
  for (size_t i = 0; i != same.size(); ++i)
    if (same[i] != parsed.numbers[i])
      same[i].reset();
  names.push_back({entry->second, std::move(parsed.numbers)});
}

/// Drops the numbers that are part of the template's text.
void TemplateWriter::drop(Name &name) const {
  std::vector<uint32_t> left;
  for (size_t i = 0; i != name.numbers.size(); ++i)
    if (!constants[name.index][i])
      left.push_back(name.numbers[i]);
  name.numbers = std::move(left);
}

bool TemplateWriter::continues(const Name &last, const Name &next) const {
  if (last.index != next.index || last.numbers.empty())
    return false;
  std::vector<uint32_t> expected = last.numbers;
  ++expected.back();
  return next.numbers == expected;
}

/// With the numbers on which all names agree.
static std::string
fillConstants(std::string_view text,
              const std::vector<std::optional<uint32_t>> &constants) {
  std::string filled;
  auto constant = constants.begin();
  for (char c : text)
    if (c != kNumber || !*constant++)
      filled += c;
    else
      filled += std::to_string(*constant[-1]);
  return filled;
}

void TemplateWriter::write(fb::CondensedT &condensed, CondensedLists &out) {
  for (size_t i = 0; i != templates.size(); ++i)
    templates[i]->name = fillConstants(templates[i]->name, constants[i]);
  for (size_t i = 0; i != names.size(); ++i) {
    drop(names[i]);
    if (i != 0 && continues(names[i - 1], names[i])) {
      fb::NameRun &run = out.names.back();
      run.mutate_count(run.count() + 1);
      continue;
    }
    out.names.emplace_back(names[i].index, 1);
    out.numbers.insert(out.numbers.end(), names[i].numbers.begin(),
                       names[i].numbers.end());
  }
  condensed.templates = std::move(templates);
}

void etc::plan::stateTemplates(fb::PlanT &plan, CondensedLists &out) {
  Tensors &tensors = plan.tensors;
  TemplateWriter writer;
  for (size_t first = 0, end; first != tensors.size(); first = end) {
    const std::string name = tensors[first]->name;
    for (end = first + 1; end != tensors.size() && tensors[end]->name == name;)
      ++end;
    writer.add(tensors, first, end);
  }
  writer.write(*plan.condensed, out);
  tensors.clear();
}

/// The last number is `further` on.
static std::string fill(std::string_view text, const uint32_t *numbers,
                        uint64_t further) {
  const size_t last = text.rfind(kNumber);
  std::string name;
  for (size_t i = 0; i != text.size(); ++i)
    if (text[i] == kNumber)
      name += std::to_string(*numbers++ + (i == last ? further : 0));
    else
      name += text[i];
  return name;
}

void etc::plan::fillTemplates(fb::PlanT &plan, const CondensedLists &lists) {
  const uint32_t *next = lists.numbers.data();
  for (const fb::NameRun &run : lists.names) {
    const fb::TensorTemplateT &entry = *plan.condensed->templates[run.index()];
    for (uint32_t i = 0; i != run.count(); ++i) {
      const std::string name = fill(entry.name, next, i);
      for (const auto &tensor : entry.tensors) {
        const auto self = static_cast<int32_t>(plan.tensors.size());
        auto filled = std::make_unique<fb::TensorT>(*tensor);
        filled->name = name;
        for (int32_t *link : {&filled->tied_to, &filled->derived_from})
          *link = *link == 0 ? -1 : *link + self;
        plan.tensors.push_back(std::move(filled));
      }
    }
    next += std::count(entry.name.begin(), entry.name.end(), kNumber);
  }
}
