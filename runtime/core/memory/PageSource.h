// Pages of memory that can be put at any address, and address space for them.

#ifndef ETC_RUNTIME_CORE_MEMORY_PAGESOURCE_H
#define ETC_RUNTIME_CORE_MEMORY_PAGESOURCE_H

#include "core/plan/Status.h"

#include <cstddef>
#include <cstdint>

namespace etc::runtime {

using plan::ErrorKind;
using plan::Result;
using plan::Status;
using plan::text;

/// A page that exists, whether it can be addressed now or not.
using Page = uint64_t;

/// Gives out pages of one size. Errors are of kind Usage.
class PageSource {
public:
  virtual ~PageSource() = default;

  virtual uint64_t pageBytes() const = 0;

  /// Address space without memory, aligned to pages; it lasts as long as the
  /// source.
  virtual Result<std::byte *> reserve(uint64_t bytes) = 0;

  /// A page of memory that was paid for: writing it costs no page fault.
  virtual Result<Page> create() = 0;
  virtual void destroy(Page page) = 0;

  /// Makes a page the memory at an address of reserved space, and takes it away
  /// again. Nobody reads or writes it in between.
  virtual Status map(Page page, std::byte *at) = 0;
  virtual void unmap(Page page, std::byte *at) = 0;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_MEMORY_PAGESOURCE_H
