// The command line of etc-run.

#ifndef ETC_RUN_OPTIONS_H
#define ETC_RUN_OPTIONS_H

#include "plan/Status.h"

#include <chrono>
#include <cstdint>
#include <string>

namespace etc::run {

enum class TransportKind { Local, Gloo, Nccl };
enum class MemoryKind { Host, Cuda };
enum class ProgressMode { Auto, On, Off };

struct Options {
  std::string plan;
  TransportKind transport = TransportKind::Local;
  MemoryKind memory = MemoryKind::Host;
  uint32_t launch = 0; // processes to start; 0 starts none
  std::string rendezvous;
  std::string host;
  std::chrono::milliseconds timeout{300'000};
  bool verify = true;
  ProgressMode progress = ProgressMode::Auto;
  bool allRows = false;
  std::string trace; // a file to write
  bool dryRun = false;
  std::string cluster; // a description, for --dry-run
  bool ceiling = false;
  bool json = false;
  bool help = false;
  bool version = false;

  bool usesGpu() const {
    return memory == MemoryKind::Cuda || transport == TransportKind::Nccl;
  }
};

/// "local", "gloo" or "nccl".
const char *transportName(TransportKind transport);

/// Reads the arguments; an error is of kind Usage.
plan::Result<Options> parseOptions(int argc, char **argv);

/// What --help prints.
std::string helpText();

} // namespace etc::run

#endif // ETC_RUN_OPTIONS_H
