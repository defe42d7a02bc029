//===- StoreHandle.cpp - A store in a job's processes ---------------------===//

#include "StoreHandle.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <exception>
#include <optional>
#include <utility>
#include <vector>

using namespace etc::python;

namespace {

/// The store over which processes find each other, while open() runs.
struct FirstStore {
  nb::object set, get, setFirst;
  std::exception_ptr raised;

  template <typename Body> static etc_error *guarded(void *context, Body body) {
    auto &me = *static_cast<FirstStore *>(context);
    nb::gil_scoped_acquire hold;
    try {
      return body(me);
    } catch (...) {
      me.raised = std::current_exception();
      return etc_error_new(ETC_ERROR_USAGE, "a callback raised an exception");
    }
  }

  static etc_error *assign(etc_value *value, nb::object from) {
    auto bytes = nb::cast<nb::bytes>(from);
    etc_value_assign(value, bytes.c_str(), bytes.size());
    return nullptr;
  }

  static etc_error *onSet(void *context, const char *key, const void *data,
                          size_t size) {
    return guarded(context, [&](FirstStore &me) -> etc_error * {
      me.set(key, nb::bytes(static_cast<const char *>(data), size));
      return nullptr;
    });
  }

  static etc_error *onGet(void *context, const char *key, double timeout,
                          etc_value *value) {
    return guarded(context, [&](FirstStore &me) -> etc_error * {
      nb::object got = me.get(key, timeout);
      if (!got.is_none())
        return assign(value, std::move(got));
      return etc_error_new(ETC_ERROR_PEER, "no value in time");
    });
  }

  static etc_error *onSetFirst(void *context, const char *key, const void *data,
                               size_t size, etc_value *first) {
    return guarded(context, [&](FirstStore &me) {
      return assign(
          first,
          me.setFirst(key, nb::bytes(static_cast<const char *>(data), size)));
    });
  }
};

/// Waits leave the interpreter to others.
class StoreHandle {
public:
  StoreHandle(uint32_t device, const std::optional<std::string> &host,
              const std::optional<std::string> &contact, const std::string &tag,
              double silence, double timeout, nb::object set, nb::object get,
              nb::object setFirst) {
    etc_job_store_options options;
    etc_job_store_options_init(&options);
    FirstStore first{std::move(set), std::move(get), std::move(setFirst), {}};
    options.device = device;
    options.host = host ? host->c_str() : nullptr;
    options.contact = contact ? contact->c_str() : nullptr;
    options.tag = tag.c_str();
    options.silence_seconds = silence;
    options.timeout_seconds = timeout;
    if (!contact) {
      options.store = {&first, FirstStore::onSet, FirstStore::onGet};
      options.set_first = FirstStore::onSetFirst;
    }
    etc_error *error = nullptr;
    {
      nb::gil_scoped_release free;
      error = etc_job_store_open(&options, &store);
    }
    if (std::exception_ptr mine = std::exchange(first.raised, nullptr)) {
      etc_error_free(error);
      std::rethrow_exception(mine);
    }
    check(error);
  }
  StoreHandle(const StoreHandle &) = delete;
  StoreHandle &operator=(const StoreHandle &) = delete;
  ~StoreHandle() { close(); }

  void close() {
    nb::gil_scoped_release free;
    etc_job_store_free(std::exchange(store, nullptr));
  }
  void interrupt() {
    nb::gil_scoped_release free;
    if (store)
      etc_job_store_interrupt(store);
  }
  void closeAfterFork() {
    if (store)
      etc_job_store_close_after_fork(store);
  }

  void set(const std::string &key, nb::bytes value) {
    call([&] {
      return etc_job_store_set(open(), key.c_str(), value.c_str(),
                               value.size());
    });
  }
  nb::bytes setFirst(const std::string &key, nb::bytes value) {
    const Value first(etc_value_new());
    call([&] {
      return etc_job_store_set_first(open(), key.c_str(), value.c_str(),
                                     value.size(), first.get());
    });
    return bytesOf(first);
  }
  nb::bytes get(const std::string &key, double timeout) {
    const Value value(etc_value_new());
    call([&] {
      return etc_job_store_get(open(), key.c_str(), timeout, value.get());
    });
    return bytesOf(value);
  }

  std::string contact() { return etc_job_store_contact(open()); }
  std::vector<uint32_t> devices() {
    std::vector<uint32_t> devices;
    size_t count = 0;
    do {
      devices.resize(count);
      etc_job_store_devices(open(), devices.data(), devices.size(), &count);
    } while (count > devices.size());
    devices.resize(count);
    return devices;
  }

private:
  etc_job_store *open() const {
    if (!store)
      throw nb::value_error("the job's store is closed");
    return store;
  }

  template <typename Body> static void call(Body body) {
    etc_error *error = nullptr;
    {
      nb::gil_scoped_release free;
      error = body();
    }
    check(error);
  }

  etc_job_store *store = nullptr;
};

} // namespace

void etc::python::defineStore(nb::module_ &m) {
  nb::class_<StoreHandle>(m, "JobStore")
      .def(nb::init<uint32_t, const std::optional<std::string> &,
                    const std::optional<std::string> &, const std::string &,
                    double, double, nb::object, nb::object, nb::object>(),
           nb::arg("device"), nb::arg("host").none(), nb::arg("contact").none(),
           nb::arg("tag"), nb::arg("silence"), nb::arg("timeout"),
           nb::arg("set").none(), nb::arg("get").none(),
           nb::arg("set_first").none())
      .def("close", &StoreHandle::close)
      .def("interrupt", &StoreHandle::interrupt)
      .def("close_after_fork", &StoreHandle::closeAfterFork)
      .def("set", &StoreHandle::set)
      .def("set_first", &StoreHandle::setFirst)
      .def("get", &StoreHandle::get)
      .def("contact", &StoreHandle::contact)
      .def("devices", &StoreHandle::devices);
}
