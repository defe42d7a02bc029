// Writes the seeds of the corpora: tools/dev/fuzz --seeds.

#include "../unit/Runtime/LaneFixture.h"

#include "core/journal/Journal.h"
#include "core/plan/Condense.h"
#include "job/Wire.h"
#include "job/store/StoreMessage.h"

#include <filesystem>
#include <fstream>

using namespace etc::runtime;
using namespace etc::plan::test;

static void write(const std::string &path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

static void writePlan(const std::string &path, etc::plan::fb::PlanT plan) {
  std::vector<uint8_t> bytes = etc::plan::packPlan(std::move(plan));
  write(path, {reinterpret_cast<const char *>(bytes.data()), bytes.size()});
}

static void writeCondensed(const std::string &path, etc::plan::fb::PlanT plan) {
  const std::vector<uint8_t> bytes =
      etc::plan::condensePlan(etc::plan::packPlan(std::move(plan)));
  write(path, {reinterpret_cast<const char *>(bytes.data()), bytes.size()});
}

static void writeJournal(const std::string &path,
                         std::initializer_list<JournalRecord> records) {
  std::filesystem::remove(path); // a journal is not begun twice
  JournalHeader header;
  header.rankCount = 4;
  Result<Journal> journal = Journal::create(path, header, 0);
  for (const JournalRecord &record : records)
    (void)journal->append(record);
}

/// What precedes a message between participants, of change 1.
static std::string peerHeader(uint32_t length) {
  const uint32_t words[] = {length, 1};
  return {reinterpret_cast<const char *>(words), sizeof words};
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  const std::string root = argv[1];
  for (const char *reader : {"plan", "journal", "control", "peer"})
    std::filesystem::create_directories(root + "/" + reader);
  writePlan(root + "/plan/stages.bin", twoStagePlan());
  writePlan(root + "/plan/relay.bin", relayPlan());
  writePlan(root + "/plan/transit.bin", transitPlan());
  writePlan(root + "/plan/certified.bin", certifiedPlan());
  writePlan(root + "/plan/certified-relay.bin", certifiedRelayPlan());
  etc::plan::fb::PlanT sharing = twoStagePlan();
  sharing.shards[2].mutate_first_box(sharing.shards[1].first_box());
  writePlan(root + "/plan/shards-share-a-box.bin", std::move(sharing));
  etc::plan::fb::PlanT wide = certifiedPlan();
  wide.nodes.back() = 0xffffffff;
  writePlan(root + "/plan/wide.bin", std::move(wide));
  writeCondensed(root + "/plan/condensed.bin", twoStagePlan());
  writeCondensed(root + "/plan/condensed-transit.bin", transitPlan());
  etc::plan::fb::PlanT numbered = twoStagePlan();
  numbered.tensors[0]->name = "layers.9.w0";
  numbered.tensors[4]->name = "layers.9.w1";
  numbered.tensors[3]->name = "layers.10.norm";
  writeCondensed(root + "/plan/condensed-numbers.bin", std::move(numbered));
  writePlan(root + "/plan/lane.bin", ofLane(certifiedRelayPlan()));
  writeCondensed(root + "/plan/condensed-lane.bin", ofLane(transitPlan(), {1}));
  writeJournal(root + "/journal/begun.bin", {{Event::Filled, 0, 0, 0, 0},
                                             {Event::Landed, 0, 1, 2, 0},
                                             {Event::Stopped, 0, 0, 0, 0}});
  writeJournal(root + "/journal/done.bin", {{Event::Filled, 0, 0, 0, 0},
                                            {Event::Landed, 0, 1, 2, 0},
                                            {Event::Acknowledged, 0, 0, 0, 0},
                                            {Event::Landed, 1, 1, 2, 0},
                                            {Event::Acknowledged, 1, 0, 0, 0},
                                            {Event::Prepared, 0, 0, 0, 0},
                                            {Event::Decided, 0, 0, 0, 0},
                                            {Event::Committed, 0, 0, 0, 0}});
  const Status failure(ErrorKind::Peer, "device 3: round 2: lost");
  write(root + "/control/frames.bin",
        "\x07" + formatFrame(FrameKind::Beat, formatRound(3)) +
            formatFrame(FrameKind::Put, formatPair("key", "value")) +
            formatFrame(FrameKind::Failed, formatFailure(failure)) +
            formatFrame(FrameKind::Stop, {}));
  Hello hello;
  write(root + "/control/hello.bin",
        {reinterpret_cast<const char *>(&hello), sizeof hello});
  write(root + "/control/welcome.bin",
        "\xff" + formatFrame(FrameKind::Welcome,
                             formatWelcome({hello, hello, hello})));
  // Between participants: a message, a sign of life, and last words.
  const std::string first = peerHeader(5), beat = peerHeader(~0u - 2);
  const std::string last = peerHeader(~0u - 1) + peerHeader(8);
  write(root + "/peer/messages.bin", first + "hello" + beat + first + "again");
  write(root + "/peer/last-words.bin",
        first + "hello" + last + std::string(4, '\0') + "lost");
  StoreMessage members;
  members.kind = StoreKind::Members;
  members.members = {1, {{1, 11, 0, "a:1"}, {2, 12, 3, "b:2"}}};
  StoreMessage put;
  put.kind = StoreKind::Put;
  put.key = "key";
  put.value = "value";
  write(root + "/store/messages.bin", formatStoreMessage(members) +
                                          formatStoreMessage(put) +
                                          formatStoreMessage({}));
  const std::string list =
      R"({"__metadata__": {"format": "pt"}, )"
      R"("a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, )"
      R"("b": {"dtype": "BF16", "shape": [], "data_offsets": [24, 26]}})";
  const uint64_t length = list.size();
  write(root + "/safetensors/two.bin",
        std::string(reinterpret_cast<const char *>(&length), sizeof length) +
            list);
  return 0;
}
