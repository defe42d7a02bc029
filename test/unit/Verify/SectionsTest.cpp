//===- SectionsTest.cpp - Plans of sections: V19, and reading one ---------===//
//
// A plan of one section of each kind is compared with a request that is not
// quite the one that it was made for, and with a changed file; and files whose
// sections can't be unfolded are refused.
//
//===----------------------------------------------------------------------===//

#include "BoundariesFixture.h"

#include "core/plan/Condense.h"
#include "core/plan/Referee.h"
#include "core/plan/UnfoldSections.h"
#include "core/proof/PlanCertificates.h"
#include "etc/Planner/Sections.h"

using namespace etc;
using namespace etc::test;
namespace fb = etc::plan::fb;

namespace {

/// Six stages, of which four are alike; each grows from one node to two.
const Options alike = {
    {"model", "llama3-8b"},   {"layers", "6"},          {"hidden", "64"},
    {"heads", "8"},           {"ffn", "128"},           {"vocab", "1100"},
    {"prev", "PP6DP2+zero1"}, {"curr", "PP6DP4+zero1"}, {"cluster", "12x2"}};

class SectionsTest : public Boundaries {
protected:
  void SetUp() override {
    PlanOptions how;
    how.lanesFrom = 1;
    how.keepsLanes = true;
    plan(alike, how);
    if (HasFatalFailure())
      return;
    sections = sectionsOf(request, 1);
    ASSERT_TRUE(sections && file().sections());
  }

  const fb::Plan &file() const {
    return *fb::GetPlan(planned.plans.front().data());
  }

  std::string verify(const fb::Plan &plan, const Request &kinds,
                     const Request &all) {
    error.clear();
    const bool approved =
        succeeded(verifySections(migrations.front(), plan, kinds, all));
    EXPECT_EQ(approved, error.empty());
    return error;
  }

  /// The error about the file where another request is asked for.
  std::string ofAll(llvm::function_ref<void(Request &)> change) {
    Request other = request;
    change(other);
    return verify(file(), sections->request, other);
  }

  std::vector<uint8_t> change(llvm::function_ref<void(fb::PlanT &)> change) {
    fb::PlanT other;
    file().UnPackTo(&other);
    change(other);
    return plan::packPlan(std::move(other));
  }

  /// The error about a changed file.
  std::string ofPlan(llvm::function_ref<void(fb::PlanT &)> by) {
    const std::vector<uint8_t> bytes = change(by);
    return verify(*fb::GetPlan(bytes.data()), sections->request, request);
  }

  /// What who reads a file says, the referee and the proof of certificates.
  static std::string read(std::vector<uint8_t> bytes) {
    auto owner = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
    const auto file = plan::PlanFile::read(*owner, owner);
    if (!file)
      return file.status().message();
    const plan::PlanIndex index(file->plan());
    const plan::Status status = plan::checkPlan(index, file->lane());
    EXPECT_EQ(status.ok(), plan::checkPlan(index).ok());
    return status.ok() ? verifyCertificates(index).message() : status.message();
  }

  std::string afterReading(llvm::function_ref<void(fb::PlanT &)> by) {
    return read(change(by));
  }

