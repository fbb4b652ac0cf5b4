// Which cores and sockets the CPUs of this machine belong to, and which CPUs a number
// of threads is to use. Two threads on one core share its arithmetic units, which one thread of a
// kernel fills; threads of two sockets wait for each other's memory at every step. Thread-safe.
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

// Of the given CPUs, as /sys tells under `root`; where it does not, each is a core of its
// own, of socket 0.
std::vector<Place> PlacesOf(std::span<const int> cpus, const std::filesystem::path& root);

// In the order in which threads take them: one of each core of the socket that has most cores, then
// of the next socket; after that the CPUs that share a core with one before, likewise.
std::vector<Place> InOrder(std::vector<Place> places);

// Cores of the socket that has most of them: more threads than these want to be asked for.
int CoresOfOneSocket(std::span<const Place> places);

// Of the affinity mask of the calling thread, in that order.
std::vector<Place> UsablePlaces();

// "16 threads on 16 cores of 1 socket (CPUs 0-15); 32 usable on 2 sockets". `places`: in
// order.
std::string DescribePlaces(std::span<const Place> places, int threads);

// Binds the calling thread, and those that it starts from now on, to the first `threads` usable
// places, if some of the others share cores with them or are of another socket; else the
// scheduler's choice is as good. Best effort: if it fails, threads run where they may.
void KeepToPlaces(int threads);

}  // namespace mlc::target
