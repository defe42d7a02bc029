// A transport in front of another one.

#ifndef ETC_RUNTIME_CORE_TRANSPORT_FORWARDINGTRANSPORT_H
#define ETC_RUNTIME_CORE_TRANSPORT_FORWARDINGTRANSPORT_H

#include "core/transport/Transport.h"

namespace etc::runtime {

/// Hands everything on. Whoever wants to see or to change something overrides
/// that. The other transport is not owned.
class ForwardingTransport : public Transport {
public:
  explicit ForwardingTransport(Transport &inner) : inner(inner) {}

  bool sharesMemory() const override { return inner.sharesMemory(); }
  uint64_t pieceBytes() const override { return inner.pieceBytes(); }
  bool receivesInCache() const override { return inner.receivesInCache(); }
  unsigned groups() const override { return inner.groups(); }
  Status beginAfter(DevicePoint point) override {
    return inner.beginAfter(point);
  }
  DevicePoint end() const override { return inner.end(); }
  Status prepare(const Preparation &plan, const Deadline &deadline) override {
    return inner.prepare(plan, deadline);
  }
  bool stop() override { return inner.stop(); }
  bool hasStopped() const override { return inner.hasStopped(); }
  void finish(const Deadline &deadline) override { inner.finish(deadline); }
  void setBackground(bool isBackground, uint64_t bytesPerSecond) override {
    inner.setBackground(isBackground, bytesPerSecond);
  }
  uint64_t deviceBytes() const override { return inner.deviceBytes(); }
  Status post(std::span<const Outgoing> outgoing,
              std::span<Incoming> incoming) override {
    return inner.post(outgoing, incoming);
  }
  Status wait(const Deadline &deadline) override {
    return inner.wait(deadline);
  }
  std::optional<uint32_t> culprit() const override { return inner.culprit(); }
  void abort() override { inner.abort(); }

protected:
  Transport &inner;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_TRANSPORT_FORWARDINGTRANSPORT_H
