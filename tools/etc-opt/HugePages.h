//===- HugePages.h - The heap on huge pages ---------------------*- C++ -*-===//

#ifndef ETC_TOOLS_ETCOPT_HUGEPAGES_H
#define ETC_TOOLS_ETCOPT_HUGEPAGES_H

namespace etc {

/// Asks for huge pages: under the 32 MiB in which the heap begins, which is all
/// that a small plan takes, and with mimalloc under all of it. Page by page, an
/// eighth of the time of a small plan goes into faults, and a fifth of that of
/// a large one, whose IR is walked in no order of addresses. Up to a fifth more
/// memory is resident; where the kernel has no huge pages, nothing changes.
void useHugePages();

} // namespace etc

#endif // ETC_TOOLS_ETCOPT_HUGEPAGES_H
