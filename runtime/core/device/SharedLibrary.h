// Libraries that are looked up when they are needed, so that one binary runs
// with and without them.

#ifndef ETC_RUNTIME_CORE_DEVICE_SHAREDLIBRARY_H
#define ETC_RUNTIME_CORE_DEVICE_SHAREDLIBRARY_H

#include "core/plan/Status.h"

#include <cstdlib>
#include <dlfcn.h>
#include <string>

namespace etc::runtime {

/// An open library; it is never closed, since what it started may still run.
class SharedLibrary {
public:
  /// Opens the library that the environment variable names, or else `name`.
  static SharedLibrary open(const char *variable, const char *name) {
    const char *chosen = std::getenv(variable);
    SharedLibrary library;
    library.name_ = chosen && *chosen ? chosen : name;
    library.handle = ::dlopen(library.name_.c_str(), RTLD_NOW | RTLD_LOCAL);
    return library;
  }

  bool isOpen() const { return handle != nullptr; }
  const std::string &name() const { return name_; }

  /// Looks a function up; returns whether it is there.
  template <typename Function>
  bool find(const char *symbol, Function *&function) const {
    function = reinterpret_cast<Function *>(::dlsym(handle, symbol));
    return function != nullptr;
  }

  /// The file that a function is in.
  template <typename Function> std::string pathOf(Function *function) const {
    Dl_info info{};
    return ::dladdr(reinterpret_cast<void *>(function), &info) != 0 &&
                   info.dli_fname
               ? info.dli_fname
               : name_;
  }

private:
  void *handle = nullptr;
  std::string name_;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_DEVICE_SHAREDLIBRARY_H
