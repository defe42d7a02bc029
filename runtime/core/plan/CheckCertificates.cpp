// Barred devices, and the tables of certificates.

#include "core/plan/Configuration.h"
#include "core/plan/FormatRules.h"

using namespace etc::plan;

static Status checkBarred(const fb::Plan &plan) {
  if (!plan.barred() || plan.barred()->size() == 0)
    return Status::success();
  const Uints &barred = *plan.barred();
  if (Status s = checkAscending("barred", barred); !s.ok())
    return s;
  uint64_t deviceCount = 0;
  for (uint32_t devices : *plan.nodes())
    deviceCount += devices;
  const uint32_t last = barred.size() - 1;
  return barred[last] < deviceCount
             ? Status::success()
             : outOfRange(item("barred", last), barred[last], deviceCount);
}

static Status checkDuals(const char *name, const Ulongs &duals,
                         const char *side,
                         const fb::Configuration &configuration) {
  if (duals.size() == roleCount(configuration))
    return Status::success();
  return malformed(".", name, ": ", duals.size(), " entries, ", side, " has ",
                   roleCount(configuration), " roles");
}

static Status checkCertificate(const fb::Plan &plan,
                               const fb::Certificate &certificate) {
  struct Word {
    const char *name;
    unsigned value, last;
  };
  for (auto [name, value, last] :
       {Word{"quantity", unsigned(certificate.quantity()),
             unsigned(fb::Quantity::MAX)},
        Word{"scope", unsigned(certificate.scope()), unsigned(fb::Scope::MAX)},
        Word{"counted", unsigned(certificate.counted()),
             unsigned(fb::Counted::MAX)}})
    if (value > last)
      return malformed(".", name, ": ", value, " is not a known value");
  if (Status s = checkDuals("row_duals", *certificate.row_duals(), "curr",
                            *plan.curr());
      !s.ok())
    return s;
  // Between nodes, programs say how many columns there are.
  if (certificate.quantity() != fb::Quantity::moved_bytes)
    return Status::success();
  return checkDuals("column_duals", *certificate.column_duals(), "prev",
                    *plan.prev());
}

Status etc::plan::checkCertificates(const fb::Plan &plan) {
  if (Status s = checkBarred(plan); !s.ok())
    return s;
  if (!plan.certificates())
    return Status::success();
  uint64_t seen = 0; // bits of quantities
  for (uint32_t i = 0; i != plan.certificates()->size(); ++i) {
    const fb::Certificate &certificate = *plan.certificates()->Get(i);
    if (Status s = checkCertificate(plan, certificate); !s.ok())
      return under(item("certificates", i), s);
    const uint64_t bit = uint64_t{1} << unsigned(certificate.quantity());
    if (seen & bit)
      return malformed(item("certificates", i), ": a second one of ",
                       fb::EnumNameQuantity(certificate.quantity()));
    seen |= bit;
  }
  return Status::success();
}
