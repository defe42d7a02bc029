//===- Report.cpp - A plan as a page --------------------------------------===//

#include "Report.h"

#include "Rates.h"
#include "report/Report.h"

#include "llvm/Support/Format.h"

using namespace etc;

static runtime::Cluster clusterOf(const plan::PlanIndex &index,
                                  const std::optional<std::string> &text) {
  runtime::Cluster cluster = runtime::defaultCluster(index);
  if (!text)
    return cluster;
  const Rates rates = *Rates::parse(text);
  cluster.name.clear();
  llvm::raw_string_ostream(cluster.name)
      << llvm::format("devices of %g GB/s between nodes and %g GB/s inside one",
                      rates.betweenNodes, rates.insideNode);
  cluster.portRate = rates.betweenNodes * 1e9;
  cluster.linkRate = rates.insideNode * 1e9;
  return cluster;
}

void etc::writeReport(const plan::fb::Plan &plan,
                      const std::optional<std::string> &rates,
                      const std::string &notes, llvm::raw_ostream &os) {
  plan::PlanIndex index(plan);
  os << runtime::reportPage({index, clusterOf(index, rates), "etc-opt", notes});
}
