// What a name given as input may stand for. A regression is a test that hangs
// or runs out of memory: alarm() ends it.

#include "core/plan/InputFile.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

using namespace etc::plan;

namespace {

class InputFileTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "etc-input-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory = pattern;
    ::alarm(30);
  }
  void TearDown() override {
    ::alarm(0);
    std::filesystem::remove_all(directory);
  }

  std::string write(const std::string &content) const {
    const std::string path = directory / "file";
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  /// The error without the path in front; empty where there is none.
  static std::string errorOf(const std::string &path, uint64_t most = 100) {
    Result<std::string> content = readInput(path, most);
    if (content)
      return "";
    EXPECT_EQ(content.status().kind(), ErrorKind::Usage);
    const std::string &message = content.status().message();
    EXPECT_EQ(message.substr(0, path.size() + 2), path + ": ");
    return message.substr(path.size() + 2);
  }

  std::filesystem::path directory;
};

TEST_F(InputFileTest, ReadsARegularFile) {
  EXPECT_EQ(*readInput(write(""), 0), "");
  EXPECT_EQ(*readInput(write(std::string("a\0b\n", 4)), 4),
            std::string("a\0b\n", 4));
  const std::string large(1 << 20, 'x');
  EXPECT_EQ(*readInput(write(large), large.size()), large);
}

TEST_F(InputFileTest, ReadsAFileThatTellsNoSize) {
  EXPECT_NE(readInput("/proc/self/status", 1 << 20)->find("VmRSS"),
            std::string::npos);
}

TEST_F(InputFileTest, ReadsThroughALink) {
  const std::string link = directory / "link";
  std::filesystem::create_symlink(write("content"), link);
  EXPECT_EQ(*readInput(link, 100), "content");
}

TEST_F(InputFileTest, RefusesWhatIsNoRegularFile) {
  const std::string fifo = directory / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(errorOf(fifo), "expected a regular file, got a FIFO");
  EXPECT_EQ(errorOf(directory), "expected a regular file, got a directory");
  for (const char *device : {"/dev/zero", "/dev/full", "/dev/null"})
    EXPECT_EQ(errorOf(device), "expected a regular file, got a device");
}

TEST_F(InputFileTest, RefusesASocket) {
  const std::string path = directory / "socket";
  sockaddr_un address{AF_UNIX, {}};
  ASSERT_LT(path.size(), sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr *>(&address), sizeof address),
            0);
  EXPECT_EQ(errorOf(path), "expected a regular file, got a socket");
  ::close(fd);
}

TEST_F(InputFileTest, NamesWhatIsMissing) {
  EXPECT_EQ(errorOf(directory / "none"),
            "cannot open: No such file or directory");
}

TEST_F(InputFileTest, KeepsToItsLimit) {
  EXPECT_EQ(errorOf(write("12345"), 5), "");
  EXPECT_EQ(errorOf(write("123456"), 5), "larger than 5 bytes, the limit");
  EXPECT_EQ(errorOf("/proc/self/status", 5), "larger than 5 bytes, the limit");
}

TEST_F(InputFileTest, KeepsToItsLimitWhenTheFileGrows) {
  const std::string path = write("12345");
  Result<InputFile> file = InputFile::open(path, 5);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->size(), 5u);
  std::ofstream(path, std::ios::app) << "6";
  EXPECT_EQ(file->read().status().message(),
            path + ": larger than 5 bytes, the limit");
}

TEST_F(InputFileTest, RefusesASparseFileWithoutReadingIt) {
  const std::string path = write("");
  ASSERT_EQ(::truncate(path.c_str(), off_t{1} << 42), 0);
  EXPECT_EQ(errorOf(path, 1 << 20), "larger than 1048576 bytes, the limit");
}

} // namespace
