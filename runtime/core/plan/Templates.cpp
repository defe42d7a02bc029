#include "core/plan/Templates.h"

#include <charconv>
#include <map>
#include <memory>
#include <optional>

using namespace etc::plan;

namespace {

/// A name, taken apart: a number stands between one text and the next.
struct Form {
  std::vector<std::string> texts{""};
  std::vector<uint32_t> numbers;
};

bool isDigit(char c) { return '0' <= c && c <= '9'; }

/// Numbers are those that come out as they are written: without leading zeros,
/// and of 32 bits.
Form formOf(std::string_view name) {
  constexpr size_t kMostDigits = 9;
  Form form;
  for (size_t i = 0, end; i != name.size(); i = end) {
    for (end = i + 1;
         end != name.size() && isDigit(name[end]) == isDigit(name[i]);)
      ++end;
    const std::string_view part = name.substr(i, end - i);
    if (!isDigit(part[0]) || part.size() > kMostDigits ||
        (part[0] == '0' && part.size() > 1)) {
      form.texts.back() += part;
      continue;
    }
    std::from_chars(part.data(), part.data() + part.size(),
                    form.numbers.emplace_back());
    form.texts.emplace_back();
  }
  return form;
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
class Stater {
public:
  /// Takes the tensors of one name, from `first` to `end`.
  void add(Tensors &tensors, size_t first, size_t end);
  void write(fb::CondensedT &out);

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

void Stater::add(Tensors &tensors, size_t first, size_t end) {
  Form form = formOf(tensors[first]->name);
  std::string key;
  for (const std::string &text : form.texts)
    key += text + '\0';
  for (size_t i = first; i != end; ++i) {
    makeRelative(*tensors[i], static_cast<int64_t>(i));
    appendTo(key, *tensors[i]);
  }
  const auto [entry, isNew] =
      known.try_emplace(std::move(key), templates.size());
  if (isNew) {
    auto made = std::make_unique<fb::TensorTemplateT>();
    made->texts = std::move(form.texts);
    std::move(tensors.begin() + static_cast<std::ptrdiff_t>(first),
              tensors.begin() + static_cast<std::ptrdiff_t>(end),
              std::back_inserter(made->tensors));
    templates.push_back(std::move(made));
    constants.emplace_back(form.numbers.begin(), form.numbers.end());
  }
  Constants &same = constants[entry->second];
  for (size_t i = 0; i != same.size(); ++i)
    if (same[i] != form.numbers[i])
      same[i].reset();
  names.push_back({entry->second, std::move(form.numbers)});
}

/// Drops the numbers that are part of the template's text.
void Stater::drop(Name &name) const {
  std::vector<uint32_t> left;
  for (size_t i = 0; i != name.numbers.size(); ++i)
    if (!constants[name.index][i])
      left.push_back(name.numbers[i]);
  name.numbers = std::move(left);
}

bool Stater::continues(const Name &last, const Name &next) const {
  if (last.index != next.index || last.numbers.empty())
    return false;
  std::vector<uint32_t> expected = last.numbers;
  ++expected.back();
  return next.numbers == expected;
}

static void joinTexts(std::vector<std::string> &texts,
                      const std::vector<std::optional<uint32_t>> &constants) {
  std::vector<std::string> joined{texts[0]};
  for (size_t i = 0; i != constants.size(); ++i)
    if (constants[i])
      joined.back() += std::to_string(*constants[i]) + texts[i + 1];
    else
      joined.push_back(texts[i + 1]);
  texts = std::move(joined);
}

void Stater::write(fb::CondensedT &out) {
  for (size_t i = 0; i != templates.size(); ++i)
    joinTexts(templates[i]->texts, constants[i]);
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
  out.templates = std::move(templates);
}

void etc::plan::stateTemplates(fb::PlanT &plan) {
  Tensors &tensors = plan.tensors;
  Stater stater;
  for (size_t first = 0, end; first != tensors.size(); first = end) {
    const std::string name = tensors[first]->name;
    for (end = first + 1; end != tensors.size() && tensors[end]->name == name;)
      ++end;
    stater.add(tensors, first, end);
  }
  stater.write(*plan.condensed);
  tensors.clear();
}

/// The last number is `further` on.
static std::string fill(const std::vector<std::string> &texts,
                        const uint32_t *numbers, uint64_t further) {
  std::string name = texts[0];
  for (size_t i = 1; i != texts.size(); ++i) {
    const uint64_t more = i + 1 == texts.size() ? further : 0;
    name += std::to_string(numbers[i - 1] + more) + texts[i];
  }
  return name;
}

void etc::plan::fillTemplates(fb::PlanT &plan) {
  const fb::CondensedT &condensed = *plan.condensed;
  const uint32_t *next = condensed.numbers.data();
  for (const fb::NameRun &run : condensed.names) {
    const fb::TensorTemplateT &entry = *condensed.templates[run.index()];
    for (uint32_t i = 0; i != run.count(); ++i) {
      const std::string name = fill(entry.texts, next, i);
      for (const auto &tensor : entry.tensors) {
        const auto self = static_cast<int32_t>(plan.tensors.size());
        auto filled = std::make_unique<fb::TensorT>(*tensor);
        filled->name = name;
        for (int32_t *link : {&filled->tied_to, &filled->derived_from})
          *link = *link == 0 ? -1 : *link + self;
        plan.tensors.push_back(std::move(filled));
      }
    }
    next += entry.texts.size() - 1;
  }
}
