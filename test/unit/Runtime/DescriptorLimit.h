// Processes that are short of descriptors.

#ifndef ETC_TEST_DESCRIPTORLIMIT_H
#define ETC_TEST_DESCRIPTORLIMIT_H

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace etc::test {

/// At most so many descriptors are open while this exists.
class DescriptorLimit {
public:
  explicit DescriptorLimit(rlim_t most) {
    ::getrlimit(RLIMIT_NOFILE, &before);
    rlimit now{most, before.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &now);
  }
  ~DescriptorLimit() { ::setrlimit(RLIMIT_NOFILE, &before); }
  DescriptorLimit(const DescriptorLimit &) = delete;
  DescriptorLimit &operator=(const DescriptorLimit &) = delete;

private:
  rlimit before{};
};

/// The lowest descriptor that is free.
inline rlim_t nextDescriptor() {
  const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::close(fd);
  return static_cast<rlim_t>(fd);
}

} // namespace etc::test

#endif // ETC_TEST_DESCRIPTORLIMIT_H
