#include "CheckOptions.h"

using namespace etc::run;
using etc::plan::ErrorKind;
using etc::plan::Status;
using etc::plan::text;

template <typename... Parts> static Status usage(const Parts &...parts) {
  return Status(ErrorKind::Usage, text(parts...));
}

/// Options about files of state.
static Status checkFiles(const Options &options) {
  const bool hasIn = !options.in.empty(), hasOut = !options.out.empty();
  if (!hasIn && !hasOut)
    return Status::success();
  if (options.dryRun)
    return usage("--dry-run reads and writes no state; leave out --in and "
                 "--out");
  if (options.usesGpu())
    return usage("--in and --out are for state in host memory; use "
                 "--transport=tcp or local with --memory=host");
  if (hasIn && !options.journal.empty())
    return usage(
        "--journal protects state that has no other copy; the files of "
        "--in survive a failure, so remove --journal");
  if (hasIn && !options.from.empty())
    return usage("--in and --from both give the previous state; remove one of "
                 "them");
  if (options.isConversion() &&
      (options.ceiling || !options.trace.empty() || !options.report.empty()))
    return usage(
        options.ceiling         ? "--ceiling"
        : options.trace.empty() ? "--report"
                                : "--trace",
        " applies to rounds, and --in with --out has none: it converts "
        "files; add --launch=N --transport=tcp to execute the plan");
  return Status::success();
}

Status etc::run::checkTogether(const Options &options) {
  if (options.help || options.version)
    return Status::success();
  if (options.verb != Verb::Run)
    return Status::success();
  if (options.plan.empty())
    return usage("no plan given; try: etc-run m.etcplan (etc-opt --emit=plan "
                 "writes one, etc-run --help says more)");
  if (options.launch > 0 && options.transport == TransportKind::Local)
    return usage("--launch needs --transport=tcp or nccl; without both, every "
                 "device is a thread of this process");
  if (options.memory == MemoryKind::Cuda &&
      options.transport == TransportKind::Tcp)
    return usage("--transport=tcp moves host memory; use --transport=nccl for "
                 "GPUs, or --transport=local for all devices in one process");
  if (options.ceiling && options.memory == MemoryKind::Cuda &&
      options.transport == TransportKind::Local)
    return usage("--ceiling measures bare messages, and devices that share a "
                 "process and its GPUs send none; remove it, or use "
                 "--transport=nccl or --memory=host");
  if (options.usesGpu() && !(options.journal.empty() && options.from.empty()))
    return usage(options.journal.empty() ? "--from" : "--journal",
                 " is for state in host memory, which can outlive a process; "
                 "use --transport=tcp or local with --memory=host");
  if (options.ceiling && options.dryRun)
    return usage("--ceiling measures bare messages, and --dry-run sends none; "
                 "remove one of them");
  if (options.encrypt && options.transport != TransportKind::Tcp)
    return usage("--encrypt is for --transport=tcp");
  if (!options.cluster.empty() && !options.dryRun && options.report.empty())
    return usage("--cluster is where --dry-run computes the time; add "
                 "--dry-run, or --report=FILE");
  if (!options.state.empty() && options.journal.empty())
    return usage("--state needs --journal=DIR, which says what is in it");
  if (!options.failed.empty() && options.from.empty())
    return usage(
        "--failed is for etc-run status and inventory, and for --from");
  if (!options.restoreFrom.empty() && options.from.empty())
    return usage("--restore-from is for etc-run inventory, and for --from");
  return checkFiles(options);
}
