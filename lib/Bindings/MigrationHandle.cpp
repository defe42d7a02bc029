//===- MigrationHandle.cpp - A migration, with its Python callbacks -------===//

#include "MigrationHandle.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <unistd.h>

#include <array>
#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

using namespace etc::python;

namespace {

/// Prepare and run leave the interpreter to others; callbacks take it back. An
/// exception of a callback ends the migration and is raised again where it was
/// called.
class MigrationHandle {
public:
  MigrationHandle(const PlanHandle &plan, uint32_t participant, bool isSafe,
                  std::optional<int> gpu, bool encrypt, double timeout,
                  double meeting, double silence, const std::string &host,
                  const std::string &tag, uint32_t generation, double tailRate,
                  nb::object set, nb::object get, nb::object allocate,
                  nb::object release, nb::object progress)
      : setValue(std::move(set)), getValue(std::move(get)),
        allocate(std::move(allocate)), release(std::move(release)),
        progress(std::move(progress)) {
    etc_options options;
    etc_options_init(&options);
    options.participant = participant;
    options.transport = gpu ? ETC_NCCL : ETC_TCP;
    options.gpu = gpu.value_or(0);
    options.encrypt = encrypt;
    options.mode = isSafe ? ETC_SAFE : ETC_EAGER;
    options.timeout_seconds = timeout;
    options.meeting_seconds = meeting;
    options.silence_seconds = silence;
    options.generation = generation;
    options.tail_bytes_per_second = tailRate;
    options.host = host.c_str();
    options.tag = tag.c_str();
    options.store = {this, onSet, onGet};
    options.memory = {this, onAllocate, onRelease};
    options.progress = onProgress;
    options.progress_context = this;
    check(etc_migration_create(plan.plan.get(), &options, &migration));
  }
  // The address is the callbacks' context.
  MigrationHandle(const MigrationHandle &) = delete;
  MigrationHandle &operator=(const MigrationHandle &) = delete;

  ~MigrationHandle() { close(); }

  /// Ends the migration. No callback is called: Python may be finalizing, and
  /// what a callback allocated is its owner's, who drops it afterwards.
  void close() {
    etc_migration *old = std::exchange(migration, nullptr);
    if (!old || getpid() != owner) // a forked child has none of its threads
      return;
    nb::gil_scoped_release free;
    etc_migration_free(old);
  }

  void add(const std::string &type, const std::string &name, int dtype,
           uintptr_t data, const std::vector<int64_t> &shape,
           const std::vector<int64_t> &strides) {
    if (shape.size() > ETC_MAX_AXES || shape.size() != strides.size())
      throw nb::value_error("a tensor of more axes than possible");
    etc_tensor tensor{};
    tensor.struct_size = sizeof tensor;
    tensor.dtype = static_cast<etc_dtype>(dtype);
    tensor.data = reinterpret_cast<void *>(data);
    tensor.axes = static_cast<uint32_t>(shape.size());
    std::copy(shape.begin(), shape.end(), tensor.shape);
    std::copy(strides.begin(), strides.end(), tensor.strides);
    check(etc_migration_register(live(), type.c_str(), name.c_str(), &tensor));
  }

  /// Interruptible: for Python's main thread, which handles signals meanwhile.
  void prepare(bool isInterruptible) {
    call(etc_migration_prepare, isInterruptible);
  }
  void checkOthers() { call(etc_migration_check, false); }
  void run() { call(etc_migration_run, false); }
  void start() { call(etc_migration_start, false); }
  /// The thread that moves does not need this one.
  void wait(size_t index) {
    call([index](etc_migration *m) { return etc_migration_wait(m, index); },
         false);
  }
  void finish() { call(etc_migration_finish, false); }
  void abort(const std::string &cause) {
    if (migration && getpid() == owner)
      etc_migration_abort_because(migration, cause.c_str());
  }
  /// What the store's callbacks raise is of no interest any more.
  void refuse(const std::string &cause) {
    etc_error *error = etc_migration_refuse(live(), cause.c_str());
    raised = nullptr;
    check(error);
  }

  /// Whether this thread is in a callback.
  bool isCalling() const { return calling == this; }

  const etc_migration *get() const { return live(); }
  int outcome() const { return etc_migration_outcome(live()); }
  nb::bytes inventory() const {
    const Value json(etc_value_new());
    check(etc_migration_inventory(live(), json.get()));
    return bytesOf(json);
  }

  /// (address, whether it stayed) of a current tensor.
  nb::tuple current(size_t index) const {
    void *data = nullptr;
    int stayed = 0;
    check(etc_migration_tensor(live(), index, &data, &stayed));
    return nb::make_tuple(reinterpret_cast<uintptr_t>(data), stayed != 0);
  }

