// Which device, and which transport, a process of etc-run gets.

#ifndef ETC_RUN_DEVICES_H
#define ETC_RUN_DEVICES_H

#include "Options.h"

#include "core/engine/Keeping.h"
#include "core/plan/PlanIndex.h"
#include "core/transport/Transport.h"
#include "job/Client.h"

#include <atomic>
#include <memory>

namespace etc::run {

/// Whether this machine has what the options ask for: NCCL, a GPU. The
/// error says in one line what is missing.
plan::Status checkDevices(const Options &options);

/// Where this rank's state lives. Processes on one host take its GPUs in turn.
plan::Result<std::unique_ptr<runtime::Worker>>
makeWorker(const plan::PlanIndex &index, const Options &options,
           const runtime::Keeping &keeping, uint32_t rank);

/// Connects a rank that is a process to all others, which it finds through the
/// hub. `isStopped` ends that.
plan::Result<runtime::Connections>
connect(const plan::PlanIndex &index, const Options &options, uint32_t rank,
        runtime::Client &client, const std::atomic<bool> &isStopped);

} // namespace etc::run

#endif // ETC_RUN_DEVICES_H
