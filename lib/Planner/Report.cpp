//===- Report.cpp - A plan as a page --------------------------------------===//

#include "etc/Planner/Report.h"

#include "view/report/Report.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace etc;

static runtime::Cluster clusterOf(const plan::PlanIndex &index,
                                  const std::optional<Rates> &rates) {
  runtime::Cluster cluster = runtime::defaultCluster(index);
  if (!rates)
    return cluster;
  cluster.name.clear();
  llvm::raw_string_ostream(cluster.name)
      << llvm::format("devices of %g GB/s between nodes and %g GB/s inside one",
                      rates->betweenNodes, rates->insideNode);
  cluster.portRate = rates->betweenNodes * 1e9;
  cluster.linkRate = rates->insideNode * 1e9;
  return cluster;
}

std::string etc::reportPage(const plan::fb::Plan &plan,
                            const std::optional<Rates> &rates,
                            const std::string &notes,
                            const std::optional<Price> &price) {
  plan::PlanIndex index(plan);
  runtime::ReportInput input{index, clusterOf(index, rates), "etc-opt", notes};
  input.price.clear();
  llvm::raw_string_ostream os(input.price);
  writePriceJson(price, os);
  return runtime::reportPage(input);
}
