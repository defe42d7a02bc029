//===- Options.h - The command line of etc-opt ----------------------------===//

#ifndef ETC_TOOLS_ETCOPT_OPTIONS_H
#define ETC_TOOLS_ETCOPT_OPTIONS_H

#include "dialect/Etc.h"
#include "etc/Request/Devices.h"
#include "etc/Request/Request.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace etc {

enum class Emit { Mlir, Plan, Json, Summary, Ranks, Report };

/// What the user asked for.
struct PlannerOptions {
  std::string input; ///< empty: the request is in the options alone
  /// Requests that follow the one of `input`.
  std::vector<std::string> following;
  std::string output = "-";
  Emit emit = Emit::Mlir;
  bool quiet = false;
  bool trustBytecode = false;
  bool twoStage = false;
  bool coalesce = true;
  /// See PlanOptions.
  std::optional<int64_t> lanesFrom;
  /// A rank, or "all".
  std::optional<std::string> slice;
  /// Where the first of several requests has its journal.
  std::optional<std::string> journal;
  bool frontier = false;
  std::optional<int64_t> whichNodes;
  /// "50,450": see Rates.h.
  std::optional<std::string> rates;
  /// Of the cluster once checkOutput has passed; some perhaps several times.
  std::optional<std::vector<request::DeviceRange>> devices;
  request::Overrides overrides;
  /// Print what the lines of a summary mean.
  bool explain = false;
  /// Print the table of the request's fields.
  bool requestFields = false;

  /// Whether this is a request to plan, or a job for the ordinary opt driver.
  bool isRequest() const;
  /// Whether an option says what to plan.
  bool describesRequest() const;
  /// Those of which JSON is asked for, where these are not all.
  std::optional<std::vector<int64_t>> listDevices() const;
  /// Whether the input is IR.
  bool isModule() const;
  /// Whether the input is a plan file.
  bool isPlan() const;
};

/// Defines the options. Call once, before parsing.
void registerPlannerOptions();

/// Hides MLIR's own options from `--help`, which `--help-hidden` shows. Call
/// after they are registered.
void hideForeignOptions();

/// An option of one value that was given more than once.
std::optional<llvm::StringRef> findRepeatedOption();

/// The options as parsed.
PlannerOptions readPlannerOptions();

/// What `--help` says before the list of options.
extern const char *const helpOverview;

} // namespace etc

#endif // ETC_TOOLS_ETCOPT_OPTIONS_H
