#include "core/plan/PlanFile.h"

#include "core/plan/Condense.h"
#include "core/plan/FormatCheck.h"
#include "core/plan/InputFile.h"
#include "core/plan/SystemError.h"
#include "core/plan/Unfold.h"
#include "core/plan/UnfoldSections.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iomanip>
#include <new>
#include <optional>
#include <sys/mman.h>

using namespace etc::plan;

/// The length of the root offset and the identifier, with which every plan
/// begins.
constexpr size_t kHeaderBytes = 8;
/// Offsets of FlatBuffers reach no further.
constexpr uint64_t kLargestPlan = FLATBUFFERS_MAX_BUFFER_SIZE - 1;
/// Plan, Program, Round: deeper nesting than the schema's is damage.
constexpr unsigned kMaxDepth = 8;

/// The version of a file that does not say one: it was the default when files
/// began to, and stays it.
constexpr uint32_t kOmittedVersion = 2;

static std::string printable(std::span<const uint8_t> bytes) {
  std::ostringstream out;
  for (uint8_t byte : bytes) {
    if (byte >= 0x20 && byte < 0x7f)
      out << static_cast<char>(byte);
    else
      out << "\\x" << std::hex << std::setw(2) << std::setfill('0')
          << unsigned(byte);
  }
  return out.str();
}

static Status damaged(const std::string &detail) {
  return malformed("truncated or damaged: ", detail,
                   "; write it again with etc-opt --emit=plan");
}

static std::string hex(uint64_t value) {
  std::ostringstream out;
  out << "0x" << std::hex << std::setw(16) << std::setfill('0') << value;
  return out.str();
}

/// XXH3-64 of the buffer with its 8 bytes at `field` taken as zero.
static uint64_t hashWithout(std::span<const uint8_t> buffer, size_t field) {
  constexpr uint64_t zero = 0;
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, buffer.data(), field);
  XXH3_64bits_update(&state, &zero, sizeof zero);
  size_t rest = field + sizeof zero;
  XXH3_64bits_update(&state, buffer.data() + rest, buffer.size() - rest);
  return XXH3_64bits_digest(&state);
}

/// The position of the hash in a verified buffer, or 0 where the field was left
/// out.
static size_t findHashField(std::span<const uint8_t> buffer) {
  const auto *table = flatbuffers::GetRoot<flatbuffers::Table>(buffer.data());
  const uint8_t *field = table->GetAddressOf(fb::Plan::VT_HASH);
  return field ? field - buffer.data() : 0;
}

static Status checkIdentifier(std::span<const uint8_t> bytes) {
  const std::string expected =
      text("not an ETC plan (expected file identifier '", fb::PlanIdentifier(),
           "', ");
  if (bytes.size() < kHeaderBytes)
    return malformed(expected, "the file has ", bytes.size(), " bytes)");
  if (!fb::PlanBufferHasIdentifier(bytes.data()))
    return malformed(expected, "got '", printable(bytes.subspan(4, 4)), "')");
  return Status::success();
}

