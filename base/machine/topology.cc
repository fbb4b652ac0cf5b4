#include "base/machine/topology.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <set>
#include <utility>

#include "base/machine/affinity.h"

namespace mlc::target {

namespace {

int NumberIn(const std::filesystem::path& file, int otherwise) {
  int number = otherwise;
  std::ifstream stream(file);
  return stream >> number && number >= 0 ? number : otherwise;
}

using Core = std::pair<int, int>;  // socket, core

Core CoreOf(const Place& place) { return {place.socket, place.core}; }

std::map<int, int> CoresBySocket(std::span<const Place> places) {
  std::set<Core> cores;
  for (const Place& place : places) cores.insert(CoreOf(place));
  std::map<int, int> counts;
  for (const Core& core : cores) ++counts[core.first];
  return counts;
}

// "0-3,8".
std::string Ranges(std::vector<int> numbers) {
  std::sort(numbers.begin(), numbers.end());
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    if (!text.empty()) text += ',';
    text += std::to_string(numbers[i]);
    if (end - i > 1) text += "-" + std::to_string(numbers[end - 1]);
    i = end;
  }
  return text;
}

std::string Count(size_t number, const std::string& noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

}  // namespace

std::vector<Place> PlacesOf(std::span<const int> cpus, const std::filesystem::path& root) {
  std::vector<Place> places;
  for (const int cpu : cpus) {
    const auto folder =
        root / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpu)) / "topology";
    const int core = NumberIn(folder / "core_id", -1);
    // Numbers of cores that /sys gives are below those that stand for single CPUs.
    constexpr int kSingle = 1 << 20;
    places.push_back(
        {cpu, NumberIn(folder / "physical_package_id", 0), core >= 0 ? core : kSingle + cpu});
  }
  return places;
}

std::vector<Place> InOrder(std::vector<Place> places) {
  const std::map<int, int> cores = CoresBySocket(places);
  std::sort(places.begin(), places.end(),
            [](const Place& a, const Place& b) { return a.cpu < b.cpu; });
  std::map<Core, int> seen;
  // How many of its core come before it; then the larger socket first.
  std::vector<std::pair<std::array<int, 4>, Place>> keyed;
  for (const Place& place : places) {
    keyed.push_back(
        {{seen[CoreOf(place)]++, -cores.at(place.socket), place.socket, place.cpu}, place});
  }
  std::sort(keyed.begin(), keyed.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t i = 0; i < places.size(); ++i) places[i] = keyed[i].second;
  return places;
}

int CoresOfOneSocket(std::span<const Place> places) {
  int most = 0;
  for (const auto& [socket, count] : CoresBySocket(places)) most = std::max(most, count);
  return most;
}

std::vector<Place> UsablePlaces() { return InOrder(PlacesOf(AllowedCpus(), "/")); }

std::string DescribePlaces(std::span<const Place> places, int threads) {
  const auto taken = places.first(std::min(places.size(), static_cast<size_t>(threads)));
  const auto count = [](std::span<const Place> some) {
    size_t cores = 0;
    const std::map<int, int> by_socket = CoresBySocket(some);
    for (const auto& [socket, number] : by_socket) cores += static_cast<size_t>(number);
    return Count(cores, "core") + " of " + Count(by_socket.size(), "socket");
  };
  std::vector<int> cpus;
  for (const Place& place : taken) cpus.push_back(place.cpu);
  std::string text = Count(static_cast<size_t>(threads), "thread") + " on " + count(taken) +
                     " (CPUs " + Ranges(cpus) + ")";
  if (taken.size() < places.size()) {
    text += "; usable: " + Count(places.size(), "CPU") + ", " + count(places);
  }
  return text;
}

void KeepToPlaces(int threads) {
  const std::vector<Place> places = UsablePlaces();
  if (CoresOfOneSocket(places) == std::ssize(places)) return;
  std::vector<int> cpus;
  for (const Place& place : places) {
    if (std::ssize(cpus) == threads) break;
    cpus.push_back(place.cpu);
  }
  KeepTo(cpus);
}

}  // namespace mlc::target
