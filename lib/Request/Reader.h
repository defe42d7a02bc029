//===- Reader.h - From JSON to a request ------------------------*- C++ -*-===//
//
// Each object has a table of its members; a member's reader checks the value
// and stores it.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_LIB_REQUEST_READER_H
#define ETC_LIB_REQUEST_READER_H

#include "Json.h"
#include "Scalars.h"
#include "etc/Request/Values.h"

#include "llvm/ADT/STLExtras.h"

namespace etc::request {
struct ClusterRates;
struct Inventory;
struct RequestField;
} // namespace etc::request

namespace etc::request::json {

/// A value and the field it is the value of.
struct Input {
  const Node &node;
  Field field;
};

/// A member that an object of type T may have.
template <typename T> struct MemberReader {
  llvm::StringRef name;
  llvm::Error (*read)(const Input &, T &);
};

/// `expected ..., got ...`
llvm::Error expected(const Input &input, const llvm::Twine &what);

/// The value of an object's member.
Input memberOf(const Input &object, const Member &member);
/// An element of an array; in an option it has the option's name.
Input elementOf(const Input &array, size_t index);

/// The error for a member that is none of the accepted ones.
llvm::Error unknownMember(const Input &object, const Member &member,
                          llvm::ArrayRef<llvm::StringRef> accepted);

llvm::Error readInteger(const Input &input, Bounds bounds, int64_t &target);
llvm::Error readBool(const Input &input, bool &target);
llvm::Error readWord(const Input &input,
                     llvm::ArrayRef<llvm::StringRef> accepted,
                     std::string &target);
llvm::Error readIntegers(const Input &input, Bounds bounds,
                         std::vector<int64_t> &target);

/// A file that a request names. What is no regular file, or is larger than
/// `mostBytes`, is Malformed at the field.
llvm::Expected<std::string> readFile(llvm::StringRef path, uint64_t mostBytes,
                                     const Field &field);

/// Reads what tensors and models are called: files, keys of other files and
/// lines of text have the name as a part of their own.
llvm::Error readName(const Input &input, std::string &target);

/// Reads an array of strings.
llvm::Error readTexts(const Input &input, std::vector<std::string> &target);

/// Reads the members in the order of the text.
template <typename T, size_t N>
llvm::Error readMembers(const Input &object,
                        const MemberReader<T> (&readers)[N], T &target) {
  for (const Member &entry : object.node.members) {
    auto reader = llvm::find_if(
        readers, [&](const auto &known) { return known.name == entry.key; });
    if (reader == std::end(readers)) {
      llvm::SmallVector<llvm::StringRef> names;
      for (const auto &known : readers)
        names.push_back(known.name);
      return unknownMember(object, entry, names);
    }
    if (llvm::Error error = reader->read(memberOf(object, entry), target))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error readSide(const Input &input, SideSpec &side);
llvm::Error readModel(const Input &input, ModelSpec &model);
/// The inner size of the MLP, which is not derived from then on.
llvm::Error readFfn(const Input &input, ModelSpec &model);
/// A model given as a plain table.
llvm::Error readTensors(const Input &input, ModelSpec &model);
/// Whether an inventory that was read from `input` lists every tensor once, and
/// every element of a device once.
llvm::Error checkInventory(const Inventory &inventory, const Input &input);
/// Reads an inventory that stands in another file, or in a request.
llvm::Expected<Inventory> readInventory(const Input &input);
/// Makes a side of an inventory, or of the name of its file.
llvm::Error readSideInventory(const Input &input, SideSpec &side);
/// Reads the number of devices of each node, and the rates of links and NICs
/// where these are given.
llvm::Error readCluster(const Input &input, Request &request);
/// Reads what links and NICs carry.
llvm::Error readRates(const Input &input, ClusterRates &rates);

/// Reads a field of the table, and notes where it stands.
llvm::Error readField(const RequestField &field, const Input &input,
                      Request &request);
/// Reads one of those that are stored in the model.
llvm::Error readModelField(const RequestField &field, const Input &input,
                           ModelSpec &model);

// The fields that are not plain.
llvm::Error readModelOf(const Input &input, Request &request);
llvm::Error readClusterOf(const Input &input, Request &request);
llvm::Error readFfnOf(const Input &input, Request &request);
llvm::Error readTypes(const Input &input, Request &request);
llvm::Error readHosts(const Input &input, Request &request);
llvm::Error readBudget(const Input &input, Request &request);
llvm::Error readDefer(const Input &input, Request &request);
template <SideSpec Request::*Side>
llvm::Error readSideOf(const Input &input, Request &request) {
  return readSide(input, request.*Side);
}

// What options do in place of giving a value.
llvm::Error replaceModel(llvm::StringRef text, const Field &field,
                         Request &request);
llvm::Error replaceByMegatronArgs(llvm::StringRef text, const Field &field,
                                  Request &request);
llvm::Error replaceSide(llvm::StringRef text, const Field &field,
                        SideSpec &side);
template <SideSpec Request::*Side>
llvm::Error replaceSideOf(llvm::StringRef text, const Field &field,
                          Request &request) {
  return replaceSide(text, field, request.*Side);
}

} // namespace etc::request::json

#endif // ETC_LIB_REQUEST_READER_H
