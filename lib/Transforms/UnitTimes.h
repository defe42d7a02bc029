//===- UnitTimes.h - How long units occupy devices ------------------------===//
//
// What a unit adds to the time of a round, at the rates that a migration
// states.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_LIB_TRANSFORMS_UNITTIMES_H
#define ETC_LIB_TRANSFORMS_UNITTIMES_H

#include "CutFlows.h"
#include "Packings.h"
#include "PortLoads.h"

namespace etc {

/// From a device to one that it sends to. Ports are links, by device, and
/// behind them NICs.
struct Way {
  int32_t from, to;
  int32_t fromPort, toPort;
  bool isFar; ///< between nodes
};

/// Seconds of what a device sends and receives, over its link and over a NIC.
struct DeviceLoad {
  struct Port {
    double out = 0, in = 0;
    double most() const { return std::max(out, in); }
  } near, far;

  Port &of(const Way &way) { return way.isFar ? far : near; }
  double most() const { return std::max(near.most(), far.most()); }
};

/// What the time of a transfer depends on.
class TransferRates {
public:
  TransferRates(ResourcesAttr resources, const ProgramFlows &flows,
                llvm::ArrayRef<DeviceProgram> programs, const Devices &devices,
                const BothHoldings &holdings);

  ResourcesAttr getResources() const { return resources; }
  const ProgramFlows &getFlows() const { return flows; }
  llvm::ArrayRef<int64_t> getDevices(unsigned program) const {
    return programs[program].devices.front();
  }
  int64_t getDeviceCount() const { return deviceCount; }
  int64_t getPortCount() const { return portCount; }
  /// Items of one kind take equally long.
  const ItemKinds &getKinds() const { return kinds; }
  const Packings &getPackings() const { return packings; }
  /// From all devices of a program to one of its peers: the number of its ways.
  unsigned find(unsigned program, unsigned peer) const {
    return numbers[program][peer];
  }
  llvm::ArrayRef<Way> getWays(unsigned number) const { return ways[number]; }
  size_t getWaysCount() const { return ways.size(); }

private:
  ResourcesAttr resources;
  const ProgramFlows &flows;
  llvm::ArrayRef<DeviceProgram> programs;
  Packings packings;
  ItemKinds kinds;
  int64_t deviceCount, portCount;
  std::vector<std::vector<Way>> ways;
  std::vector<llvm::SmallVector<unsigned, 4>> numbers; ///< [program][peer]
};

/// Of all units of a schedule.
class UnitTimes {
public:
  UnitTimes(const TransferRates &rates, llvm::ArrayRef<Chunk> chunks);

  unsigned size() const { return firsts.size(); }
  /// By all devices of a program.
  struct Sending {
    unsigned ways;    ///< their number
    double far, near; ///< seconds between nodes, and in one
    double secondsOf(const Way &way) const { return way.isFar ? far : near; }
  };
  struct Packing {
    unsigned program;
    bool isSend;
    double seconds;
  };
  /// Of what stays in a device's memory, or is derived there.
  struct Copying {
    unsigned program;
    double seconds;
  };
  llvm::ArrayRef<Sending> getSendings(unsigned unit) const {
    const unsigned first = firsts[unit];
    return llvm::ArrayRef(sendings).slice(starts[first].sending,
                                          starts[first + 1].sending -
                                              starts[first].sending);
  }
  llvm::ArrayRef<Packing> getPackings(unsigned unit) const {
    const unsigned first = firsts[unit];
    return llvm::ArrayRef(packings).slice(starts[first].packing,
                                          starts[first + 1].packing -
                                              starts[first].packing);
  }

  /// What is kept goes with the first portion: chunks of one size are alike in
  /// what they transfer only.
  llvm::ArrayRef<Copying> getCopyings(unsigned unit) const {
    if (!copies.test(unit))
      return {};
    const unsigned first = firsts[unit];
    return llvm::ArrayRef(copyings).slice(starts[first].copying,
                                          starts[first + 1].copying -
                                              starts[first].copying);
  }

private:
  struct Start {
    size_t sending, packing, copying;
  };
  void addTransfer(const TransferRates &rates, unsigned program,
                   const Step &step, const Portion &portion);
  void addCopy(const TransferRates &rates, unsigned program, const Step &step,
               const Portion &portion);
  Start getNext() const {
    return {sendings.size(), packings.size(), copyings.size()};
  }

  std::vector<unsigned> firsts; ///< [units]
  llvm::BitVector copies;       ///< [units]
  std::vector<Start> starts;    ///< [units], and the end
  std::vector<Sending> sendings;
  std::vector<Packing> packings;
  std::vector<Copying> copyings;
};

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_UNITTIMES_H
