// State in files: what is there already is never lost to an error.

#include "core/memory/FileAllocator.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>

using namespace etc::runtime;

namespace {

class FileAllocatorTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "etc-files-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory = pattern;
    file = directory / "prev-0";
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  void write(const std::string &content) { std::ofstream(file) << content; }
  std::string read() const {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  size_t countFiles() const {
    return std::distance(std::filesystem::directory_iterator(directory), {});
  }

  std::filesystem::path directory, file;
};

/// While it lives, no file grows beyond so many bytes.
class FileLimit {
public:
  explicit FileLimit(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before);
    rlimit limit{bytes, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() { ::setrlimit(RLIMIT_FSIZE, &before); }

private:
  rlimit before{};
};

TEST_F(FileAllocatorTest, FindsWhatItLeft) {
  {
    FileAllocator files(directory);
    Result<Buffer> buffer = files.allocate(4, "prev-0");
    ASSERT_TRUE(buffer.ok()) << buffer.status().message();
    std::fill_n(buffer->data, 4, std::byte{'x'});
    files.keepForLater();
    files.release(*buffer);
  }
  EXPECT_EQ(read(), "xxxx");
  FileAllocator files(directory);
  FileLimit full(1); // nothing new is needed
  Result<Buffer> buffer = files.allocate(4, "prev-0");
  ASSERT_TRUE(buffer.ok()) << buffer.status().message();
  EXPECT_EQ(buffer->data[3], std::byte{'x'});
  files.release(*buffer);
  EXPECT_EQ(countFiles(), 0u);
}

TEST_F(FileAllocatorTest, AnotherSizeIsNotOurs) {
  for (const char *content : {"", "ab", "abcdefgh"}) {
    write(content);
    FileAllocator files(directory);
    EXPECT_EQ(files.allocate(4, "prev-0").status().message(),
              text(file.string(), ": has ", std::string(content).size(),
                   " bytes where 4 bytes of state belong; put the whole file "
                   "back, or count the device as --failed"));
    EXPECT_EQ(read(), content);
  }
}

TEST_F(FileAllocatorTest, WhatIsNoFileIsNotOurs) {
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  EXPECT_EQ(FileAllocator(directory).allocate(4, "prev-0").status().message(),
            file.string() + ": is not a regular file; put the file of the "
                            "state back, or count the device as --failed");
  std::filesystem::remove(file);
  std::filesystem::create_symlink("/dev/zero", file);
  EXPECT_EQ(FileAllocator(directory).allocate(4, "prev-0").status().message(),
            file.string() + ": is not a regular file; put the file of the "
                            "state back, or count the device as --failed");
}

TEST_F(FileAllocatorTest, AFullDiskCostsNothing) {
  write("state");
  FileLimit full(1);
  FileAllocator files(directory);
  EXPECT_FALSE(files.allocate(50, "prev-0").ok());
  EXPECT_EQ(read(), "state");
  EXPECT_EQ(files.allocate(50, "curr-0").status().message(),
            text((directory / "curr-0").string(),
                 ": cannot keep 50 bytes of state: File too large"));
  EXPECT_EQ(countFiles(), 1u);
}

} // namespace
