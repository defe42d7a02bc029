// The etc-run binary where GPUs, their driver or NCCL are missing or doubles.

#include "EtcRunFixture.h"

using namespace etc::plan::test;
using namespace etc::run::test;

namespace {

TEST_F(EtcRun, SaysWhatNcclMisses) {
  const std::string plan = write(twoStagePlan());
  struct Case {
    const char *environment, *options, *message;
  };
  const char *twin = "ETC_CUDA_DRIVER=" ETC_CUDA_DOUBLE " ";
  for (const Case &missing : {
           Case{"ETC_CUDA_DRIVER=/nonexistent/cuda.so",
                "--transport=nccl --launch=4",
                "no CUDA driver (/nonexistent/cuda.so cannot be loaded); "
                "install NVIDIA's, or use --transport=tcp or local with host "
                "memory"},
           Case{"ETC_CUDA_DRIVER=/nonexistent/cuda.so", "--memory=cuda",
                "no CUDA driver (/nonexistent/cuda.so cannot be loaded); "
                "install NVIDIA's, or use --transport=tcp or local with host "
                "memory"},
           Case{"ETC_NCCL=/nonexistent/nccl.so", "--transport=nccl --launch=4",
                "no NCCL (/nonexistent/nccl.so cannot be loaded); install NCCL "
                "2.19.1 or later, or name its file in ETC_NCCL"},
           Case{"ETC_DOUBLE_NCCL_VERSION=21805 ETC_NCCL=" ETC_NCCL_DOUBLE,
                "--transport=nccl --launch=4",
                "NCCL 2.18.5 in " ETC_NCCL_DOUBLE " is too old; install NCCL "
                "2.19.1 or later, or name its file in ETC_NCCL"},
           Case{"NCCL_COMM_BLOCKING=1 ETC_NCCL=" ETC_NCCL_DOUBLE,
                "--transport=nccl --launch=4",
                "NCCL_COMM_BLOCKING=1 makes NCCL wait for peers without a "
                "limit; unset it"},
           Case{"ETC_DOUBLE_GPUS=0", "--memory=cuda",
                "no GPU on this machine; use --memory=host with "
                "--transport=tcp or local"},
       }) {
    Ended ended = shell(twin + std::string(missing.environment) + " " +
                        ETC_RUN_BINARY " " + missing.options + " " + plan);
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(ended.out, "etc-run: " + std::string(missing.message) + "\n");
  }
}

/// GPUs of the double. Even they need kernels in the build.

class EtcRunGpu : public EtcRun {
protected:
  void SetUp() override {
    EtcRun::SetUp();
    Ended ended = migrate("");
    if (ended.out.find("built without GPU kernels") != std::string::npos)
      GTEST_SKIP() << ended.out;
  }

  Ended migrate(const std::string &environment) {
    return shell(environment +
                 " ETC_CUDA_DRIVER=" ETC_CUDA_DOUBLE " " ETC_RUN_BINARY
                 " --memory=cuda " +
                 write(twoStagePlan()));
  }
};

TEST_F(EtcRunGpu, OldGpusHaveNoKernels) {
  Ended ended = migrate("ETC_DOUBLE_CAPABILITY=75");
  EXPECT_EQ(ended.code, 2);
  EXPECT_NE(ended.out.find("no kernels for a GPU of compute capability 7.5: "
                           "this build has sm_80"),
            std::string::npos)
      << ended.out;
}

TEST_F(EtcRunGpu, VirtualDevicesRun) {
  Ended ended = migrate("");
  EXPECT_EQ(ended.code, 0) << ended.out;
  EXPECT_NE(ended.out.find(kVerified), std::string::npos) << ended.out;
}

TEST_F(EtcRunGpu, ThreadsOnSeveralGpusReadEachOthers) {
  for (const char *gpus : {"ETC_DOUBLE_GPUS=2", "ETC_DOUBLE_GPUS=8"}) {
    Ended ended = migrate(gpus);
    EXPECT_EQ(ended.code, 0) << ended.out;
    EXPECT_NE(ended.out.find(kVerified), std::string::npos) << ended.out;
  }
  // Of two GPUs, none receives from the other one.
  Ended ended = migrate("ETC_DOUBLE_GPUS=2 ETC_DOUBLE_NO_PEERS=1");
  EXPECT_EQ(ended.code, 0) << ended.out;
  ended = migrate("ETC_DOUBLE_GPUS=8 ETC_DOUBLE_NO_PEERS=1");
  EXPECT_EQ(ended.code, 2);
  EXPECT_TRUE(ended.out.starts_with("etc-run: GPU 2 cannot access the memory "
                                    "of GPU 0, from which it receives; "))
      << ended.out;
}

/// As NCCL 2.28.9 built for CUDA 13, unless a version is given.
TEST_F(EtcRunGpu, ProcessesOnPartitionsOfAGpu) {
  auto launch = [&](const std::string &environment) {
    return shell(environment +
                 " ETC_DOUBLE_GPUS=4 ETC_DOUBLE_PARTITIONS=2 "
                 "ETC_CUDA_DRIVER=" ETC_CUDA_DOUBLE " ETC_NCCL=" ETC_NCCL_DOUBLE
                 " " ETC_RUN_BINARY " --launch=4 --transport=nccl " +
                 write(twoStagePlan()) + " 2>&1");
  };
  for (const char *old : {"22809", "23004"}) {
    Ended ended = launch("ETC_DOUBLE_NCCL_VERSION=" + std::string(old));
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(ended.out, "etc-run: rank 0 (device 0) and rank 1 (device 1) are "
                         "on two partitions of GPU 0000:00:00.0, which NCCL " +
                             std::string(old[1] == '2' ? "2.28.9" : "2.30.4") +
                             " takes for one GPU; use NCCL 2.30.7 or later "
                             "(for MIG's with NCCL_MULTI_RANK_GPU_ENABLE=1), "
                             "or give each process a GPU of its own\n");
  }
  const std::string today = "ETC_DOUBLE_NCCL_VERSION=23007 ";
  const std::string shared = "NCCL_MULTI_RANK_GPU_ENABLE=1 ";
  for (const std::string &accepted :
       {today, today + shared, today + shared + "ETC_DOUBLE_MIG=1"}) {
    Ended ended = launch(accepted);
    EXPECT_EQ(ended.code, 0) << ended.out;
    EXPECT_NE(ended.out.find(kVerified), std::string::npos) << ended.out;
    EXPECT_EQ(ended.out.find("gpu double"), std::string::npos) << ended.out;
  }
  // NCCL itself refuses.
  Ended ended = launch(today + "ETC_DOUBLE_MIG=1");
  EXPECT_EQ(ended.code, 3);
  EXPECT_NE(ended.out.find(": NCCL: the communicator: invalid usage (Multiple "
                           "Ranks are using the same GPU/Partition. Set "
                           "NCCL_MULTI_RANK_GPU_ENABLE=1 to enable this "
                           "configuration.)\n"),
            std::string::npos)
      << ended.out;
}

TEST_F(EtcRunGpu, ThreadsTakeAllGpus) {
  // The place that a launcher gave to this process is not its threads'.
  Ended ended = migrate("LOCAL_RANK=0 ETC_DOUBLE_GPUS=2 ETC_DOUBLE_LOST_GPU=1");
  EXPECT_NE(ended.code, 0);
  EXPECT_NE(ended.out.find("invalid argument"), std::string::npos) << ended.out;
}

} // namespace
