#include "worker/measure/reference_speed.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace mlc::worker {
namespace {

TEST(ReferenceSpeed, IsTheBestOfAMachineThatMostlyReachesIt) {
  ReferenceSpeed speed;
  for (int probe = 0; probe < 100; ++probe) speed.Record(probe % 4 == 0 ? 50 : 98);
  speed.Record(100);
  EXPECT_FALSE(speed.IsShared());
  EXPECT_EQ(speed.Closeness(50), 0.5);
  EXPECT_EQ(speed.Closeness(98), 0.98);
  EXPECT_EQ(speed.Closeness(200), 1) << "a new best";
  EXPECT_EQ(speed.Closeness(100), 0.5);
}

TEST(ReferenceSpeed, IsTheUsualWhereTheBestIsRare) {
  ReferenceSpeed speed(100);
  for (int probe = 0; probe < 100; ++probe) speed.Record(probe % 10 == 0 ? 95 : 50);
  EXPECT_TRUE(speed.IsShared());
  EXPECT_EQ(speed.best(), 100);
  EXPECT_EQ(speed.Closeness(50), 1);
  EXPECT_EQ(speed.Closeness(100), 0.5) << "moments in which all CPUs are free";
  EXPECT_EQ(speed.Closeness(25), 0.5);
}

TEST(ReferenceSpeed, TakesNoShortDisturbanceForTheUsual) {
  ReferenceSpeed speed(100);
  for (int probe = 0; probe < 20; ++probe) speed.Record(50);
  EXPECT_FALSE(speed.IsShared());
}

TEST(ReferenceSpeed, FollowsTheMachine) {
  ReferenceSpeed speed(100);
  for (int probe = 0; probe < 255; ++probe) speed.Record(50);
  EXPECT_TRUE(speed.IsShared());
  for (int probe = 0; probe < 200; ++probe) speed.Record(100);
  EXPECT_FALSE(speed.IsShared());
}

TEST(ReferenceSpeed, IsNoSpeedAtAll) {
  ReferenceSpeed speed;
  for (const double nonsense : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    speed.Record(nonsense);
    EXPECT_EQ(speed.Closeness(nonsense), 1);
  }
  EXPECT_EQ(speed.best(), 0);
}

TEST(ReferenceSpeed, GoesFromOneRunnerToTheNext) {
  ReferenceSpeed speed(100);
  for (int probe = 0; probe < 300; ++probe) speed.Record(40 + probe % 3);
  ByteWriter out;
  speed.PutInto(out);
  const std::string bytes = out.Take();
  ByteReader in(bytes);
  ReferenceSpeed read;
  ASSERT_TRUE(read.GetFrom(in));
  EXPECT_TRUE(in.AtEnd());
  EXPECT_EQ(read.best(), 100);
  EXPECT_TRUE(read.IsShared());
  EXPECT_EQ(read.Closeness(82), speed.Closeness(82));
}

TEST(ReferenceSpeed, RefusesWhatNoRunnerWrites) {
  const auto reads = [](double best, uint64_t next, uint64_t count, double probe) {
    ByteWriter out;
    out.Put(best);
    out.Put(next);
    out.Put(count);
    for (uint64_t i = 0; i < count && i < 1000; ++i) out.Put(probe);
    const std::string bytes = out.Take();
    ByteReader in(bytes);
    return ReferenceSpeed().GetFrom(in);
  };
  EXPECT_TRUE(reads(100, 0, 255, 50));
  EXPECT_FALSE(reads(std::nan(""), 0, 0, 0));
  EXPECT_FALSE(reads(-1, 0, 0, 0));
  EXPECT_FALSE(reads(100, 255, 255, 50)) << "beyond the ring";
  EXPECT_FALSE(reads(100, 0, 256, 50));
  EXPECT_FALSE(reads(100, 0, uint64_t{1} << 60, 50));
  EXPECT_FALSE(reads(100, 0, 3, -50));
  ByteReader nothing{std::string_view()};
  EXPECT_FALSE(ReferenceSpeed().GetFrom(nothing));
}

}  // namespace
}  // namespace mlc::worker