  nb::dict report() const {
    etc_report r{};
    r.struct_size = sizeof r;
    check(etc_migration_report(live(), &r));
    nb::dict result;
    result["device"] = r.device;
    result["sent_bytes"] = r.sent_bytes;
    result["received_bytes"] = r.received_bytes;
    result["internode_bytes"] = r.internode_bytes;
    result["prepare_seconds"] = r.prepare_seconds;
    result["seconds"] = r.seconds;
    result["pack_seconds"] = r.pack_seconds;
    result["copy_seconds"] = r.copy_seconds;
    result["wait_seconds"] = r.wait_seconds;
    result["unpack_seconds"] = r.unpack_seconds;
    result["acknowledge_seconds"] = r.acknowledge_seconds;
    result["peak_bytes"] = r.peak_bytes;
    result["proved_bytes"] = r.proved_bytes;
    result["state_bytes"] = r.state_bytes;
    result["staging_bytes"] = r.staging_bytes;
    result["pause_seconds"] = r.pause_seconds;
    result["finished_rounds"] = r.finished_rounds;
    result["rounds"] = r.rounds;
    return result;
  }

  /// For Python's garbage collector: callbacks refer back to their owner.
  int visit(visitproc visit, void *arg) {
    for (nb::object *each : callbacks())
      Py_VISIT(each->ptr());
    return 0;
  }
  void clear() {
    close();
    for (nb::object *each : callbacks())
      each->reset();
  }

private:
  std::array<nb::object *, 5> callbacks() {
    return {&setValue, &getValue, &allocate, &release, &progress};
  }

  etc_migration *live() const {
    if (!migration)
      check(etc_error_new(ETC_ERROR_USAGE, "the migration is closed"));
    return migration;
  }

  /// While it lives, its thread is in a callback.
  class Calling {
  public:
    explicit Calling(const MigrationHandle *handle)
        : before(std::exchange(calling, handle)) {}
    ~Calling() { calling = before; }
    Calling(const Calling &) = delete;
    Calling &operator=(const Calling &) = delete;

  private:
    const MigrationHandle *const before;
  };

  using Function = std::function<etc_error *(etc_migration *)>;

  /// On a thread of its own, while this one handles signals. What a handler
  /// raises, KeyboardInterrupt for one, ends the migration.
  etc_error *callInterruptibly(const Function &function, etc_migration *open) {
    std::promise<etc_error *> promise;
    std::future<etc_error *> result = promise.get_future();
    std::thread worker([&] { promise.set_value(function(open)); });
    while (result.wait_for(std::chrono::milliseconds(50)) !=
           std::future_status::ready) {
      nb::gil_scoped_acquire hold;
      if (PyErr_CheckSignals() == 0)
        continue;
      interrupt = std::make_exception_ptr(nb::python_error());
      etc_migration_abort_because(open, "prepare was interrupted");
    }
    worker.join();
    return result.get();
  }

  void call(const Function &function, bool isInterruptible) {
    etc_migration *open = live();
    if (getpid() != owner) // its connections are the parent's
      check(etc_error_new(ETC_ERROR_USAGE,
                          "the migration was made in another process; prepare "
                          "one after the fork"));
    etc_error *error = nullptr;
    {
      nb::gil_scoped_release free;
      if (isInterruptible)
        error = callInterruptibly(function, open);
      else
        error = function(open);
    }
    std::exception_ptr mine = std::exchange(raised, nullptr);
    if (std::exception_ptr first = std::exchange(interrupt, nullptr))
      mine = first;
    if (mine) {
      if (error)
        etc_error_free(error);
      std::rethrow_exception(mine);
    }
    check(error);
  }

  /// Runs a callback. After an exception, which the first one is, it returns
  /// `otherwise`.
  template <typename Result, typename Body>
  Result guarded(Result otherwise, Body body) {
    nb::gil_scoped_acquire hold;
    const Calling inside(this);
    try {
      return body();
    } catch (...) {
      if (!raised)
        raised = std::current_exception();
      return otherwise;
    }
  }

  /// Tells the peers what a callback raised.
  void explain(const char *callback) {
    nb::gil_scoped_acquire hold;
    std::string cause = std::string(callback) + " raised an exception";
    try {
      std::rethrow_exception(raised);
    } catch (const nb::python_error &error) {
      cause = std::string(callback) + " raised " +
              std::string(nb::str(error.type().attr("__name__")).c_str()) +
              ": " + nb::str(error.value()).c_str();
    } catch (const std::exception &error) {
      cause = std::string(callback) + " raised " + error.what();
    }
    abort(cause);
  }

  static MigrationHandle &self(void *context) {
    return *static_cast<MigrationHandle *>(context);
  }
  static etc_error *failure() {
    return etc_error_new(ETC_ERROR_USAGE, "a callback raised an exception");
  }

