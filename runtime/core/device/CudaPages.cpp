#include "core/device/CudaPages.h"

using namespace etc::runtime;

static cuda::Address address(std::byte *data) {
  return reinterpret_cast<cuda::Address>(data);
}

CudaPages::CudaPages(const cuda::Driver &driver, cuda::Device device)
    : driver(driver) {
  properties.type = cuda::kPinned;
  properties.location = {cuda::kOnDevice, device};
  constexpr int minimum = 0;
  if (driver.cuMemGetAllocationGranularity(&granularity, &properties,
                                           minimum) != cuda::kSuccess)
    granularity = size_t{2} << 20;
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
  cuda::Access access{properties.location, cuda::kReadWrite};
  return driver.check(
      driver.cuMemSetAccess(address(at), granularity, &access, 1),
      "cannot map");
}

void CudaPages::unmap(Page, std::byte *at) {
  driver.cuMemUnmap(address(at), granularity);
}
