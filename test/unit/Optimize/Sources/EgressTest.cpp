//===- EgressTest.cpp - The least that the busiest sender sends -----------===//

#include "Egress.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace etc;
using llvm::ArrayRef;
using llvm::SmallVector;

static int64_t busiestOf(ArrayRef<Shipment> shipments, int64_t devices) {
  std::vector<int64_t> sent(devices);
  for (const Shipment &shipment : shipments)
    sent[shipment.sender] += shipment.bytes;
  return *llvm::max_element(sent);
}

/// The least of all ways to choose senders.
static int64_t bruteForce(ArrayRef<Shipment> shipments,
                          std::vector<int64_t> &sent) {
  if (shipments.empty())
    return *llvm::max_element(sent);
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int64_t sender : shipments.front().senders) {
    sent[sender] += shipments.front().bytes;
    least = std::min(least, bruteForce(shipments.drop_front(), sent));
    sent[sender] -= shipments.front().bytes;
  }
  return least;
}

/// Up to eight shipments of up to `most` bytes, each of its first sender.
static std::vector<Shipment> randomShipments(std::mt19937 &random,
                                             int64_t devices, int64_t most) {
  std::vector<Shipment> shipments(1 + random() % 8);
  for (Shipment &shipment : shipments) {
    shipment.bytes = 1 + random() % most;
    for (int64_t device = 0; device < devices; ++device)
      if (random() % 2)
        shipment.senders.push_back(device);
    if (shipment.senders.empty())
      shipment.senders.push_back(random() % devices);
    shipment.sender = shipment.senders.front();
  }
  return shipments;
}

// Only device 0 may send the first; the third goes around two others to make
// room: a single move relieves nobody.
TEST(Egress, MovesAlongPaths) {
  std::vector<Shipment> shipments = {
      {10, {0}, 0}, {10, {0, 1}, 0}, {10, {1, 2}, 1}};
  levelEgress(shipments, 3, 0);
  EXPECT_EQ(shipments[1].sender, 1);
  EXPECT_EQ(shipments[2].sender, 2);
}

/// How many devices each one sends to.
static std::vector<size_t> peersOf(ArrayRef<Shipment> shipments,
                                   int64_t devices) {
  std::vector<std::set<int64_t>> receivers(devices);
  for (const Shipment &shipment : shipments)
    receivers[shipment.sender].insert(shipment.receiver);
  std::vector<size_t> peers;
  for (const std::set<int64_t> &ofOne : receivers)
    peers.push_back(ofOne.size());
  return peers;
}

// Device 0 sends 12 small shipments, which four others hold, too, beside a
// large one that only it has. The first of the others has room for all of them.
TEST(Egress, TakesDevicesInTurn) {
  const int64_t devices = 20;
  std::vector<Shipment> shipments = {{100, {0}, 0, 5}};
  for (int64_t receiver = 6; receiver < 18; ++receiver)
    shipments.push_back({1, {0, 1, 2, 3, 4}, 0, receiver});
  levelEgress(shipments, devices, 100);
  EXPECT_EQ(busiestOf(shipments, devices), 100);
  EXPECT_EQ(ArrayRef<size_t>(peersOf(shipments, devices)).take_front(5),
            ArrayRef<size_t>({1, 3, 3, 3, 3}));
}

// Device 2 sends more than device 1, but to the same device already.
TEST(Egress, StaysWithWhoSendsAnyway) {
  std::vector<Shipment> shipments = {
      {10, {0}, 0, 3}, {5, {2}, 2, 4}, {1, {0, 1, 2}, 0, 4}};
  levelEgress(shipments, 5, 10);
  EXPECT_EQ(shipments[2].sender, 2);
}

TEST(Egress, StopsWhereEnoughIsReached) {
  std::vector<Shipment> shipments = {{10, {0, 1}, 0}, {10, {0, 1}, 0}};
  levelEgress(shipments, 2, 20);
  EXPECT_EQ(busiestOf(shipments, 2), 20);
  levelEgress(shipments, 2, 19);
  EXPECT_EQ(busiestOf(shipments, 2), 10);
}

TEST(Egress, IsLeastWithShipmentsOfOneSize) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const int64_t devices = 1 + random() % 5;
    std::vector<Shipment> shipments = randomShipments(random, devices, 1);
    std::vector<int64_t> sent(devices);
    const int64_t least = bruteForce(shipments, sent);
    levelEgress(shipments, devices, 0);
    ASSERT_EQ(busiestOf(shipments, devices), least);
  }
}

TEST(Egress, IsNearTheLeastWithSeveralSizes) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const int64_t devices = 1 + random() % 5, most = 9;
    std::vector<Shipment> shipments = randomShipments(random, devices, most);
    std::vector<int64_t> sent(devices);
    const int64_t least = bruteForce(shipments, sent),
                  before = busiestOf(shipments, devices);
    levelEgress(shipments, devices, 0);
    for (const Shipment &shipment : shipments)
      ASSERT_TRUE(llvm::is_contained(shipment.senders, shipment.sender));
    ASSERT_LE(busiestOf(shipments, devices), before);
    ASSERT_LE(busiestOf(shipments, devices), least + most);
  }
}
