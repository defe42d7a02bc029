//===- HugePages.h - The heap on huge pages ---------------------*- C++ -*-===//

#ifndef ETC_TOOLS_ETCOPT_HUGEPAGES_H
#define ETC_TOOLS_ETCOPT_HUGEPAGES_H

namespace etc {

/// Asks for huge pages under what the heap gives out first, which is all that a
/// small plan takes: page by page, an eighth of its time goes into faults.
/// Where the kernel has none, nothing changes.
void useHugePages();

} // namespace etc

#endif // ETC_TOOLS_ETCOPT_HUGEPAGES_H