static Status checkStructure(std::span<const uint8_t> bytes) {
  // A table takes at least 4 bytes, so that no intact file has more than this.
  auto maxTables = static_cast<flatbuffers::uoffset_t>(bytes.size() / 4);
  flatbuffers::Verifier verifier(bytes.data(), bytes.size(), kMaxDepth,
                                 maxTables);
  if (bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return malformed("larger than 2 GiB, which no plan is");
  return fb::VerifyPlanBuffer(verifier)
             ? Status::success()
             : damaged(text("an offset leaves the file's ", bytes.size(),
                            " bytes, or its format is an earlier one than ",
                            kPlanVersion));
}

/// A number of the root table, before the rest is verified; nothing of a file
/// that is too damaged to tell.
template <typename Number>
static std::optional<Number> rootField(std::span<const uint8_t> bytes,
                                       flatbuffers::voffset_t field,
                                       Number omitted) {
  flatbuffers::Verifier verifier(bytes.data(), bytes.size());
  const size_t root =
      flatbuffers::ReadScalar<flatbuffers::uoffset_t>(bytes.data());
  if (root + sizeof(flatbuffers::soffset_t) > bytes.size())
    return std::nullopt;
  const auto *table = flatbuffers::GetRoot<flatbuffers::Table>(bytes.data());
  if (!verifier.VerifyTableStart(bytes.data() + root) ||
      !table->VerifyField<Number>(verifier, field, sizeof(Number)))
    return std::nullopt;
  return table->GetField<Number>(field, omitted);
}

/// Looked at before anything else, which another version or feature may have
/// changed.
static Status checkVersion(std::span<const uint8_t> bytes) {
  constexpr char remedy[] = "; write it again with etc-opt --emit=plan";
  const auto version =
      rootField<uint32_t>(bytes, fb::Plan::VT_VERSION, kOmittedVersion);
  if (version.value_or(kPlanVersion) != kPlanVersion)
    return malformed("format version ", *version, ", this build reads ",
                     kPlanVersion, remedy);
  const auto features =
      rootField<uint64_t>(bytes, fb::Plan::VT_FEATURES, 0).value_or(0);
  if (const uint64_t unknown = features & ~kPlanFeatures)
    return malformed("needs features that this build does not know (flags ",
                     hex(unknown), ")", remedy);
  return Status::success();
}

/// FlatBuffers' verifier looks at where a list begins, not at whether its
/// 8-byte elements are where such may be read. Empty lists are anywhere.
static bool areAligned(const auto *...lists) {
  auto isAligned = [](const auto *list) {
    return !list || list->size() == 0 ||
           reinterpret_cast<uintptr_t>(list->Data()) % 8 == 0;
  };
  return (isAligned(lists) && ...);
}

static bool areAligned(
    const flatbuffers::Vector<flatbuffers::Offset<fb::Tensor>> &tensors) {
  return std::ranges::all_of(tensors, [](const fb::Tensor *tensor) {
    return areAligned(tensor->shape(), tensor->view(), tensor->prev_shape());
  });
}

/// Of each list of longs, and of structs of them.
static bool isAligned(const fb::Plan &plan) {
  if (!areAligned(plan.bounds(), plan.forecast()) ||
      !areAligned(*plan.tensors()))
    return false;
  if (plan.certificates())
    for (const fb::Certificate *entry : *plan.certificates())
      if (!areAligned(entry->row_duals(), entry->column_duals()))
        return false;
  if (plan.sections() && !areAligned(plan.sections()->moved_bytes()))
    return false;
  if (const fb::RoleBound *bound = plan.role_bound())
    if (!areAligned(bound->row_duals(), bound->column_duals()))
      return false;
  if (plan.condensed())
    for (const fb::TensorTemplate *entry : *plan.condensed()->templates())
      if (!areAligned(*entry->tensors()))
        return false;
  return !plan.slice() || areAligned(plan.slice()->path());
}

static Status checkAlignment(const fb::Plan &plan) {
  return isAligned(plan) ? Status::success()
                         : damaged("a list of 8-byte numbers is not aligned");
}

static Status checkFeatures(const fb::Plan &plan) {
  if ((plan.slice() != nullptr) != ((plan.features() & kSliceFeature) != 0))
    return malformed("features: a slice has flag 1, and no other plan");
  if ((plan.condensed() != nullptr) !=
      ((plan.features() & kCondensedFeature) != 0))
    return malformed("features: a condensed plan has flag 128, and no other");
  if ((plan.lanes() != nullptr) != ((plan.features() & kLanesFeature) != 0))
    return malformed("features: a plan of lanes has flag 8, and no other");
  if ((plan.sections() != nullptr) !=
      ((plan.features() & kSectionsFeature) != 0))
    return malformed("features: a plan of sections has flag 64, and no other");
  bool hasInner = false, hasTolls = false;
  for (const fb::TimeBound *bound : {plan.time_bound(), plan.pause_bound()}) {
    hasInner |= bound && bound->inner();
    hasTolls |= bound && bound->tolls();
  }
  if (hasInner != ((plan.features() & kInnerFeature) != 0))
    return malformed("features: a plan whose bounds of time have inner devices "
                     "has flag 32, and no other");
  if (hasTolls != ((plan.features() & kTollsFeature) != 0))
    return malformed("features: a plan whose bounds of time have tolls has "
                     "flag 256, and no other");
  return Status::success();
}

static Status checkHash(std::span<const uint8_t> bytes) {
  size_t field = findHashField(bytes);
  if (field == 0)
    return malformed("hash: missing");
  uint64_t stated = fb::GetPlan(bytes.data())->hash();
  uint64_t actual = hashWithout(bytes, field);
  return stated == actual ? Status::success()
                          : damaged("its hash is " + hex(actual) +
                                    ", the file states " + hex(stated));
}

/// All but the tables.
static Status checkFile(std::span<const uint8_t> bytes) {
  if (Status s = checkIdentifier(bytes); !s.ok())
    return s;
  if (Status s = checkVersion(bytes); !s.ok())
    return s;
  if (Status s = checkStructure(bytes); !s.ok())
    return s;
  const fb::Plan &plan = *fb::GetPlan(bytes.data());
  if (Status s = checkAlignment(plan); !s.ok())
    return s;
  if (Status s = checkFeatures(plan); !s.ok())
    return s;
  return checkHash(bytes);
}

Status etc::plan::checkPlanBytes(std::span<const uint8_t> bytes) {
  if (Status s = checkFile(bytes); !s.ok())
    return s;
  const fb::Plan &plan = *fb::GetPlan(bytes.data());
  return plan.condensed() ? malformed("condensed: expand the plan first")
                          : checkFormat(plan);
}

Status PlanFile::take(fb::PlanT plan) {
  auto tables =
      std::make_shared<const std::vector<uint8_t>>(packPlan(std::move(plan)));
  bytes_ = *tables;
  owners_.push_back(std::move(tables));
  return checkFormat(this->plan());
}

Result<PlanFile> PlanFile::read(std::span<const uint8_t> bytes,
                                std::shared_ptr<const void> owner) {
  if (Status s = checkFile(bytes); !s.ok())
    return s;
  PlanFile file(bytes);
  file.owners_.push_back(std::move(owner));
  const fb::Plan &stated = file.plan();
  Status status = stated.condensed() ? file.expand() : checkFormat(stated);
  if (status.ok() && (stated.lanes() || stated.sections())) {
    file.lane_ = file.bytes_;
    status = file.unfold(bytes.size());
  }
  if (!status.ok())
    return status;
  return file;
}

Status PlanFile::expand() {
  Result<fb::PlanT> expanded = expandPlan(plan(), fileBytes_.size());
  return expanded ? take(std::move(*expanded)) : expanded.status();
}

Status PlanFile::unfold(uint64_t fileBytes) {
  if (plan().lanes()) {
    if (Status s = checkLanes(plan(), bytes_.size(), fileBytes); !s.ok())
      return s;
    if (Status s = take(unfoldPlan(plan())); !s.ok())
      return s;
  }
  if (!plan().sections())
    return Status::success();
  if (Status s = checkSections(plan(), bytes_.size(), fileBytes); !s.ok())
    return s;
  return take(unfoldSections(plan()));
}

/// Maps a whole file; an empty file has no mapping.
static Result<std::pair<std::shared_ptr<const void>, size_t>>
mapFile(const std::string &path) {
  Result<InputFile> file = InputFile::open(path, kLargestPlan);
  if (!file)
    return file.status();
  const size_t size = file->size();
  if (size == 0)
    return std::pair(std::shared_ptr<const void>(), size);
  void *data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file->fd(), 0);
  if (data == MAP_FAILED)
    return Status(ErrorKind::Usage,
                  text(path, ": cannot map: ", std::strerror(errno)));
  auto unmap = [size](const void *begin) {
    ::munmap(const_cast<void *>(begin), size);
  };
  return std::pair(std::shared_ptr<const void>(data, unmap), size);
}