  std::optional<Sections> sections;
};

bool names(const std::string &error, llvm::StringRef what) {
  return llvm::StringRef(error).contains(what) &&
         llvm::StringRef(error).ends_with("(V19)");
}

TEST_F(SectionsTest, TheRequestHasOneOfEachKind) {
  EXPECT_EQ(sections->request.prev.parallel.pp, 3);
  EXPECT_EQ(sections->request.model.layers, 3);
  EXPECT_EQ(sections->request.nodes.size(), 6u);
  EXPECT_EQ(sections->list.size(), 6u);
  EXPECT_EQ(verify(file(), sections->request, request), "");
}

TEST_F(SectionsTest, WhoReadsItFindsAllSections) {
  for (bool isCondensed : {false, true}) {
    std::vector<uint8_t> bytes = planned.plans.front();
    if (isCondensed)
      bytes = plan::condensePlan(bytes);
    EXPECT_EQ(read(bytes), "");
    auto owner = std::make_shared<const std::vector<uint8_t>>(bytes);
    const auto read = plan::PlanFile::read(*owner, owner);
    ASSERT_TRUE(static_cast<bool>(read));
    const fb::Plan &all = read->plan();
    EXPECT_EQ(all.sections(), nullptr);
    EXPECT_EQ(all.features() & plan::kSectionsFeature, 0u);
    EXPECT_EQ(all.participants()->size(), 24u);
    EXPECT_EQ(all.prev()->pp(), 6u);
    EXPECT_EQ(all.nodes()->size(), 12u);
  }
}

/// It is as good as a plan of all: here, of the same bytes.
TEST_F(SectionsTest, AddUpToThePlanOfAll) {
  const fb::PlanT ofSections = plan::unfoldSections(file());
  migrations.clear();
  plan(alike);
  const fb::Summary &all =
      *fb::GetPlan(planned.plans.front().data())->summary();
  EXPECT_EQ(ofSections.summary->moved_bytes, all.moved_bytes());
  EXPECT_EQ(ofSections.summary->internode_bytes, all.internode_bytes());
  EXPECT_EQ(ofSections.summary->bound_moved_bytes, all.bound_moved_bytes());
  EXPECT_EQ(ofSections.summary->bound_internode_bytes,
            all.bound_internode_bytes());
}

TEST_F(SectionsTest, OtherRequestsAreNot) {
  EXPECT_TRUE(
      names(ofAll([](Request &it) { it.prev.parallel.bucketSize = 64; }),
            "previous: the configuration"));
  EXPECT_TRUE(names(ofAll([](Request &it) { it.curr.parallel.dp = 2; }),
                    "current: the configuration"));
  EXPECT_TRUE(names(ofAll([](Request &it) { it.prev.parallel.pp = 5; }), "pp"));
  EXPECT_TRUE(names(
      ofAll([](Request &it) { it.prev.parallel.stages = {2, 1, 1, 1, 1, 0}; }),
      "holds"));
  EXPECT_TRUE(names(ofAll([](Request &it) { it.model.ffn = 256; }), ".shape"));
  EXPECT_TRUE(names(ofAll([](Request &it) { it.nodes.back() = 3; }), "nodes"));
  EXPECT_TRUE(names(ofAll([](Request &it) { it.draining = {7}; }), "draining"));
  EXPECT_TRUE(names(ofAll([](Request &it) { it.failed = {0}; }), "failed"));
  EXPECT_TRUE(names(ofAll([](Request &it) { it.place = "any"; }), "place"));
  EXPECT_TRUE(names(ofAll([](Request &it) {
                      it.prev.devices.emplace(12);
                      std::iota(it.prev.devices->begin(),
                                it.prev.devices->end(), 2);
                    }),
                    "the device of rank 0"));
}

TEST_F(SectionsTest, OtherFilesAreNot) {
  EXPECT_TRUE(names(ofPlan([](fb::PlanT &it) {
                      std::swap(it.sections->list[1]->nodes[0],
                                it.sections->list[2]->nodes[0]);
                    }),
                    "the device of rank 2"));
  EXPECT_TRUE(
      names(ofPlan([](fb::PlanT &it) { it.tensors[1]->name = "other"; }),
            "other is present"));
  EXPECT_TRUE(names(ofPlan([](fb::PlanT &it) {
                      ++it.sections->summary->bound_internode_bytes;
                    }),
                    "bound"));
}

TEST_F(SectionsTest, DamagedSectionsAreRefused) {
  using Change = llvm::function_ref<void(fb::SectionsT &)>;
  auto of = [&](Change by) {
    return afterReading([&](fb::PlanT &it) { by(*it.sections); });
  };
  EXPECT_EQ(of([](auto &it) { it.list[1]->kind = 3; }),
            "sections.list[1].kind: 3 is not in [0, 3)");
  EXPECT_EQ(of([](auto &it) { it.list[1]->nodes[0] = 12; }),
            "sections.list[1].nodes[0]: 12 is not in [0, 12)");
  EXPECT_EQ(of([](auto &it) { it.list[1]->nodes = it.list[2]->nodes; }),
            "sections.list[2].nodes: node 2 is in two sections");
  EXPECT_EQ(of([](auto &it) { it.list[1]->nodes.pop_back(); }),
            "sections.list[1].nodes: 1 entries, its kind has 2");
  EXPECT_EQ(of([](auto &it) { it.list.pop_back(); }),
            "sections.kinds[2]: has no section");
  EXPECT_EQ(of([](auto &it) { it.nodes[3] = 4; }),
            "sections.list[3].nodes: node 3 has 4 devices, that of the kind 2");
  EXPECT_EQ(of([](auto &it) { it.kinds[1]->prev_stages = 2; }),
            "sections.kinds: 4 stages, prev has 3");
  EXPECT_EQ(of([](auto &it) { it.prev->pp = 7; }),
            "sections.list: 6 stages, sections.prev has 7");
  EXPECT_EQ(of([](auto &it) { it.prev->dp = 3; }),
            "sections.prev: stages are not those of prev");
  EXPECT_EQ(of([](auto &it) { it.kinds[1]->nodes[0] = it.kinds[0]->nodes[0]; }),
            "sections.kinds[1].nodes: node 0 is of two kinds");
  EXPECT_EQ(of([](auto &it) { it.number_at.pop_back(); }).substr(0, 20),
            "sections.number_at: ");
  EXPECT_EQ(of([](auto &it) { it.moved_bytes.push_back(1); }).substr(0, 22),
            "sections.moved_bytes: ");
  EXPECT_EQ(of([](auto &it) { ++it.summary->moved_bytes; }).substr(0, 20),
            "summary.moved_bytes:");
  EXPECT_EQ(of([](auto &it) { ++it.summary->bound_moved_bytes; }).substr(0, 15),
            "summary.bound_m");
  EXPECT_EQ(afterReading([](fb::PlanT &it) {
              for (const auto &certificate : it.certificates)
                if (certificate->quantity == fb::Quantity::internode_bytes)
                  certificate->column_duals.clear();
            }),
            "certificates[1].column_duals: 0 entries, there are 4 classes of "
            "nodes");
  // Of a layer of the kind that four sections are of.
  auto without = [&](bool derivedOnly) {
    return afterReading([&](fb::PlanT &it) {
      for (size_t t = 0; t != it.tensors.size(); ++t)
        if (it.tensors[t]->name.find("layers.1.") != std::string::npos &&
            (!derivedOnly || it.tensors[t]->derived_from >= 0))
          it.sections->number_at[t] = -1;
    });
  };
  EXPECT_NE(without(false).find("which is of no layer of its kind"),
            std::string::npos);
  EXPECT_NE(without(true).find("which is not in its section"),
            std::string::npos);
  EXPECT_EQ(
      afterReading([](fb::PlanT &it) { it.barred = {0}; }),
      "sections: role_bound, paper_policy and barred are of all sections");
  EXPECT_EQ(afterReading(
                [](fb::PlanT &it) { it.features &= ~plan::kSectionsFeature; }),
            "features: a plan of sections has flag 64, and no other");
}

/// Requests whose sections are not alike, or share nodes, are planned as a
/// whole.
TEST_F(SectionsTest, OnlyAlikeSectionsAreOne) {
  auto has = [&](const char *name, const char *value) {
    Options options = alike;
    options[name] = value;
    migrations.clear();
    PlanOptions how;
    how.lanesFrom = 1;
    how.keepsLanes = true;
    plan(options, how);
    return file().sections() != nullptr;
  };
  EXPECT_FALSE(has("prev", "PP3DP2+zero1")); // sections of two stages
  EXPECT_FALSE(has("prev", "PP6DP2+zero1+order=pp-dp"));
  EXPECT_FALSE(has("cluster", "6x4")); // a node of two sections
  EXPECT_FALSE(has("cluster", "2,2,2,2,2,2,2,2,2,2,2,1,1"));
  EXPECT_TRUE(has("place", "any"));
}

} // namespace
