//===- HugePages.h - The heap on huge pages ---------------------*- C++ -*-===//

#ifndef ETC_TOOLS_ETCOPT_HUGEPAGES_H
#define ETC_TOOLS_ETCOPT_HUGEPAGES_H

namespace etc {

/// Asks for huge pages under the 32 MiB in which the heap begins, which is all
/// that a small plan takes: page by page, an eighth of its time goes into
/// faults. Up to as much more memory is resident; where the kernel has no huge
/// pages, nothing changes.
void useHugePages();

} // namespace etc

#endif // ETC_TOOLS_ETCOPT_HUGEPAGES_H
