// The figures of a participant's migration.

#include "capi/Migration.h"

using namespace etc::runtime;

static etc_report copyReport(const DeviceReport &from) {
  etc_report to{};
  to.device = from.device;
  to.sent_bytes = from.sentBytes;
  to.received_bytes = from.receivedBytes;
  to.internode_bytes = from.internodeBytes;
  to.prepare_seconds = from.prepareSeconds;
  to.seconds = from.seconds;
  to.pack_seconds = from.times.pack;
  to.copy_seconds = from.times.copy;
  to.wait_seconds = from.times.wait;
  to.unpack_seconds = from.times.unpack;
  to.acknowledge_seconds = from.times.acknowledge;
  to.peak_bytes = from.peakBytes;
  to.proved_bytes = from.provedBytes;
  to.state_bytes = from.stateBytes;
  to.staging_bytes = from.slabBytes;
  to.pause_seconds = from.pauseSeconds;
  return to;
}

etc_report Migration::report() const {
  if (!run_)
    return {};
  std::lock_guard lock(mutex);
  etc_report report =
      copyReport(stage == Stage::Tail ? ofPause : run_->report());
  report.received_bytes = progress.receivedBytes;
  report.finished_rounds = run_->arrivals().endedRounds();
  report.rounds =
      index.program(index.participant(options.bootstrap.rank).program)
          .rounds()
          ->size();
  return report;
}
