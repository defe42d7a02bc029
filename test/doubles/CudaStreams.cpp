// The driver's double: streams, events, copies and launches.

#include "CallLog.h"
#include "CudaTypes.h"
#include "GpuDouble.h"

#include "core/pack/MoveUnits.h"

#include <cstring>
#include <utility>

extern "C" unsigned etcMostThreads();

using namespace etc::test;

namespace {

std::atomic<unsigned> launches{0};

/// What accesses memory that is not there breaks its device for good.
Step breakDevice(int device, Result error, const std::string &what) {
  fault(what);
  Schedule::get().breakDevice(device, error);
  return Step::Done;
}

class CopyWork final : public Work {
public:
  CopyWork(int device, Address to, Address from, size_t bytes)
      : device(device), to(to), from(from), bytes(bytes) {}

  Step step(Random &) override {
    // Devices copy from each other; what else they do, they do at home.
    if (Schedule::get().stateOf(device) == Success &&
        !copyMemory(to, from, bytes, -1))
      return breakDevice(device, IllegalAddress,
                         "a copy of memory that is not there");
    return Step::Done;
  }
  bool touches(const Range &range) const override {
    return range.meets({to, bytes}) || range.meets({from, bytes});
  }

private:
  const int device;
  const Address to, from;
  const size_t bytes;
};

class FillWork final : public Work {
public:
  FillWork(int device, Range range, unsigned char value)
      : device(device), range(range), value(value) {}

  Step step(Random &) override {
    for (size_t at = 0; at < range.bytes;) {
      size_t count = 0;
      std::byte *place = DeviceMemory::get().translate(
          range.data + at, range.bytes - at, device, count);
      if (!place)
        return breakDevice(device, IllegalAddress,
                           "memory is filled that is not there");
      std::memset(place, value, count);
      at += count;
    }
    return Step::Done;
  }
  bool touches(const Range &other) const override { return other.meets(range); }

private:
  const int device;
  const Range range;
  const unsigned char value;
};

class KernelWork final : public Work {
public:
  explicit KernelWork(const Launch &launch) : launch(launch) {}

  Step step(Random &random) override {
    if (Schedule::get().stateOf(launch.device) == Success)
      if (Result error = runKernel(launch, random()); error != Success)
        Schedule::get().breakDevice(launch.device, error);
    return Step::Done;
  }
  bool touches(const Range &range) const override {
    return range.holds({launch.moves, 1}) ||
           range.holds({launch.firstTile, 1}) ||
           range.holds({launch.sums, 1}) ||
           range.holds({reinterpret_cast<Address>(launch.module), 1});
  }

private:
  const Launch launch;
};

/// The marker of an event, and a stream's wait for one.
class MarkWork final : public Work {
public:
  Step step(Random &) override { return Step::Done; }
};

struct Event {
  int device;
  std::shared_ptr<Work> mark;    // of the last record
  StreamHandle stream = nullptr; // likewise
};

int copy(Address to, Address from, size_t bytes, StreamHandle handle,
         const char *call) {
  StreamHandle stream = findStream(handle, call);
  if (!stream)
    return currentDevice() < 0 ? InvalidContext : InvalidHandle;
  if (Result state = Schedule::get().stateOf(stream->device); state != Success)
    return state;
  logCall("copy", call);
  if (bytes > 0)
    Schedule::get().enqueue(
        stream, std::make_shared<CopyWork>(stream->device, to, from, bytes));
  return Success;
}

Address addressOf(const void *data) { return reinterpret_cast<Address>(data); }

/// A kernel is loaded when it is launched first, which may wait for all that
/// its context does (CUDA C++ Programming Guide 13.0, "Lazy Loading").
void loadFirst(Module &module) {
  if (std::exchange(module.hasLaunched, true))
    return;
  logCall("wait-device", "the first launch of a kernel");
  if (Schedule::get().hasTransfers(module.device))
    fault("a kernel is launched first while a transfer of its device is under "
          "way");
}

} // namespace

StreamHandle etc::test::findStream(StreamHandle handle, const char *call) {
  if (checkContext(call) == InvalidContext || currentDevice() < 0)
    return nullptr;
  StreamHandle stream = Schedule::get().find(handle, currentDevice());
  if (!stream)
    fault(std::string(call) + " on a stream of another context, or of none");
  return stream;
}

