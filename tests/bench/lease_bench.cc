// How many workers the lease core carries: simulated workers on a simulated clock call it as real
// ones do; what it takes of one CPU and of memory is printed, one line per size of the fleet.
//
//   lease_bench [WORKERS...]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <queue>
#include <string>
#include <vector>

#include "base/rng.h"
#include "server/scheduler/leases.h"

namespace {

using mlc::Digest;
using mlc::server::Leases;

constexpr int kJobs = 24;
constexpr int kWindow = 8;         // trials a worker holds
constexpr int64_t kTrialMs = 500;  // on average
constexpr int64_t kSimulatedMs = 120'000;
constexpr int kKilledOfThousand = 2;  // calls after which the worker is gone for a minute

struct Simulated {
  std::string name;
  int incarnation = 1;
  uint64_t sequence = 0;
  std::vector<Digest> holding;
};

int64_t MemoryKiB() {
  std::ifstream file("/proc/self/statm");
  int64_t pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * 4;
}

struct Load {
  explicit Load(int workers) : fleet(static_cast<size_t>(workers)), leases({}) {
    for (size_t i = 0; i < fleet.size(); ++i) {
      fleet[i].name = "worker-" + std::to_string(i);
      due.push({static_cast<int64_t>(rng.Below(kTrialMs * kWindow)), i});
    }
    for (int job_id = 0; job_id < kJobs; ++job_id) {
      leases.shares().Set(Digest{2, static_cast<uint64_t>(job_id)},
                          {"user-" + std::to_string(job_id % 5), job_id % 3});
    }
  }

  // Jobs keep enough queued for a round of the fleet.
  void Propose() {
    const auto wanted = static_cast<int64_t>(fleet.size()) * kWindow;
    while (leases.counts().queued < wanted) {
      const Digest job_id{2, issued % kJobs};
      leases.Add(Digest{1, issued++ * 0x9e3779b97f4a7c15u}, job_id, {"cpu", "contraction/3", 0});
    }
  }

  // One call: its results, then what it holds and wants. The time of the next one.
  int64_t Call(Simulated& worker, int64_t now) {
    if (rng.Below(1000) < kKilledOfThousand) {
      ++worker.incarnation;
      worker.sequence = 0;
      worker.holding.clear();
      return now + 60'000;
    }
    const size_t done = std::min<size_t>(worker.holding.size(), 1 + rng.Below(kWindow));
    for (size_t i = 0; i < done; ++i) {
      if (leases.Receive(worker.holding.back()) == Leases::Receipt::kFirst) {
        leases.Finish(worker.holding.back());
      }
      worker.holding.pop_back();
    }
    Leases::Contact contact;
    contact.worker = worker.name;
    contact.incarnation = std::to_string(worker.incarnation);
    contact.sequence = ++worker.sequence;
    contact.offer.target_class = "cpu";
    contact.holding = worker.holding;
    contact.want = kWindow - static_cast<int>(worker.holding.size());
    const Leases::Orders orders = leases.Synchronize(contact, now);
    for (const Leases::Grant& grant : orders.grants) worker.holding.push_back(grant.uid);
    ++calls;
    return now + static_cast<int64_t>(rng.Below(2 * kTrialMs * (done + 1)));
  }

  std::vector<Simulated> fleet;
  Leases leases;
  std::priority_queue<std::pair<int64_t, size_t>, std::vector<std::pair<int64_t, size_t>>,
                      std::greater<>>
      due;
  mlc::Rng rng{1};
  uint64_t issued = 0;
  int64_t calls = 0;
};

void Simulate(int workers) {
  const int64_t before_kib = MemoryKiB();
  Load load(workers);
  int64_t next_tick = 0;
  double longest_tick_ms = 0;
  const std::clock_t start = std::clock();
  while (load.due.top().first < kSimulatedMs) {
    const auto [now, index] = load.due.top();
    load.due.pop();
    if (now >= next_tick) {
      const auto tick = std::chrono::steady_clock::now();
      (void)load.leases.Expire(now);
      load.Propose();
      const std::chrono::duration<double, std::milli> took =
          std::chrono::steady_clock::now() - tick;
      // The first one fills all queues at once.
      if (now > 1000) longest_tick_ms = std::max(longest_tick_ms, took.count());
      next_tick = now + 200;
    }
    load.due.push({load.Call(load.fleet[index], now), index});
  }
  const double took = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  const Leases::Counts& counts = load.leases.counts();
  const double simulated_s = kSimulatedMs / 1000.0;
  std::printf(
      "%6d workers: %7.0f calls/s and %7.0f results/s take %5.1f %% of a CPU; %5.2f us a "
      "call; longest tick %6.1f ms; %5.1f MiB; %lld lost, %lld quarantined\n",
      workers, static_cast<double>(load.calls) / simulated_s,
      static_cast<double>(counts.done) / simulated_s, 100 * took / simulated_s,
      1e6 * took / static_cast<double>(load.calls), longest_tick_ms,
      static_cast<double>(MemoryKiB() - before_kib) / 1024, static_cast<long long>(counts.lost),
      static_cast<long long>(counts.quarantined));
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int> sizes;
  for (int i = 1; i < argc; ++i) sizes.push_back(std::atoi(argv[i]));
  if (sizes.empty()) sizes = {100, 1'000, 10'000, 30'000};
  for (const int size : sizes) Simulate(size);
  return 0;
}
