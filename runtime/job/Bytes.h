// Numbers and text in messages between processes.

#ifndef ETC_RUNTIME_JOB_BYTES_H
#define ETC_RUNTIME_JOB_BYTES_H

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace etc::runtime {

template <typename T> void putBytes(std::string &out, const T &value) {
  out.append(reinterpret_cast<const char *>(&value), sizeof value);
}

/// Its length comes first.
inline void putText(std::string &out, std::string_view value) {
  putBytes(out, static_cast<uint32_t>(value.size()));
  out += value;
}

/// What a peer says, as it can be shown: without control characters.
inline std::string oneLine(std::string_view said) {
  std::string line(said);
  for (char &c : line)
    if (static_cast<unsigned char>(c) < 0x20)
      c = ' ';
  return line;
}

/// Takes values off the front; after one that is not there, all fail.
class ByteReader {
public:
  explicit ByteReader(std::string_view bytes) : rest(bytes) {}

  template <typename T> bool take(T &value) {
    if (!(isGood = isGood && rest.size() >= sizeof value))
      return false;
    std::memcpy(&value, rest.data(), sizeof value);
    rest.remove_prefix(sizeof value);
    return true;
  }

  bool take(std::string &value, uint32_t most) {
    uint32_t size = 0;
    take(size);
    if (!(isGood = isGood && size <= most && size <= rest.size()))
      return false;
    value = rest.substr(0, size);
    rest.remove_prefix(size);
    return true;
  }

  bool isGood = true;
  std::string_view rest;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_JOB_BYTES_H
