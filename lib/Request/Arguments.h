//===- Arguments.h - The arguments of a training script ---------*- C++ -*-===//

#ifndef ETC_LIB_REQUEST_ARGUMENTS_H
#define ETC_LIB_REQUEST_ARGUMENTS_H

#include "Scalars.h"

#include "llvm/ADT/StringMap.h"

namespace etc::request {

/// A number and where it goes.
struct Number {
  llvm::StringRef name;
  int64_t *target;
  Bounds bounds = sizeBounds;
};

/// The arguments by name ("num-layers").
class Arguments {
public:
  explicit Arguments(const Field &field) : field(field) {}

  /// Reads them from a script's text; refuses those that change what is held
  /// in a way that no configuration here can say, those that say how state is
  /// cut with two values, and what is nearly the name of one of these.
  llvm::Error parse(llvm::StringRef text);

  bool has(llvm::StringRef name) const { return values.contains(name); }
  /// The first word behind a name, or "".
  llvm::StringRef text(llvm::StringRef name) const;
  /// Stores a number if the argument is there.
  llvm::Error number(llvm::StringRef name, int64_t &target,
                     Bounds bounds = sizeBounds);
  /// Stores those numbers that are there.
  llvm::Error numbers(llvm::ArrayRef<Number> list);

  /// Where all of them stand.
  SourceLocation where() const { return field.where; }
  /// The argument as errors call it.
  Field fieldOf(llvm::StringRef name) const {
    return {field.where, field.name + ": --" + name.str()};
  }

private:
  llvm::Error add(llvm::StringRef name, llvm::StringRef value);

  const Field &field;
  llvm::StringMap<std::string> values;
};

/// The model that the arguments describe.
llvm::Error readModel(Arguments &arguments, ModelSpec &model);

} // namespace etc::request

#endif // ETC_LIB_REQUEST_ARGUMENTS_H
