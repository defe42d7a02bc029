// Commands as a user types them.

#ifndef ETC_TEST_SHELL_H
#define ETC_TEST_SHELL_H

#include <cstdio>
#include <string>
#include <sys/wait.h>

namespace etc::test {

struct Ended {
  int code;
  std::string out; // stdout and stderr
};

inline Ended shell(const std::string &command) {
  FILE *pipe = ::popen((command + " 2>&1").c_str(), "r");
  Ended ended{-1, {}};
  char buffer[4096];
  while (size_t count = std::fread(buffer, 1, sizeof buffer, pipe))
    ended.out.append(buffer, count);
  int state = ::pclose(pipe);
  ended.code = WIFEXITED(state) ? WEXITSTATUS(state) : -1;
  return ended;
}

} // namespace etc::test

#endif // ETC_TEST_SHELL_H
