//===- PortLoads.h - How long units occupy links and NICs -----------------===//
//
// What the problem of rounds has to know for rounds to be level in seconds.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_LIB_TRANSFORMS_PORTLOADS_H
#define ETC_LIB_TRANSFORMS_PORTLOADS_H

#include "ChunksAlike.h"
#include "etc/Analysis/Devices.h"
#include "etc/Optimize/Rounds/Problem.h"

namespace etc {

/// The NIC of each device, numbered through all nodes.
llvm::SmallVector<int64_t> findNics(ResourcesAttr resources,
                                    const Devices &devices);

/// The ports of a migration, each direction of a link and of a NIC by itself.
/// Devices of one program do the same: of their links one stands for all, and
/// so does one of the NICs that devices of the same programs share.
class PortLoads {
public:
  PortLoads(ResourcesAttr resources, const ProgramFlows &flows,
            llvm::ArrayRef<DeviceProgram> programs, const Devices &devices);

  int32_t countPorts() const { return ports; }
  /// How long a portion of an item occupies which ports.
  std::vector<rounds::Load> find(unsigned item, const Portion &portion) const;

private:
  /// A device of a program, by its place among them, and the first of the two
  /// ports, out and in, of its link or NIC.
  struct Use {
    int64_t replica;
    int32_t port;
  };
  class Sums;

  void addNics(llvm::ArrayRef<int64_t> nicOf);
  void addLinks();

  ResourcesAttr resources;
  const ProgramFlows &flows;
  llvm::ArrayRef<DeviceProgram> programs;
  const Devices &devices;
  std::vector<llvm::SmallVector<Use, 1>> nics, links; ///< [programs]
  int32_t ports = 0;
};

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_PORTLOADS_H
