#include "base/machine/topology.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/machine/affinity.h"
#include "base/machine/cpus.h"

namespace mlc::target {
namespace {

using ::testing::ElementsAre;

std::vector<int> Cpus(std::span<const Place> places) {
  std::vector<int> cpus;
  for (const Place& place : places) cpus.push_back(place.cpu);
  return cpus;
}

// Two sockets of `cores` cores with two CPUs each, numbered as Linux mostly does: the second
// ones of all cores come last.
std::vector<Place> TwoSockets(int cores) {
  std::vector<Place> places;
  for (int cpu = 0; cpu < 4 * cores; ++cpu) {
    places.push_back({cpu, cpu / cores % 2, cpu % cores});
  }
  return places;
}

TEST(Topology, TakesOneOfEachCoreOfASocketFirst) {
  const std::vector<Place> order = InOrder(TwoSockets(3));
  EXPECT_THAT(Cpus(order), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  EXPECT_EQ(CoresOfOneSocket(order), 3);
}

TEST(Topology, TakesOneOfEachCoreWhereSiblingsAreNeighbours) {
  // As hypervisors number them.
  const std::vector<Place> order =
      InOrder({{0, 0, 0}, {1, 0, 0}, {2, 0, 1}, {3, 0, 1}, {4, 1, 0}, {5, 1, 0}});
  EXPECT_THAT(Cpus(order), ElementsAre(0, 2, 4, 1, 3, 5));
  EXPECT_EQ(CoresOfOneSocket(order), 2);
}

TEST(Topology, TakesTheSocketFirstThatHasMoreUsableCores) {
  // Of the first socket, an affinity mask left one core.
  const std::vector<Place> order = InOrder({{3, 0, 3}, {4, 1, 0}, {5, 1, 1}, {11, 0, 3}});
  EXPECT_THAT(Cpus(order), ElementsAre(4, 5, 3, 11));
  EXPECT_EQ(CoresOfOneSocket(order), 2);
}

TEST(Topology, SaysWhatWasChosenAndWhatElseThereIs) {
  const std::vector<Place> order = InOrder(TwoSockets(8));
  EXPECT_EQ(DescribePlaces(order, 8),
            "8 threads on 8 cores of 1 socket (CPUs 0-7); usable: 32 CPUs, 16 cores of "
            "2 sockets");
  EXPECT_EQ(DescribePlaces(order, 20),
            "20 threads on 16 cores of 2 sockets (CPUs 0-19); usable: 32 CPUs, 16 "
            "cores of 2 sockets");
  EXPECT_EQ(DescribePlaces(InOrder({{0, 0, 0}, {7, 0, 5}}), 2),
            "2 threads on 2 cores of 1 socket (CPUs 0,7)");
  EXPECT_EQ(DescribePlaces(InOrder({{0, 0, 0}}), 64), "64 threads on 1 core of 1 socket (CPUs 0)");
}

TEST(Topology, ReadsWhatTheKernelTells) {
  const std::filesystem::path root = ::testing::TempDir() + "/topology";
  std::filesystem::remove_all(root);
  const auto write = [&](int cpu, const std::string& file, const std::string& text) {
    const auto folder =
        root / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpu)) / "topology";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / file) << text << "\n";
  };
  write(0, "core_id", "4");
  write(0, "physical_package_id", "0");
  write(1, "core_id", "4");
  write(1, "physical_package_id", "1");
  write(2, "core_id", "4");
  write(2, "physical_package_id", "-1");  // unknown, as on some machines of other kinds
  const std::vector<int> cpus = {0, 1, 2, 3, 4};
  const std::vector<Place> places = PlacesOf(cpus, root);
  EXPECT_EQ(places[0], (Place{0, 0, 4}));
  EXPECT_EQ(places[1], (Place{1, 1, 4}));
  EXPECT_EQ(places[2], (Place{2, 0, 4})) << "beside CPU 0";
  EXPECT_NE(places[3].core, places[4].core) << "nothing is known of them: cores of their own";
  EXPECT_EQ(places[3].socket, 0);
  std::filesystem::remove_all(root);
}

TEST(Topology, DefaultsToWhatThisMachineHas) {
  EXPECT_GE(DefaultThreads(), 1);
  EXPECT_LE(DefaultThreads(), UsableCpus());
  EXPECT_EQ(ThreadsFor(0), DefaultThreads());
  EXPECT_EQ(ThreadsFor(77), 77) << "more than there are, if they are asked for";
  EXPECT_EQ(std::ssize(UsablePlaces()), std::ssize(AllowedCpus()));
}

TEST(Affinity, BindsTheCallingThread) {
  const std::vector<int> before = AllowedCpus();
  ASSERT_FALSE(before.empty());
  std::thread([&] {
    const std::vector<int> last = {before.back()};
    ASSERT_TRUE(KeepTo(last));
    EXPECT_EQ(AllowedCpus(), last);
  }).join();
  EXPECT_EQ(AllowedCpus(), before);
  EXPECT_FALSE(KeepTo({}));
}

}  // namespace
}  // namespace mlc::target