extern "C" {

unsigned etcDoubleLaunches() { return launches; }

int cuStreamCreateWithPriority(StreamHandle *stream, unsigned flags, int) {
  if (int code = checkContext("cuStreamCreate"); code != Success)
    return code;
  constexpr unsigned nonBlocking = 1;
  logCall("create", "cuStreamCreate");
  *stream = Schedule::get().create(currentDevice(), flags != nonBlocking);
  return Success;
}
int cuStreamCreate(StreamHandle *stream, unsigned flags) {
  return cuStreamCreateWithPriority(stream, flags, 0);
}
int cuStreamDestroy_v2(StreamHandle stream) {
  logCall("release", "cuStreamDestroy");
  if (Schedule::get().destroy(stream))
    return Success;
  fault("a stream is destroyed twice");
  return InvalidHandle;
}
int cuStreamQuery(StreamHandle handle) {
  StreamHandle stream = findStream(handle, "cuStreamQuery");
  if (!stream)
    return InvalidHandle;
  const bool isIdle = Schedule::get().isIdle(stream);
  if (Result state = Schedule::get().stateOf(stream->device); state != Success)
    return state;
  return isIdle ? Success : NotReady;
}
int cuStreamSynchronize(StreamHandle handle) {
  StreamHandle stream = findStream(handle, "cuStreamSynchronize");
  if (!stream)
    return currentDevice() < 0 ? InvalidContext : InvalidHandle;
  logCall("wait-stream", "cuStreamSynchronize");
  Schedule::get().wait(stream);
  return Schedule::get().stateOf(stream->device);
}
int cuStreamWaitEvent(StreamHandle handle, Event *event, unsigned) {
  StreamHandle stream = findStream(handle, "cuStreamWaitEvent");
  if (!stream || !event)
    return InvalidHandle;
  auto mark = std::make_shared<MarkWork>();
  if (event->mark) // else it counts as complete (cuStreamWaitEvent)
    mark->after.push_back(event->mark);
  Schedule::get().enqueue(stream, mark);
  return Success;
}

int cuEventCreate(Event **event, unsigned) {
  if (int code = checkContext("cuEventCreate"); code != Success)
    return code;
  logCall("create", "cuEventCreate");
  *event = new Event{currentDevice(), nullptr};
  return Success;
}
int cuEventDestroy_v2(Event *event) {
  logCall("release", "cuEventDestroy");
  delete event;
  return Success;
}
int cuEventRecord(Event *event, StreamHandle handle) {
  StreamHandle stream = findStream(handle, "cuEventRecord");
  if (!stream)
    return InvalidHandle;
  if (event->device != stream->device) {
    fault("an event is recorded on a stream of another context");
    return InvalidHandle;
  }
  event->mark = std::make_shared<MarkWork>();
  event->stream = stream;
  Schedule::get().enqueue(stream, event->mark);
  return Success;
}
int cuEventQuery(Event *event) {
  if (Schedule::get().isDone(event->mark))
    return Schedule::get().stateOf(event->device);
  if (auto *look = Schedule::get().onLook.load())
    look(event->stream);
  return NotReady;
}
int cuEventSynchronize(Event *event) {
  logCall("wait-event", "cuEventSynchronize");
  Schedule::get().wait(event->mark);
  return Schedule::get().stateOf(event->device);
}

int cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t bytes,
                         StreamHandle stream) {
  return copy(to, addressOf(from), bytes, stream, "cuMemcpyHtoDAsync");
}
int cuMemcpyDtoHAsync_v2(void *to, Address from, size_t bytes,
                         StreamHandle stream) {
  return copy(addressOf(to), from, bytes, stream, "cuMemcpyDtoHAsync");
}
int cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes,
                         StreamHandle stream) {
  return copy(to, from, bytes, stream, "cuMemcpyDtoDAsync");
}
int cuMemsetD8Async(Address to, unsigned char value, size_t bytes,
                    StreamHandle handle) {
  StreamHandle stream = findStream(handle, "cuMemsetD8Async");
  if (!stream)
    return currentDevice() < 0 ? InvalidContext : InvalidHandle;
  Schedule::get().enqueue(stream, std::make_shared<FillWork>(
                                      stream->device, Range{to, bytes}, value));
  return Success;
}

int cuLaunchKernel(void *function, unsigned blocks, unsigned, unsigned,
                   unsigned threads, unsigned, unsigned, unsigned,
                   StreamHandle handle, void **arguments, void **) {
  StreamHandle stream = findStream(handle, "cuLaunchKernel");
  if (!stream)
    return currentDevice() < 0 ? InvalidContext : InvalidHandle;
  if (Result state = Schedule::get().stateOf(stream->device); state != Success)
    return state;
  Module *module = findModule(function, stream->device);
  if (!module) {
    fault("a launch of a function of another context, or of none");
    return InvalidHandle;
  }
  // CUDA C++ Programming Guide 13.0, Launch Bounds: more threads a block fail.
  if (blocks == 0 || threads != etc::runtime::kBlockThreads ||
      threads > etcMostThreads()) {
    fault("a launch of another shape than the kernel's");
    return InvalidValue;
  }
  loadFirst(*module);
  logCall("launch", "cuLaunchKernel");
  ++launches;
  // Arguments are copied at the call, what they point to is not.
  Launch launch{.device = stream->device,
                .module = module,
                .moves = *static_cast<Address *>(arguments[0]),
                .firstTile = *static_cast<Address *>(arguments[1]),
                .sums = *static_cast<Address *>(arguments[3]),
                .count = *static_cast<uint32_t *>(arguments[2]),
                .blocks = blocks};
  Schedule::get().enqueue(stream, std::make_shared<KernelWork>(launch));
  return Success;
}

} // extern "C"