  static etc_error *onSet(void *context, const char *key, const void *data,
                          size_t size) {
    MigrationHandle &me = self(context);
    bool done = me.guarded(false, [&] {
      me.setValue(key, nb::bytes(static_cast<const char *>(data), size));
      return true;
    });
    return done ? nullptr : failure();
  }

  static etc_error *onGet(void *context, const char *key, double timeout,
                          etc_value *value) {
    MigrationHandle &me = self(context);
    etc_error *error = me.guarded<etc_error *>(nullptr, [&]() -> etc_error * {
      nb::object got = me.getValue(key, timeout);
      if (got.is_none()) {
        const std::string late = "no value of " + std::string(key) + " in time";
        return etc_error_new(ETC_ERROR_PEER, late.c_str());
      }
      auto bytes = nb::cast<nb::bytes>(got);
      etc_value_assign(value, bytes.c_str(), bytes.size());
      return nullptr;
    });
    return me.raised ? failure() : error;
  }

  static void *onAllocate(void *context, const etc_tensor_info *tensor,
                          uint64_t bytes) {
    MigrationHandle &me = self(context);
    const auto made = me.guarded<std::optional<void *>>(std::nullopt, [&] {
      nb::object data = tensor ? me.allocate(tensor->type, tensor->name, bytes)
                               : me.allocate(nb::none(), nb::none(), bytes);
      return reinterpret_cast<void *>(nb::cast<uintptr_t>(data));
    });
    if (!made)
      me.explain("allocate");
    return made.value_or(nullptr);
  }

  static void onRelease(void *context, etc_side side,
                        const etc_tensor_info *tensor, void *data, uint64_t) {
    MigrationHandle &me = self(context);
    if (!me.migration)
      return; // closing
    (void)me.guarded(0, [&] {
      const auto address = reinterpret_cast<uintptr_t>(data);
      if (tensor)
        me.release(tensor->type, tensor->name, address, side == ETC_CURR);
      else
        me.release(nb::none(), nb::none(), address, false);
      return 0;
    });
  }

  static void onProgress(void *context, uint32_t round, uint32_t rounds,
                         uint64_t received) {
    MigrationHandle &me = self(context);
    (void)me.guarded(0, [&] {
      if (!me.progress.is_none())
        me.progress(round, rounds, received);
      return 0;
    });
  }

  nb::object setValue, getValue, allocate, release, progress;
  std::exception_ptr raised, interrupt;
  etc_migration *migration = nullptr;
  const pid_t owner = getpid();
  static inline thread_local const MigrationHandle *calling = nullptr;
};

int traverse(PyObject *object, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(object));
  if (!nb::inst_ready(object))
    return 0;
  return nb::inst_ptr<MigrationHandle>(object)->visit(visit, arg);
}

int clear(PyObject *object) {
  nb::inst_ptr<MigrationHandle>(object)->clear();
  return 0;
}

PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void *>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void *>(clear)},
                       {0, nullptr}};

} // namespace

const etc_migration *etc::python::migrationOf(nb::handle migration) {
  return nb::cast<const MigrationHandle &>(migration).get();
}

void etc::python::defineMigration(nb::module_ &m) {
  nb::class_<MigrationHandle>(m, "Migration", nb::type_slots(slots))
      .def(nb::init<const PlanHandle &, uint32_t, bool, std::optional<int>,
                    bool, double, double, double, const std::string &,
                    const std::string &, uint32_t, double, nb::object,
                    nb::object, nb::object, nb::object, nb::object>(),
           nb::arg("plan"), nb::arg("participant"), nb::arg("safe"),
           nb::arg("gpu").none(), nb::arg("encrypt"), nb::arg("timeout"),
           nb::arg("meeting"), nb::arg("silence"), nb::arg("host"),
           nb::arg("tag"), nb::arg("generation"), nb::arg("tail_rate"),
           nb::arg("set"), nb::arg("get"), nb::arg("allocate"),
           nb::arg("release"), nb::arg("progress").none())
      .def("add", &MigrationHandle::add)
      .def("prepare", &MigrationHandle::prepare)
      .def("refuse", &MigrationHandle::refuse)
      .def("check", &MigrationHandle::checkOthers)
      .def("run", &MigrationHandle::run)
      .def("start", &MigrationHandle::start)
      .def("wait", &MigrationHandle::wait)
      .def("finish", &MigrationHandle::finish)
      .def("abort", &MigrationHandle::abort)
      .def("close", &MigrationHandle::close)
      .def("is_calling", &MigrationHandle::isCalling)
      .def("outcome", &MigrationHandle::outcome)
      .def("inventory", &MigrationHandle::inventory)
      .def("current", &MigrationHandle::current)
      .def("report", &MigrationHandle::report);
}
