//===- RunModule.cpp - The runtime for Python -----------------------------===//
//
// Plans and migrations of run.h, hardly dressed: the package's Python makes
// them what users see.
//
//===----------------------------------------------------------------------===//

#include "MigrationHandle.h"
#include "RecoveryHandle.h"
#include "StoreHandle.h"
#include "Support.h"
#include "TlsHandle.h"

#include <nanobind/stl/vector.h>

#include <vector>

using namespace etc::python;

namespace {

PlanPointer openPlan(const std::string &path) {
  etc_plan *plan = nullptr;
  check(etc_plan_open(path.c_str(), &plan));
  return PlanPointer(plan);
}

PlanPointer readPlan(nb::bytes bytes) {
  etc_plan *plan = nullptr;
  check(etc_plan_read(bytes.c_str(), bytes.size(), &plan));
  return PlanPointer(plan);
}

PlanHandle slicePlan(const PlanHandle &self, uint32_t participant) {
  etc_plan *slice = nullptr;
  check(etc_plan_slice(self.plan.get(), participant, &slice));
  return PlanHandle{PlanPointer(slice)};
}

nb::bytes planBytes(const PlanHandle &self) {
  size_t size = 0;
  const void *bytes = etc_plan_bytes(self.plan.get(), &size);
  return nb::bytes(static_cast<const char *>(bytes), size);
}

nb::dict planSummary(const PlanHandle &self) {
  etc_summary s{};
  s.struct_size = sizeof s;
  check(etc_plan_summary(self.plan.get(), &s));
  nb::dict summary, bound;
  summary["moved_bytes"] = s.moved_bytes;
  summary["kept_bytes"] = s.kept_bytes;
  summary["zeroed_bytes"] = s.zeroed_bytes;
  summary["derived_bytes"] = s.derived_bytes;
  summary["internode_bytes"] = s.internode_bytes;
  summary["relayed_bytes"] = s.relayed_bytes;
  summary["transit_bytes"] = s.transit_bytes;
  summary["deferred_rounds"] = s.deferred_rounds;
  summary["max_send_bytes"] = s.max_send_bytes;
  summary["max_recv_bytes"] = s.max_recv_bytes;
  summary["rounds"] = s.rounds;
  summary["peak_ratio"] = s.peak_ratio;
  summary["peak_ratio_safe"] = s.peak_ratio_safe;
  bound["moved_bytes"] = s.bound_moved_bytes;
  bound["internode_bytes"] = s.bound_internode_bytes;
  bound["bottleneck_bytes"] = s.bound_bottleneck_bytes;
  summary["bound"] = bound;
  summary["paper_policy"] = nb::none();
  if (s.has_paper_policy) {
    nb::dict paper;
    paper["moved_bytes"] = s.paper_moved_bytes;
    paper["internode_bytes"] = s.paper_internode_bytes;
    paper["max_recv_bytes"] = s.paper_max_recv_bytes;
    summary["paper_policy"] = paper;
  }
  summary["time"] = nb::none();
  if (s.has_time) {
    nb::dict time;
    time["bound_s"] = s.bound_seconds;
    time["port_s"] = s.port_seconds;
    time["predicted_s"] = s.predicted_seconds;
    time["witness"] = s.witness;
    time["roles_bound_s"] = s.roles_bound_seconds;
    time["roles_witness"] = s.roles_witness;
    time["cluster"] = s.cluster;
    time["assumed"] = s.is_cluster_assumed != 0;
    summary["time"] = time;
  }
  return summary;
}

nb::dict certificateOf(const etc_certificate &c) {
  nb::dict entry, covers;
  entry["quantity"] =
      c.quantity == ETC_MOVED_BYTES ? "moved_bytes" : "internode_bytes";
  entry["scope"] =
      c.scope == ETC_ALLOWED_ROLES ? "allowed_roles" : "given_roles";
  entry["bytes"] = c.counted == ETC_ALL_BYTES ? "all" : "urgent";
  covers["relays"] = c.covers_relays != 0;
  covers["twins"] = c.covers_twins != 0;
  covers["recomputation"] = c.covers_recomputation != 0;
  entry["covers"] = covers;
  entry["bound_bytes"] = c.bound_bytes;
  entry["row_duals"] = std::vector<uint64_t>(c.row_duals, c.row_duals + c.rows);
  entry["column_duals"] =
      std::vector<uint64_t>(c.column_duals, c.column_duals + c.columns);
  return entry;
}

nb::list planCertificates(const PlanHandle &self) {
  nb::list certificates;
  for (size_t i = 0; i != etc_plan_certificate_count(self.plan.get()); ++i) {
    etc_certificate c{};
    c.struct_size = sizeof c;
    check(etc_plan_certificate(self.plan.get(), i, &c));
    certificates.append(certificateOf(c));
  }
  return certificates;
}

std::vector<uint32_t> planNodes(const PlanHandle &self) {
  std::vector<uint32_t> nodes;
  for (uint32_t i = 0; i != etc_plan_node_count(self.plan.get()); ++i)
    nodes.push_back(etc_plan_node_size(self.plan.get(), i));
  return nodes;
}

std::vector<uint32_t> planParticipants(const PlanHandle &self) {
  std::vector<uint32_t> devices;
  for (uint32_t i = 0; i != etc_plan_participant_count(self.plan.get()); ++i)
    devices.push_back(etc_plan_participant(self.plan.get(), i));
  return devices;
}

std::vector<uint32_t> planPlacement(const PlanHandle &self, int side) {
  const auto which = static_cast<etc_side>(side);
  std::vector<uint32_t> devices;
  for (uint32_t i = 0; i != etc_plan_world(self.plan.get(), which); ++i)
    devices.push_back(etc_plan_placement(self.plan.get(), which, i));
  return devices;
}

nb::dict planConfiguration(const PlanHandle &self, int side) {
  etc_configuration c{};
  c.struct_size = sizeof c;
  check(
      etc_plan_configuration(self.plan.get(), static_cast<etc_side>(side), &c));
  nb::dict sizes;
  sizes["pp"] = c.pp;
  sizes["tp"] = c.tp;
  sizes["dp"] = c.dp;
  sizes["cp"] = c.cp;
  sizes["ep"] = c.ep;
  sizes["etp"] = c.etp;
  sizes["vpp"] = c.vpp;
  sizes["fsdp"] = c.fsdp;
  sizes["order"] = c.pipeline_first ? "tp-cp-ep-pp-dp" : "tp-cp-ep-dp-pp";
  sizes["distributed_optimizer"] = c.distributed_optimizer != 0;
  sizes["inventory"] = c.is_inventory != 0;
  return sizes;
}

nb::dict planCoordinates(const PlanHandle &self, int side, uint32_t rank) {
  etc_coordinates c{};
  c.struct_size = sizeof c;
  check(etc_plan_coordinates(self.plan.get(), static_cast<etc_side>(side), rank,
                             &c));
  nb::dict place;
  place["tp"] = c.tp;
  place["cp"] = c.cp;
  place["dp"] = c.dp;
  place["pp"] = c.pp;
  return place;
}

/// (type, name, dtype, shape, bytes, planning shape, boxes, deferred) of every
/// tensor.
nb::list planTensors(const PlanHandle &self, int side, uint32_t participant) {
  const auto which = static_cast<etc_side>(side);
  etc_plan *plan = self.plan.get();
  nb::list tensors;
  const size_t count = etc_plan_tensor_count(plan, which, participant);
  for (size_t i = 0; i != count; ++i) {
    etc_tensor_info info{};
    info.struct_size = sizeof info;
    check(etc_plan_tensor(plan, which, participant, i, &info));
    nb::list boxes;
    for (uint32_t b = 0; b != info.box_count; ++b) {
      int64_t bounds[2 * ETC_MAX_AXES];
      check(etc_plan_box(plan, which, participant, i, b, bounds));
      nb::list box;
      for (uint32_t axis = 0; axis != info.planning_axes; ++axis)
        box.append(nb::make_tuple(bounds[2 * axis], bounds[2 * axis + 1]));
      boxes.append(nb::tuple(box));
    }
    tensors.append(
        nb::make_tuple(info.type, info.name, dtypeName(info.dtype),
                       toTuple(info.shape, info.axes), info.bytes,
                       toTuple(info.planning_shape, info.planning_axes),
                       nb::tuple(boxes), info.deferred != 0));
  }
  return tensors;
}

nb::bytes planInventory(const PlanHandle &self, int side,
                        uint32_t participant) {
  const Value json(etc_value_new());
  check(etc_plan_inventory(self.plan.get(), static_cast<etc_side>(side),
                           participant, json.get()));
  return bytesOf(json);
}

} // namespace

