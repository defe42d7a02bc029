#include "core/net/Secret.h"

#include <algorithm>
#include <sys/random.h>

using namespace etc::runtime;
using etc::plan::ErrorKind;
using etc::plan::Result;
using etc::plan::Status;

Result<Secret> etc::runtime::makeSecret(std::string_view value) {
  if (value.size() < 16 || value.size() > Secret::kBytes)
    return Status(ErrorKind::Usage,
                  etc::plan::text("a job token has from 16 to ", Secret::kBytes,
                                  " characters, got ", value.size()));
  Secret secret;
  std::copy(value.begin(), value.end(), secret.bytes.begin());
  return secret;
}

std::string etc::runtime::randomSecretText() {
  unsigned char random[Secret::kBytes / 2];
  if (::getrandom(random, sizeof random, 0) !=
      static_cast<ssize_t>(sizeof random))
    return {};
  std::string text;
  for (unsigned char byte : random)
    for (unsigned digit : {byte >> 4, byte & 15})
      text += "0123456789abcdef"[digit];
  return text;
}

bool etc::runtime::equals(const Secret &a, const Secret &b) {
  // Volatile keeps the compiler from leaving the loop early.
  volatile unsigned char difference = 0;
  for (size_t i = 0; i != Secret::kBytes; ++i)
    difference =
        static_cast<unsigned char>(difference | (a.bytes[i] ^ b.bytes[i]));
  return difference == 0;
}
