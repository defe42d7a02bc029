//===- Rates.cpp - --rates ------------------------------------------------===//

#include "Rates.h"

#include "Outputs.h"

using namespace etc;

std::optional<Rates> etc::givenRates(const PlannerOptions &options) {
  return options.rates ? Rates::parse(options.rates) : std::nullopt;
}

int etc::failRates(const std::string &text) {
  return fail("--rates: expected GB/s between nodes and inside one, like "
              "50,450; got \"" +
                  text + "\"",
              request::ExitCode::Malformed);
}
