#include "job/PrivateFile.h"
#include "job/Rendezvous.h"

#include <algorithm>
#include <thread>

using namespace etc::runtime;

namespace {

/// The largest values are plans.
constexpr uint64_t kLongestValue = 1 << 26;

class DirectoryRendezvous final : public Rendezvous {
public:
  DirectoryRendezvous(std::string directory, std::string tag,
                      const std::atomic<bool> &stop)
      : directory(std::move(directory)), tag(std::move(tag)), stop(stop) {}

  Status put(const std::string &key, const std::string &value) override {
    return writePrivate(pathOf(key), value);
  }

  Result<std::string> putFirst(const std::string &key,
                               const std::string &value) override {
    Result<bool> isFirst = writePrivateOnce(pathOf(key), value);
    if (!isFirst)
      return isFirst.status();
    return *isFirst ? Result<std::string>(value)
                    : get(key, Deadline(Milliseconds(0)));
  }

  Result<std::string> get(const std::string &key,
                          const Deadline &deadline) override {
    const std::string path = pathOf(key);
    while (!stop) {
      Result<std::optional<std::string>> value =
          readPrivate(path, kLongestValue);
      if (!value)
        return value.status();
      if (*value)
        return **value;
      if (deadline.isOver())
        return Status(ErrorKind::Peer, text(path, ": was not written within ",
                                            deadline.seconds(), " s"));
      std::this_thread::sleep_for(std::min(deadline.left(), Milliseconds(5)));
    }
    return Status(ErrorKind::Peer, "stopped");
  }

  std::string placeOf(const std::string &key) const override {
    return pathOf(key);
  }

private:
  std::string pathOf(const std::string &key) const {
    std::string name = tag + "." + key;
    std::replace(name.begin(), name.end(), '/', '_');
    return directory + "/" + name;
  }

  const std::string directory, tag;
  const std::atomic<bool> &stop;
};

} // namespace

std::unique_ptr<Rendezvous>
etc::runtime::makeDirectoryRendezvous(std::string directory, std::string tag,
                                      const std::atomic<bool> &stop) {
  return std::make_unique<DirectoryRendezvous>(std::move(directory),
                                               std::move(tag), stop);
}
