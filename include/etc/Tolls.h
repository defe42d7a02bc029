//===- Tolls.h - What a byte pays on its way, at least ----------*- C++ -*-===//
//
// Some links and NICs of a cluster take a toll, of one for each byte that they
// carry. Whoever bounds a time by tolls and whoever checks such a bound count
// here what each byte has to pay (docs/routing.md, "Tolls").
//
//===----------------------------------------------------------------------===//

#ifndef ETC_TOLLS_H
#define ETC_TOLLS_H

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace etc {

/// Devices that take part, numbered from 0, and those of them that take tolls.
class TollCount {
public:
  using Set = uint64_t; ///< of devices, a bit each
  static constexpr size_t kMostDevices = 64;

  /// Whose links and NICs take a toll of what they send or receive. A NIC that
  /// devices share is that of each of them.
  struct Takers {
    Set linksOut = 0, linksIn = 0, nicsOut = 0, nicsIn = 0;
  };

  /// Of so many devices. `areMates(i, j)` says whether two are on one node,
  /// `takes(k, i)` whether one has the k-th kind of toll, in the order above.
  template <typename AreMates, typename Takes>
  static TollCount of(size_t devices, const AreMates &areMates,
                      const Takes &takes) {
    std::vector<Set> mates(devices);
    std::array<Set, 4> takers = {};
    for (size_t i = 0; i < devices; ++i) {
      for (size_t j = 0; j < devices; ++j)
        mates[i] |= Set{areMates(i, j)} << j;
      for (size_t k = 0; k < takers.size(); ++k)
        takers[k] |= Set{takes(k, i)} << i;
    }
    return {mates, {takers[0], takers[1], takers[2], takers[3]}};
  }

  /// `mates[i]` are the devices of the node of device i, itself included.
  TollCount(const std::vector<Set> &mates, const Takers &takers)
      : devices(mates.size()) {
    Set all = 0;
    for (Set node : mates)
      all |= node;
    for (size_t i = 0; i < mates.size(); ++i) {
      const Set self = Set{1} << i, near = mates[i], far = all & ~near,
                out = (takers.linksOut & near) | (takers.nicsOut & far),
                in = (takers.linksIn & self ? near : 0) |
                     (takers.nicsIn & self ? far : 0);
      senders[i] = {all & ~(out | in | self), (out ^ in) & ~self,
                    out & in & ~self};
    }
  }

  /// The tolls that bytes pay at least that some devices hold and others need,
  /// whatever their way: 0 if nobody holds or needs them.
  ///
  /// Take a device that needs them and all devices from which they could reach
  /// it without a toll. If none of these holds them, they enter this set over
  /// some hop, and whichever it is, it takes a toll: one is counted, and taken
  /// off all hops into the set. This goes on with the tolls that are left, so
  /// what is counted of each hop is no more than its tolls.
  int64_t count(Set holders, Set needers) const {
    if (holders == 0)
      return 0;
    int64_t tolls = 0;
    AllSenders changed; // once a toll is taken off
    const AllSenders *left = &senders;
    while (needers != 0) {
      const Set reaching = findReaching(*left, needers & -needers, holders);
      if (reaching & holders) {
        needers &= needers - 1;
        continue;
      }
      if (++tolls == 1) {
        std::copy_n(senders.begin(), devices, changed.begin());
        left = &changed;
      }
      for (Set rest = reaching; rest != 0; rest &= rest - 1) {
        auto &[none, one, two] = changed[std::countr_zero(rest)];
        none |= one & ~reaching;
        one = (one & reaching) | (two & ~reaching);
        two &= reaching;
      }
    }
    return tolls;
  }

private:
  /// [toll] the devices whose hop to a device takes so many.
  using Senders = std::array<Set, 3>;
  using AllSenders = std::array<Senders, kMostDevices>; ///< [receiver]

  /// Or some of these, among them one of `enough`.
  static Set findReaching(const AllSenders &senders, Set device, Set enough) {
    Set found = device;
    for (Set next = device; next != 0 && !(found & enough);) {
      const Set more = senders[std::countr_zero(next)][0] & ~found;
      found |= more;
      next = (next & (next - 1)) | more;
    }
    return found;
  }

  size_t devices;
  AllSenders senders; ///< of so many
};

} // namespace etc

#endif // ETC_TOLLS_H
