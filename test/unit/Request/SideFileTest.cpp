//===- SideFileTest.cpp - Sides that files describe -----------------------===//

#include "Support.h"

#include "../Runtime/PlanFixture.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"

using namespace etc::request;

namespace {

/// What a plan in a file is refused with as a previous state.
std::string errorOfPlan(const etc::plan::fb::PlanT &plan) {
  llvm::SmallString<64> path;
  int file = -1;
  if (llvm::sys::fs::createTemporaryFile("side", "etcplan", file, path))
    return "no temporary file";
  llvm::FileRemover remover(path);
  std::vector<uint8_t> bytes = etc::plan::packPlan(plan);
  llvm::raw_fd_ostream(file, /*shouldClose=*/true)
      .write(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  SideSpec side;
  return show(planOfFile(path, {{}, "prev"}, side));
}

TEST(SideFile, PlanThatDoesNotSayItsModel) {
  const char *expected = "etcplan: does not say its model; plan it again";
  etc::plan::fb::PlanT plan = etc::plan::test::twoStagePlan();
  plan.model.clear();
  EXPECT_TRUE(llvm::StringRef(errorOfPlan(plan)).ends_with(expected));
  plan.model = "gpt2";
  EXPECT_EQ(errorOfPlan(plan), "");
}

} // namespace
