//===- FrontierText.cpp - The frontier as a table, and as JSON ------------===//

#include "JsonText.h"
#include "etc/Export/PlanText.h"
#include "etc/Planner/Frontier.h"

#include "llvm/Support/Format.h"

using namespace etc;
using llvm::raw_ostream;
using llvm::json::OStream;

static void writeRow(const FrontierRow &row, raw_ostream &os) {
  os << (row.isBest ? "* " : "  ")
     << llvm::format("%-5s %-10s", stringifyPlace(row.place).data(),
                     row.objective.c_str());
  if (!row.refusal.empty()) {
    os << " no plan: " << row.refusal << "\n";
    return;
  }
  os << llvm::format(
      " %12s %14s %12d %11d %12d %11.6f\n", formatBytes(row.moved).c_str(),
      formatBytes(row.internode).c_str(), static_cast<int>(row.splitGroups),
      static_cast<int>(row.nodesUsed), static_cast<int>(row.nodesFreed),
      row.microseconds / 1e6);
}

void etc::writeFrontier(const Frontier &frontier, raw_ostream &os) {
  os << frontier.model << ": " << frontier.prev << " -> " << frontier.curr
     << ", " << frontier.prevWorld << " -> " << frontier.currWorld
     << " devices, " << frontier.groups << " tensor-parallel groups, "
     << frontier.nodes << " nodes\n"
     << "  place objective         moves  between nodes split groups  nodes "
        "used  nodes freed   seconds\n";
  for (const FrontierRow &row : frontier.rows)
    writeRow(row, os);
  os << llvm::format("  %-16s %12s %14s\n", "bound",
                     formatBytes(frontier.boundMoved).c_str(),
                     formatBytes(frontier.boundInternode).c_str())
     << "* no other row is as good in all of seconds, bytes, bytes between "
        "nodes, split groups and nodes used, and better in one\n";
}

static void writeRowJson(OStream &json, const FrontierRow &row) {
  json.object([&] {
    json.attribute("place", stringifyPlace(row.place));
    json.attribute("objective", row.objective);
    if (!row.refusal.empty()) {
      json.attribute("no_plan", row.refusal);
      return;
    }
    json.attribute("best", row.isBest);
    json.attribute("moved_bytes", row.moved);
    json.attribute("internode_bytes", row.internode);
    json.attribute("split_groups", row.splitGroups);
    json.attribute("nodes_used", row.nodesUsed);
    json.attribute("nodes_freed", row.nodesFreed);
    writeSeconds(json, row.microseconds);
  });
}

void etc::writeFrontierJson(const Frontier &frontier, raw_ostream &os) {
  OStream json(os, /*IndentSize=*/1);
  json.object([&] {
    json.attribute("format", "etc-frontier");
    json.attribute("version", 1);
    json.attribute("model", frontier.model);
    json.attribute("prev", frontier.prev);
    json.attribute("curr", frontier.curr);
    json.attribute("nodes", frontier.nodes);
    json.attribute("groups", frontier.groups);
    writeRates(json, frontier.rates);
    writeBound(json, frontier.boundMoved, frontier.boundInternode);
    json.attributeArray("rows", [&] {
      for (const FrontierRow &row : frontier.rows)
        writeRowJson(json, row);
    });
  });
  os << "\n";
}