Result<PlanFile> PlanFile::open(const std::string &path) {
  // Messages and lookup tables allocate; a library that code without exceptions
  // links lets none out.
  try {
    auto mapped = mapFile(path);
    if (!mapped)
      return mapped.status();
    std::span<const uint8_t> bytes(
        static_cast<const uint8_t *>(mapped->first.get()), mapped->second);
    Result<PlanFile> file = read(bytes, mapped->first);
    return file ? file : file.status().at(path);
  } catch (const std::bad_alloc &) {
    return Status(ErrorKind::Usage, path + ": out of memory" + kMoreMemory);
  }
}

Status etc::plan::sealPlan(std::span<uint8_t> buffer) {
  size_t field = findHashField(buffer);
  if (field == 0)
    return malformed("hash: set it to another value than 0 before sealing");
  uint64_t hash = hashWithout(buffer, field);
  fb::GetMutablePlan(buffer.data())->mutate_hash(hash);
  return Status::success();
}

/// Mostly enough for all of a plan, of which instructions are most, or shards:
/// a builder that grows copies what it has.
static size_t estimateSize(const fb::PlanT &plan) {
  size_t instructions = 0, holdings = 0;
  for (const auto &program : plan.programs) {
    for (const auto &round : program->rounds)
      instructions += round->ops.size();
    holdings += program->prev_shards.size() + program->curr_shards.size() +
                program->transit_shards.size();
  }
  constexpr size_t kTensor = 256; // with its names and shapes
  const size_t shards = sizeof(fb::Shard) * plan.shards.size() +
                        sizeof(uint32_t) * (plan.boxes.size() + holdings),
               bounds = sizeof(int64_t) * plan.bounds.size();
  return 1024 + 2 * (sizeof(fb::Op) * instructions + shards + bounds) +
         kTensor * plan.tensors.size();
}

std::vector<uint8_t> etc::plan::packPlan(fb::PlanT plan) {
  plan.hash = ~uint64_t{0};
  flatbuffers::FlatBufferBuilder builder(estimateSize(plan));
  builder.Finish(fb::Plan::Pack(builder, &plan), fb::PlanIdentifier());
  plan = {}; // a large plan is not there three times
  std::vector<uint8_t> bytes(builder.GetBufferPointer(),
                             builder.GetBufferPointer() + builder.GetSize());
  [[maybe_unused]] Status sealed = sealPlan(bytes);
  assert(sealed.ok());
  return bytes;
}
