//===- DescribeFields.cpp - What fields of a request say of themselves ----===//

#include "etc/Request/Fields.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

using namespace etc::request;
using llvm::StringRef;

std::string RequestField::option() const {
  std::string text = name.substr(name.rfind('.') + 1).str();
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

std::string RequestField::valueHint() const {
  return words.empty() ? example.str() : llvm::join(words, "|");
}

StringRef RequestField::without() const {
  return words.empty() ? otherwise : words.front();
}

namespace {
/// The type of a keyword of etc.plan.
struct PythonType {
  const RequestField &field;

  template <typename Owner> std::string operator()(std::string Owner::*) const {
    std::string names;
    for (StringRef word : field.words)
      names += (names.empty() ? "\"" : ", \"") + word.str() + "\"";
    return "Literal[" + names + "]";
  }
  template <typename Owner> std::string operator()(int64_t Owner::*) const {
    return "int";
  }
  template <typename Owner> std::string operator()(bool Owner::*) const {
    return "bool";
  }
  template <typename Owner>
  std::string operator()(std::vector<int64_t> Owner::*) const {
    return "Collection[int]";
  }
  std::string operator()(const OwnReader &) const { return field.python.str(); }
};
} // namespace

void etc::request::writeRequestFields(llvm::raw_ostream &os) {
  llvm::json::OStream json(os, /*IndentSize=*/1);
  json.array([&] {
    for (const RequestField &field : requestFields())
      json.object([&] {
        json.attribute("name", field.name);
        json.attribute("older_name", field.olderName);
        json.attribute("option", "--" + field.option());
        json.attribute("value", field.valueHint());
        json.attribute("help", field.help);
        json.attribute("without", field.without());
        json.attribute("page", field.page);
        json.attribute("in_file", field.inFile);
        json.attribute("python", std::visit(PythonType{field}, field.stored));
      });
  });
  os << "\n";
}
