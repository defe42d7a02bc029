// What --help prints.

#include "OptionTable.h"

std::string etc::run::helpText() {
  std::string out =
      R"(usage: etc-run [options] PLAN
       etc-run resume|rollback|status|inventory DIR [options]

Executes a migration plan that etc-opt wrote: moves the state of a training
job from one parallel configuration to another, device to device, in host or
GPU memory. The previous state is filled by a formula, so every device checks
its own result, bit for bit, without asking another.

  etc-opt --model=gpt2 --prev=PP2TP2 --curr=PP4TP2 --cluster=2x4 --emit=plan -o m.etcplan
  etc-run m.etcplan                               all devices as threads, here
  etc-run --launch=8 --transport=tcp m.etcplan   as 8 local processes
  etc-run --memory=cuda m.etcplan                 all devices as threads, on GPUs
  etc-run --report=report.html m.etcplan          with a page to look at
  etc-run --in=old --out=new m.etcplan            a checkpoint, file to file
  srun -n 8 etc-run --transport=nccl --rendezvous=/nfs/empty m.etcplan

With --journal=DIR, a migration that failed is not lost:

  etc-run status DIR        what is left, whether it is right, what can be done
  etc-run resume DIR        goes on to the new configuration
  etc-run rollback DIR      goes back to the old one
  etc-run inventory DIR     writes who holds what, for etc-opt --prev=FILE.json

options:
)";
  constexpr size_t column = 27;
  for (const Option &option : allOptions()) {
    std::string left = "  " + std::string(option.name);
    if (!option.values.empty())
      left += "=" + std::string(option.values);
    left.resize(std::max(left.size() + 1, column), ' ');
    out += left;
    for (char c : option.meaning) {
      out += c;
      if (c == '\n')
        out += std::string(column, ' ');
    }
    out += '\n';
  }
  out += R"(
The table gives, by device and in all, bytes sent and received, the time of
the rounds, GB/s (the busier direction over the time; in all: bytes moved
over the time), and the peak of live bytes over max(previous, current), as
measured and as the plan proves it.

exit status: 0 migrated and verified; 1 verification failed; 2 usage, a
malformed plan, the wrong number of processes, too little memory or a
missing library; 3 another device failed or timed out, or this one could
not go on; --journal has what is left; 4 migrated, but the figures, the
report, the trace or the files of --out could not be written
)";
  return out;
}
