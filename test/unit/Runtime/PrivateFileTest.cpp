// Files in a directory that strangers may write to.

#include "job/PrivateFile.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace etc::runtime;

namespace {

class PrivateFileTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "etc-private-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory = pattern;
    path = directory / "key";
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  /// The reason why the file is refused.
  std::string refusal() const {
    auto content = readPrivate(path, 100);
    if (content)
      return "";
    EXPECT_EQ(content.status().kind(), ErrorKind::Usage);
    return content.status().message();
  }

  std::string foreign(const std::string &what) const {
    return path + ": " + what +
           ", and so is not from this job; use a directory that only you can "
           "write to";
  }

  std::filesystem::path directory;
  std::string path;
};

TEST_F(PrivateFileTest, IsReadAsItWasWritten) {
  EXPECT_FALSE(readPrivate(path, 100)->has_value());
  for (const std::string &content : {std::string(), std::string("a\0b", 3)}) {
    ASSERT_TRUE(writePrivate(path, content).ok());
    EXPECT_EQ(**readPrivate(path, 100), content);
  }
  struct stat facts {};
  ASSERT_EQ(::stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
  // No draft is left.
  const std::filesystem::directory_iterator entries(directory);
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);
}

TEST_F(PrivateFileTest, WritesThroughNoLink) {
  const std::string victim = directory / "victim";
  std::ofstream(victim) << "precious";
  // Where the draft used to be, and where the file will be.
  std::filesystem::create_symlink(victim, path + ".part");
  std::filesystem::create_symlink(victim, path);
  ASSERT_TRUE(writePrivate(path, "secret").ok());
  std::string content;
  std::ifstream(victim) >> content;
  EXPECT_EQ(content, "precious");
  EXPECT_EQ(**readPrivate(path, 100), "secret");
}

TEST_F(PrivateFileTest, ReadsThroughNoLink) {
  const std::string target = directory / "target";
  ASSERT_TRUE(writePrivate(target, "content").ok());
  std::filesystem::create_symlink(target, path);
  EXPECT_EQ(refusal(), foreign("is a symbolic link"));
}

TEST_F(PrivateFileTest, RefusesWhatOthersCanOpen) {
  ASSERT_TRUE(writePrivate(path, "content").ok());
  for (mode_t mode : {0604, 0640, 0622}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    EXPECT_EQ(refusal(), foreign("is open to other users"));
  }
}

TEST_F(PrivateFileTest, RefusesAnotherUsersFile) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "only root can give a file away";
  ASSERT_TRUE(writePrivate(path, "content").ok());
  ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
  EXPECT_EQ(refusal(), foreign("belongs to user 65534, not to 0"));
}

TEST_F(PrivateFileTest, RefusesWhatIsNoFile) {
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(refusal(), foreign("is not a regular file"));
}

TEST_F(PrivateFileTest, RefusesWhatIsTooLong) {
  ASSERT_TRUE(writePrivate(path, std::string(101, 'x')).ok());
  EXPECT_EQ(refusal(), foreign("has 101 bytes, more than 100"));
}

TEST_F(PrivateFileTest, IsRemovedWhileItIsOnesOwn) {
  const std::string path = directory / "file";
  ASSERT_TRUE(writePrivate(path, "mine").ok());
  EXPECT_TRUE(removePrivate(path, "mine"));
  EXPECT_FALSE(removePrivate(path, "mine")); // gone
  for (const char *theirs : {"other", "mine too", "min", ""}) {
    ASSERT_TRUE(writePrivate(path, theirs).ok());
    EXPECT_FALSE(removePrivate(path, "mine"));
    EXPECT_EQ(*readPrivate(path, 100), theirs);
  }
}

TEST_F(PrivateFileTest, NamesAMissingDirectory) {
  const std::string lost = directory / "none" / "key";
  EXPECT_EQ(writePrivate(lost, "").message(),
            lost + ": cannot write: No such file or directory");
}

} // namespace
