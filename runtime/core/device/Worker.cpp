#include "core/device/Worker.h"

using namespace etc::runtime;

Status Worker::rehearse(const Rehearsal &) { return Status::success(); }

Result<Job> Worker::begin(Lane, std::span<const Move> moves, size_t sums,
                          DevicePoint) {
  Job job;
  job.sums.resize(sums);
  Status status = run(moves, job.sums);
  return status.ok() ? Result<Job>(std::move(job)) : Result<Job>(status);
}

Status Worker::end(const Job &job, std::span<uint64_t> sums) {
  for (size_t i = 0; i != job.sums.size(); ++i)
    sums[i] += job.sums[i];
  return Status::success();
}
