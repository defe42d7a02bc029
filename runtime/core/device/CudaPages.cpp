#include "core/device/CudaPages.h"

#include <algorithm>

using namespace etc::runtime;

static cuda::Address address(std::byte *data) {
  return reinterpret_cast<cuda::Address>(data);
}

/// Of pages on a device.
static size_t granularityOf(const cuda::Driver &driver,
                            cuda::PageProperties properties,
                            cuda::Location location) {
  properties.location = location;
  constexpr int minimum = 0;
  size_t bytes = 0;
  return driver.cuMemGetAllocationGranularity(&bytes, &properties, minimum) ==
                 cuda::kSuccess
             ? bytes
             : size_t{2} << 20;
}

CudaPages::CudaPages(const cuda::Driver &driver, cuda::Device device,
                     std::span<const cuda::Device> readers)
    : driver(driver) {
  properties.type = cuda::kPinned;
  properties.location = {cuda::kOnDevice, device};
  accesses.push_back({properties.location, cuda::kReadWrite});
  for (cuda::Device reader : readers)
    accesses.push_back({{cuda::kOnDevice, reader}, cuda::kReadWrite});
  // What all of them can map.
  for (const cuda::Access &access : accesses)
    granularity = std::max(granularity,
                           granularityOf(driver, properties, access.location));
}

CudaPages::~CudaPages() {
  for (Space space : spaces)
    driver.cuMemAddressFree(space.data, space.bytes);
}

bool CudaPages::areSupported(const cuda::Driver &driver, cuda::Device device) {
  int supported = 0;
  return driver.cuDeviceGetAttribute(&supported, cuda::kVirtualMemory,
                                     device) == cuda::kSuccess &&
         supported != 0;
}

Result<std::byte *> CudaPages::reserve(uint64_t bytes) {
  cuda::Address data = 0;
  Status status =
      driver.check(driver.cuMemAddressReserve(&data, bytes, granularity, 0, 0),
                   "cannot reserve addresses");
  if (!status.ok())
    return status;
  spaces.push_back({data, bytes});
  return reinterpret_cast<std::byte *>(data);
}

Result<Page> CudaPages::create() {
  cuda::PageHandle page = 0;
  Status status =
      driver.check(driver.cuMemCreate(&page, granularity, &properties, 0),
                   "cannot allocate device memory");
  if (!status.ok())
    return status;
  return Page{page};
}

void CudaPages::destroy(Page page) { driver.cuMemRelease(page); }

Status CudaPages::map(Page page, std::byte *at) {
  Status status = driver.check(
      driver.cuMemMap(address(at), granularity, 0, page, 0), "cannot map");
  if (!status.ok())
    return status;
  return driver.check(driver.cuMemSetAccess(address(at), granularity,
                                            accesses.data(), accesses.size()),
                      "cannot map");
}

void CudaPages::unmap(Page, std::byte *at) {
  driver.cuMemUnmap(address(at), granularity);
}
