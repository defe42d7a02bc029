//===- JsonText.h - What answers in JSON have in common ---------*- C++ -*-===//

#ifndef ETC_LIB_PLANNER_JSONTEXT_H
#define ETC_LIB_PLANNER_JSONTEXT_H

#include "etc/Planner/Rates.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

namespace etc {

/// As requests name it.
inline const char *objectiveName(bool totalFirst) {
  return totalFirst ? "total" : "internode";
}

inline void writeSeconds(llvm::json::OStream &json, uint64_t microseconds) {
  json.attributeBegin("seconds");
  json.rawValue([&](llvm::raw_ostream &os) {
    os << llvm::format("%.6f", microseconds / 1e6);
  });
  json.attributeEnd();
}

inline void writeRates(llvm::json::OStream &json, const Rates &rates) {
  json.attributeObject("rates_gb_per_s", [&] {
    json.attribute("between_nodes", rates.betweenNodes);
    json.attribute("inside_node", rates.insideNode);
  });
}

inline void writeBound(llvm::json::OStream &json, uint64_t moved,
                       uint64_t internode) {
  json.attributeObject("bound", [&] {
    json.attribute("moved_bytes", static_cast<int64_t>(moved));
    json.attribute("internode_bytes", static_cast<int64_t>(internode));
  });
}

} // namespace etc

#endif // ETC_LIB_PLANNER_JSONTEXT_H
