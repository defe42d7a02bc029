// Which image a GPU gets.

#include "core/device/KernelImage.h"

#include <gtest/gtest.h>

using namespace etc::runtime;

namespace {

const KernelImage kImages[] = {{KernelImage::Cubin, 80, "80"},
                               {KernelImage::Cubin, 86, "86"},
                               {KernelImage::Cubin, 90, "90"},
                               {KernelImage::Cubin, 100, "100"},
                               {KernelImage::Ptx, 80, "ptx"}};

std::string choose(int capability) {
  const KernelImage *image = chooseImage(kImages, capability);
  return image ? static_cast<const char *>(image->data) : "none";
}

TEST(KernelImages, MachineCodeOfTheSameMajorVersionComesFirst) {
  EXPECT_EQ(choose(80), "80");
  EXPECT_EQ(choose(86), "86");
  EXPECT_EQ(choose(87), "86"); // Orin
  EXPECT_EQ(choose(89), "86");
  EXPECT_EQ(choose(90), "90");
  EXPECT_EQ(choose(103), "100"); // B300
}

TEST(KernelImages, OthersCompilePtx) {
  EXPECT_EQ(choose(110), "ptx"); // Thor
  EXPECT_EQ(choose(120), "ptx");
}

TEST(KernelImages, NoneIsForOlderGpus) { EXPECT_EQ(choose(75), "none"); }

TEST(KernelImages, AreNamedAsCudaNamesThem) {
  EXPECT_EQ(describeImages(kImages), "sm_80, sm_86, sm_90, sm_100, compute_80");
}

} // namespace
