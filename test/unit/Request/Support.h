//===- Support.h - Shared by the tests of requests --------------*- C++ -*-===//

#ifndef ETC_TEST_UNIT_REQUEST_SUPPORT_H
#define ETC_TEST_UNIT_REQUEST_SUPPORT_H

#include "etc/Request/Request.h"

#include "llvm/Support/raw_ostream.h"

#include "gtest/gtest.h"

namespace etc::request {

/// `exit 2: request.json:1:1: error: ...`, or "" for success.
inline std::string show(llvm::Error error) {
  std::string text;
  llvm::raw_string_ostream os(text);
  int status = reportError(std::move(error), os);
  if (status == 0)
    return "";
  return "exit " + std::to_string(status) + ": " +
         text.substr(0, text.size() - 1);
}

template <typename T> std::string show(llvm::Expected<T> value) {
  return value ? "" : show(value.takeError());
}

/// The error of a file `r.json`, "" if there is none.
inline std::string errorOf(llvm::StringRef json) {
  return show(parseRequest(json, "r.json"));
}

/// The request of a file that is expected to be well formed.
inline Request requestOf(llvm::StringRef json) {
  auto request = parseRequest(json, "r.json");
  if (request)
    return *request;
  ADD_FAILURE() << show(request.takeError());
  return Request();
}

/// The error that checkRequest finds in a well-formed file.
inline std::string checkOf(llvm::StringRef json) {
  return show(checkRequest(requestOf(json)));
}

} // namespace etc::request

#endif // ETC_TEST_UNIT_REQUEST_SUPPORT_H
