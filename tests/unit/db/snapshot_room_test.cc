#include "db/snapshot/snapshot_room.h"

#include <gmock/gmock.h>

#include "db/snapshot/snapshot_folder.h"
#include "tests/unit/db/log_fixture.h"

namespace mlc::db {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

constexpr int64_t kGb = 1'000'000'000;

std::vector<SnapshotFile> Snapshots(int count, int64_t bytes) {
  std::vector<SnapshotFile> files;
  for (int i = count - 1; i >= 0; --i) files.push_back({"s" + std::to_string(i), bytes});
  return files;
}

TEST(SnapshotRoomTest, TheOldestGoUntilTheNextOneLeavesTheReserve) {
  EXPECT_THAT(SnapshotsInTheWay(Snapshots(3, kGb), {.needed = 5, .free = 15, .reserve = 10}),
              Optional(IsEmpty()));
  EXPECT_THAT(SnapshotsInTheWay(Snapshots(3, 5), {.needed = 5, .free = 14, .reserve = 10}),
              Optional(ElementsAre("s0")));
  EXPECT_THAT(SnapshotsInTheWay(Snapshots(3, 5), {.needed = 5, .free = 5, .reserve = 10}),
              Optional(ElementsAre("s0", "s1")));
  EXPECT_EQ(SnapshotsInTheWay(Snapshots(3, 5), {.needed = 5, .free = 4, .reserve = 10}),
            std::nullopt)
      << "the newest one stays";
  EXPECT_EQ(SnapshotsInTheWay({}, {.needed = 5, .free = 4, .reserve = 0}), std::nullopt);
}

// A log grows on a volume of 20 GB, with an hourly snapshot and rules that would keep 54: it is
// never left without the reserve.
TEST(SnapshotRoomTest, ALogThatGrowsKeepsItsRoomFor) {
  constexpr int64_t kVolume = 20 * kGb;
  std::vector<SnapshotFile> there;
  int64_t most = 0;
  for (int hour = 0; hour < 5'000; ++hour) {
    const int64_t log = int64_t{1'000'000} * (1 + hour);
    int64_t used = log;
    for (const SnapshotFile& one : there) used += one.bytes;
    SnapshotRoom room{.needed = log, .free = kVolume - used, .reserve = 0};
    room.reserve = std::max(kVolume / 10, log);
    const auto old = SnapshotsInTheWay(there, room);
    ASSERT_TRUE(old.has_value()) << "a log of " << log;
    for (const std::string& name : *old) {
      std::erase_if(there, [&](const SnapshotFile& one) { return one.name == name; });
    }
    there.push_back({"s" + std::to_string(10'000 + hour), log});
    if (there.size() > 54) there.erase(there.begin());
    used = log;
    for (const SnapshotFile& one : there) used += one.bytes;
    most = std::max(most, used);
    ASSERT_LE(used, kVolume - room.reserve);
  }
  EXPECT_GT(most, kVolume / 2) << "and the rest of the volume is used";
}

class SnapshotVolumeTest : public LogFixture {};

TEST_F(SnapshotVolumeTest, WhatTheNextOneFindsIsMeasured) {
  Fill(Path("a.db"), 0, 100);
  const auto bytes = static_cast<int64_t>(std::filesystem::file_size(Path("a.db")));
  const auto same = RoomFor(Path("a.db"), folder_, 0);
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(same->needed, bytes);
  EXPECT_EQ(same->reserve, bytes) << "a migration copies the log";
  EXPECT_GT(same->free, 0);
  EXPECT_GT(RoomFor(Path("a.db"), folder_, 50)->reserve, bytes);
  EXPECT_EQ(RoomFor(Path("a.db"), "/proc", 50)->reserve, 0) << "another volume";
  EXPECT_EQ(RoomFor(Path("no.db"), folder_, 0).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(RoomFor(Path("a.db"), Path("no"), 0).status().code(), StatusCode::kNotFound);
}

TEST_F(SnapshotVolumeTest, WithoutRoomNoneIsBegun) {
  // A sparse log, larger than what is free.
  Fill(Path("a.db"), 0, 1);
  ASSERT_TRUE(PublishSnapshot(Path("a.db"), Path("out"), {}, 1'000'000).ok());
  Fill(Path("a.db"), 1, 1);
  const auto free = RoomFor(Path("a.db"), folder_, 0)->free;
  std::filesystem::resize_file(Path("a.db"), static_cast<uintmax_t>(free));
  const Status refused =
      PublishSnapshot(Path("a.db"), Path("out"), {.makes_room = true}, 2'000'000).status();
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted) << refused.ToString();
  EXPECT_THAT(refused.message(), HasSubstr("have to stay free for the log"));
  int snapshots = 0;
  for (const auto& entry : std::filesystem::directory_iterator(Path("out"))) {
    snapshots += entry.path().filename().string().starts_with("tuning-") ? 1 : 0;
    EXPECT_FALSE(entry.path().filename().string().starts_with(".incoming")) << entry.path();
  }
  EXPECT_EQ(snapshots, 1) << "the newest one is never given up";
}

}  // namespace
}  // namespace mlc::db
