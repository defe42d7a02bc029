// The command line of etc-run.

#ifndef ETC_RUN_OPTIONS_H
#define ETC_RUN_OPTIONS_H

#include "core/engine/RoundExecutor.h"
#include "core/journal/Journal.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace etc::run {

enum class TransportKind { Local, Tcp, Nccl };
enum class MemoryKind { Host, Cuda };
enum class ProgressMode { Auto, On, Off };

/// What to do: execute a plan, or go on with what a directory says about an
/// earlier attempt.
enum class Verb { Run, Resume, RollBack, Status, Inventory };

struct Options {
  Verb verb = Verb::Run;
  std::string plan;
  std::string journal; // the directory of --journal, or the verb's
  std::string state;   // empty: in the journal's directory, where there is one
  std::string from;
  std::string restoreFrom; // a checkpoint
  std::string in, out;     // directories of safetensors files
  runtime::Mode mode = runtime::Mode::Eager;
  std::vector<uint32_t> failed; // devices
  std::string control;          // HOST:PORT
  std::chrono::milliseconds silence{10'000};
  uint64_t floorRate = 100'000'000; // bytes a second
  TransportKind transport = TransportKind::Local;
  MemoryKind memory = MemoryKind::Host;
  uint32_t launch = 0; // processes to start; 0 starts none
  std::string rendezvous;
  std::string host;
  bool encrypt = false;
  std::chrono::milliseconds timeout{60'000};
  runtime::Verify verify = runtime::Verify::Full;
  ProgressMode progress = ProgressMode::Auto;
  bool allRows = false;
  std::string trace;  // a file to write
  std::string report; // another one
  bool dryRun = false;
  std::string cluster; // a description, for predicted times
  bool ceiling = false;
  bool json = false;
  bool help = false;
  bool version = false;

  /// From file to file, without devices.
  bool isConversion() const {
    return transport == TransportKind::Local && !in.empty() && !out.empty();
  }
  bool usesGpu() const {
    return memory == MemoryKind::Cuda || transport == TransportKind::Nccl;
  }
};

/// "local", "tcp" or "nccl".
const char *transportName(TransportKind transport);

/// Reads the arguments; those that an earlier attempt left in a directory come
/// before them. An error is of kind Usage.
plan::Result<Options> parseOptions(int argc, char **argv);

/// The options that a later attempt needs, one argument a line.
std::string lastingOptions(const Options &options);

/// What --help prints.
std::string helpText();

} // namespace etc::run

#endif // ETC_RUN_OPTIONS_H
