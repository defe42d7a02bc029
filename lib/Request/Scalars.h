//===- Scalars.h - Numbers, lists and names in requests ---------*- C++ -*-===//

#ifndef ETC_LIB_REQUEST_SCALARS_H
#define ETC_LIB_REQUEST_SCALARS_H

#include "etc/Request/Request.h"
#include "etc/Request/Values.h"

namespace etc::request {

// The limits keep every product that planning forms inside 63 bits
// (checkRequest sees to the bytes of the whole model) and a cluster inside
// memory.
inline constexpr Bounds gridBounds = {1, int64_t(1) << 20};
inline constexpr Bounds deviceBounds = {0, (int64_t(1) << 20) - 1};
inline constexpr Bounds layerBounds = {1, int64_t(1) << 16};
inline constexpr Bounds sizeBounds = {1, int64_t(1) << 28};
inline constexpr Bounds bucketBounds = {1, int64_t(1) << 48};
inline constexpr int64_t maxDevices = int64_t(1) << 20;

/// "a positive integer", with the limit if `found` exceeds it.
llvm::Error expectedInteger(Bounds bounds, const Field &field,
                            llvm::StringRef found);

/// A number within bounds, from text; `"x"` is quoted in messages.
llvm::Expected<int64_t> parseInteger(llvm::StringRef text, Bounds bounds,
                                     const Field &field);

/// Comma-separated numbers; empty text is an empty list.
llvm::Expected<std::vector<int64_t>>
parseIntegers(llvm::StringRef text, Bounds bounds, const Field &field);

/// A device may stand in a list once.
llvm::Error listedTwice(int64_t device, const Field &field);

/// Sorts a list of devices; one that is listed twice is Malformed.
llvm::Expected<std::vector<int64_t>> sortedDevices(std::vector<int64_t> devices,
                                                   const Field &field);

/// Checks the name of a workload type of a model.
llvm::Error checkType(const ModelSpec &model, llvm::StringRef name,
                      const Field &field);

/// Checks names of a model's workload types, and puts them into their fixed
/// order.
llvm::Expected<std::vector<std::string>>
orderedTypes(const ModelSpec &model, llvm::ArrayRef<std::string> names,
             const Field &field);

/// Checks the number of devices of all nodes together.
llvm::Expected<std::vector<int64_t>> checkedNodes(std::vector<int64_t> nodes,
                                                  const Field &field);

/// A cluster of equal nodes.
llvm::Expected<std::vector<int64_t>> equalNodes(int64_t nodes, int64_t devices,
                                                const Field &field);

/// Stores a value that may be an error instead.
template <typename T, typename Target>
llvm::Error store(llvm::Expected<T> value, Target &target) {
  if (!value)
    return value.takeError();
  target = std::move(*value);
  return llvm::Error::success();
}

/// Takes the model from a side where the request names none.
void adoptModel(Request &request);
/// Where it names none and both sides are inventories, their tables are it.
void adoptInventories(Request &request);

/// What both ways into a request do last: adoptModel, fills ffn, takes the
/// preset's name from a model whose sizes are no longer the preset's, and
/// resolves the stages of both sides as far as they can be known; checkRequest
/// says what can't.
void settleRequest(Request &request);

} // namespace etc::request

#endif // ETC_LIB_REQUEST_SCALARS_H
