// Which core and socket each CPU belongs to, and which CPUs a number of threads takes. Two threads
// on one core share its arithmetic units, which one thread of a kernel fills; threads of two
// sockets wait for each other's memory. Thread-safe.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace mlc::target {

struct Place {
  int cpu = 0;
  int socket = 0;
  int core = 0;  // of its socket
  friend bool operator==(const Place&, const Place&) = default;
};

// The places of the given CPUs, read from sys/ below `root`. If sys/ has no data, each CPU counts
// as a separate core on socket 0.
std::vector<Place> PlacesOf(std::span<const int> cpus, const std::filesystem::path& root);

// Sorts places in the order in which threads take them: one CPU of each core of the socket with the
// most cores, then of the next socket, then the remaining CPUs in the same order.
std::vector<Place> InOrder(std::vector<Place> places);

// Number of cores of the socket with the most cores. The default takes no more threads than these.
int CoresOfOneSocket(std::span<const Place> places);

// The places of the affinity mask of the calling thread, in that order.
std::vector<Place> UsablePlaces();

// "16 threads on 16 cores of 1 socket (CPUs 0-15); 32 usable on 2 sockets". `places`: in
// order.
std::string DescribePlaces(std::span<const Place> places, int threads);

// Binds the calling thread and the threads that it starts later to the first `threads` usable
// places, if other usable places share cores with these or are on another socket. Otherwise the
// scheduler chooses as well. Errors are ignored.
void KeepToPlaces(int threads);

}  // namespace mlc::target
