//===- RecoveryHandle.cpp - A recovery, with its Python callbacks ---------===//

#include "RecoveryHandle.h"

#include "MigrationHandle.h"

#include "etc-c/recover.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <exception>
#include <optional>
#include <utility>
#include <vector>

using namespace etc::python;

namespace {

/// Waits leave the interpreter to others; the store's callbacks take it back.
/// What they raise is raised again where they were needed.
class RecoveryHandle {
public:
  RecoveryHandle(uint32_t device, const std::vector<uint32_t> &devices,
                 std::optional<int> gpu, int64_t version, uint32_t generation,
                 double patience, double timeout, const std::string &tag,
                 const std::optional<std::string> &restoreFrom,
                 int64_t restoreVersion, nb::object set, nb::object get,
                 nb::object setFirst, nb::object checkBox, nb::object readBox)
      : setValue(std::move(set)), getValue(std::move(get)),
        setFirstValue(std::move(setFirst)), checkBox(std::move(checkBox)),
        readBox(std::move(readBox)) {
    etc_recovery_options options;
    etc_recovery_options_init(&options);
    options.device = device;
    options.devices = devices.data();
    options.device_count = devices.size();
    options.transport = gpu ? ETC_NCCL : ETC_TCP;
    options.gpu = gpu.value_or(0);
    options.version = version;
    options.generation = generation;
    options.patience_seconds = patience;
    options.timeout_seconds = timeout;
    options.tag = tag.c_str();
    options.store = {this, onSet, onGet};
    options.set_first = onSetFirst;
    options.restore_from = restoreFrom ? restoreFrom->c_str() : nullptr;
    options.restore_version = restoreVersion;
    if (!this->readBox.is_none())
      options.restore = {this, onCheck, onRead};
    check(etc_recovery_create(&options, &recovery));
  }
  // The address is the callbacks' context.
  RecoveryHandle(const RecoveryHandle &) = delete;
  RecoveryHandle &operator=(const RecoveryHandle &) = delete;
  ~RecoveryHandle() { etc_recovery_free(recovery); }

  void holdPlan(const PlanHandle &plan, int side) {
    check(etc_recovery_hold_plan(recovery, plan.plan.get(),
                                 static_cast<etc_side>(side)));
  }
  void add(const std::string &type, const std::string &name, uintptr_t data) {
    check(etc_recovery_register(recovery, type.c_str(), name.c_str(),
                                reinterpret_cast<const void *>(data)));
  }
  void holdMigration(nb::handle migration) {
    check(etc_recovery_hold_migration(recovery, migrationOf(migration)));
  }

  void agree() {
    call([&] { return etc_recovery_agree(recovery); });
  }

  uint32_t generation() const { return etc_recovery_generation(recovery); }
  std::vector<uint32_t> devices() const {
    size_t count = 0;
    const uint32_t *devices = etc_recovery_devices(recovery, &count);
    return {devices, devices + count};
  }
  int base() const { return etc_recovery_base(recovery); }

  nb::dict state() const {
    etc_recovered made{};
    made.struct_size = sizeof made;
    check(etc_recovery_state(recovery, &made));
    nb::dict state;
    state["version"] = made.version;
    state["dropped_devices"] = made.dropped_devices;
    state["restored_boxes"] = made.restored_boxes;
    state["restored_bytes"] = made.restored_bytes;
    return state;
  }

  std::string inventory() const {
    const char *json = nullptr;
    check(etc_recovery_inventory(recovery, &json));
    return json;
  }

  /// The address of a tensor's memory, or 0.
  uintptr_t find(const PlanHandle &next, const std::string &type,
                 const std::string &name) const {
    const void *data = nullptr;
    check(etc_recovery_find(recovery, next.plan.get(), type.c_str(),
                            name.c_str(), &data));
    return reinterpret_cast<uintptr_t>(data);
  }
  void fill(const PlanHandle &next, const std::string &type,
            const std::string &name, uintptr_t data) {
    call([&] {
      return etc_recovery_fill(recovery, next.plan.get(), type.c_str(),
                               name.c_str(), reinterpret_cast<void *>(data));
    });
  }