NB_MODULE(_run, m) {
  m.doc() = "The runtime: plans and migrations of etc-c/run.h.";
  m.def("version", [] { return etc_run_version(); });

  nb::class_<PlanHandle>(m, "Plan")
      .def_static(
          "open",
          [](const std::string &path) { return PlanHandle{openPlan(path)}; })
      .def_static("read",
                  [](nb::bytes bytes) { return PlanHandle{readPlan(bytes)}; })
      .def("bytes", &planBytes)
      .def("slice", &slicePlan)
      .def("verify",
           [](const PlanHandle &self) {
             check(etc_plan_verify(self.plan.get()));
           })
      .def("fingerprint",
           [](const PlanHandle &self) {
             return etc_plan_fingerprint(self.plan.get());
           })
      .def("model",
           [](const PlanHandle &self) {
             return etc_plan_model(self.plan.get());
           })
      .def("label",
           [](const PlanHandle &self, int side) {
             return etc_plan_label(self.plan.get(),
                                   static_cast<etc_side>(side));
           })
      .def("configuration", &planConfiguration)
      .def("coordinates", &planCoordinates)
      .def("summary", &planSummary)
      .def("certificates", &planCertificates)
      .def("nodes", &planNodes)
      .def("participants", &planParticipants)
      .def("placement", &planPlacement)
      .def("tensors", &planTensors)
      .def("inventory", &planInventory);

  defineMigration(m);
  defineRecovery(m);
  defineStore(m);
  defineTls(m);
}