  void put(const std::string &name, nb::bytes value) {
    call([&] {
      return etc_recovery_put(recovery, name.c_str(), value.c_str(),
                              value.size());
    });
  }
  nb::bytes get(const std::string &name, double timeout) {
    const void *data = nullptr;
    size_t size = 0;
    call([&] {
      return etc_recovery_get(recovery, name.c_str(), timeout, &data, &size);
    });
    return nb::bytes(static_cast<const char *>(data), size);
  }

private:
  template <typename Body> void call(Body body) {
    etc_error *error = nullptr;
    {
      nb::gil_scoped_release free;
      error = body();
    }
    if (std::exception_ptr mine = std::exchange(raised, nullptr)) {
      if (error)
        etc_error_free(error);
      std::rethrow_exception(mine);
    }
    check(error);
  }

  /// Runs a callback, and keeps what it raises.
  template <typename Body> static etc_error *guarded(void *context, Body body) {
    auto &me = *static_cast<RecoveryHandle *>(context);
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
    return guarded(context, [&](RecoveryHandle &me) -> etc_error * {
      me.setValue(key, nb::bytes(static_cast<const char *>(data), size));
      return nullptr;
    });
  }

  static etc_error *onGet(void *context, const char *key, double timeout,
                          etc_value *value) {
    return guarded(context, [&](RecoveryHandle &me) -> etc_error * {
      nb::object got = me.getValue(key, timeout);
      if (!got.is_none())
        return assign(value, std::move(got));
      const std::string late = "no value of " + std::string(key) + " in time";
      return etc_error_new(ETC_ERROR_PEER, late.c_str());
    });
  }

  static etc_error *onSetFirst(void *context, const char *key, const void *data,
                               size_t size, etc_value *first) {
    return guarded(context, [&](RecoveryHandle &me) {
      return assign(first,
                    me.setFirstValue(
                        key, nb::bytes(static_cast<const char *>(data), size)));
    });
  }

  /// Why a checkpoint does not have a box, or None.
  static etc_error *onCheck(void *context, const etc_box *box) {
    return guarded(context, [&](RecoveryHandle &me) -> etc_error * {
      nb::object why = me.checkBox(describe(*box));
      if (why.is_none())
        return nullptr;
      return etc_error_new(ETC_ERROR_USAGE, nb::str(why).c_str());
    });
  }

  static etc_error *onRead(void *context, const etc_box *box, void *data) {
    return guarded(context, [&](RecoveryHandle &me) -> etc_error * {
      me.readBox(describe(*box), reinterpret_cast<uintptr_t>(data));
      return nullptr;
    });
  }

  /// (type, name, dtype, shape, view or None, box).
  static nb::tuple describe(const etc_box &box) {
    nb::list bounds;
    for (uint32_t axis = 0; axis != box.axes; ++axis)
      bounds.append(nb::make_tuple(box.begin[axis], box.end[axis]));
    nb::object view = nb::none();
    if (box.view_axes != 0)
      view = toTuple(box.view, box.view_axes);
    return nb::make_tuple(box.type, box.name, dtypeName(box.dtype),
                          toTuple(box.shape, box.axes), view,
                          nb::tuple(bounds));
  }

  nb::object setValue, getValue, setFirstValue, checkBox, readBox;
  std::exception_ptr raised;
  etc_recovery *recovery = nullptr;
};

} // namespace

void etc::python::defineRecovery(nb::module_ &m) {
  nb::class_<RecoveryHandle>(m, "Recovery")
      .def(nb::init<uint32_t, const std::vector<uint32_t> &, std::optional<int>,
                    int64_t, uint32_t, double, double, const std::string &,
                    const std::optional<std::string> &, int64_t, nb::object,
                    nb::object, nb::object, nb::object, nb::object>(),
           nb::arg("device"), nb::arg("devices"), nb::arg("gpu").none(),
           nb::arg("version"), nb::arg("generation"), nb::arg("patience"),
           nb::arg("timeout"), nb::arg("tag"), nb::arg("restore_from").none(),
           nb::arg("restore_version"), nb::arg("set"), nb::arg("get"),
           nb::arg("set_first"), nb::arg("check").none(),
           nb::arg("read").none())
      .def("hold_plan", &RecoveryHandle::holdPlan)
      .def("add", &RecoveryHandle::add)
      .def("hold_migration", &RecoveryHandle::holdMigration)
      .def("agree", &RecoveryHandle::agree)
      .def("generation", &RecoveryHandle::generation)
      .def("devices", &RecoveryHandle::devices)
      .def("base", &RecoveryHandle::base)
      .def("state", &RecoveryHandle::state)
      .def("inventory", &RecoveryHandle::inventory)
      .def("find", &RecoveryHandle::find)
      .def("fill", &RecoveryHandle::fill)
      .def("put", &RecoveryHandle::put)
      .def("get", &RecoveryHandle::get);
}
