#include "tests/bench/conv_shares.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "compiler/schedule/problem/contraction_problem.h"
#include "tests/bench/measuring.h"

namespace mlc::bench {
namespace {

constexpr int kRounds = 9;
constexpr int kLeaders = 6;
constexpr int kDirectLeaders = 4;

struct Timings {
  std::vector<double> seconds;
  std::vector<double> rates;  // 1 / (seconds * peak beside)
};

bool IsDirect(const Candidate& c) { return c.config.family != "winograd"; }

// Of sorted candidates: the fastest, some direct ones among them, and the default.
std::vector<Candidate*> Leaders(std::vector<Candidate>& candidates,
                                const std::string& default_text) {
  std::vector<Candidate*> leaders;
  int all = 0, direct = 0;
  for (Candidate& c : candidates) {
    const bool enough = all >= kLeaders && (!IsDirect(c) || direct >= kDirectLeaders);
    if (!enough || c.config.ToText() == default_text) leaders.push_back(&c);
    ++all;
    direct += IsDirect(c) ? 1 : 0;
  }
  return leaders;
}

// The peak of each timing goes to `peaks`.
std::vector<Timings> TimeInTurns(const std::vector<Candidate*>& leaders, const Bench& bench,
                                 FmaPeak& peak, std::vector<double>& peaks) {
  std::vector<Timings> timings(leaders.size());
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < leaders.size(); ++i) {
      RunnableKernel& kernel = *leaders[i]->kernel;
      if (bench.cold != nullptr) kernel.UseCold(*bench.cold);
      const double before = peak.Measure(bench.threads);
      const double seconds = kernel.Time(bench.threads, 1, bench.cold != nullptr ? 0.012 : 0.003);
      peaks.push_back(peak.Measure(bench.threads));
      timings[i].seconds.push_back(seconds);
      timings[i].rates.push_back(2 / (seconds * (before + peaks.back())));
    }
  }
  return timings;
}

}  // namespace

Shares TimeLeaders(const graph::Workload& workload, std::vector<Candidate>& candidates,
                   const std::string& default_text, const Bench& bench, FmaPeak& peak) {
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.seconds < b.seconds; });
  const std::vector<Candidate*> leaders = Leaders(candidates, default_text);
  std::vector<double> peaks;
  const std::vector<Timings> timings = TimeInTurns(leaders, bench, peak, peaks);
  const auto problem = schedule::FindContraction(workload);
  const double flops = problem ? problem->Flops() : workload.Flops();
  Shares shares;
  shares.peak = Median(peaks);
  for (size_t i = 0; i < leaders.size(); ++i) {
    Candidate& c = *leaders[i];
    c.seconds = Median(timings[i].seconds);
    const double rate = Median(timings[i].rates) * 1e-9;  // share of the peak per FLOP
    const double executed = ExecutedFlops(workload, c.config) * rate;
    const std::string text = c.config.ToText();
    if (shares.config.empty() || c.seconds < shares.tuned) {
      shares.config = text;
      shares.difference = c.difference;
      shares.tuned = c.seconds;
      shares.nominal = flops * rate;
      shares.executed = executed;
    }
    if (IsDirect(c) && executed > shares.direct_executed) {
      shares.direct_executed = executed;
      shares.direct_nominal = flops * rate;
    }
    if (text == default_text) {
      shares.first = c.seconds;
      shares.first_nominal = flops * rate;
    }
  }
  return shares;
}

void MeanShares::Add(const Shares& shares, int times) {
  nominal_ += times * std::log(shares.nominal);
  executed_ += times * std::log(shares.executed);
  direct_nominal_ += times * std::log(shares.direct_nominal);
  direct_executed_ += times * std::log(shares.direct_executed);
  first_ += times * std::log(shares.first_nominal);
  seconds_ += times * shares.tuned;
  first_seconds_ += times * shares.first;
  count_ += times;
}

void MeanShares::Print() const {
  if (count_ == 0) return;
  const auto mean = [&](double sum) { return 100 * std::exp(sum / count_); };
  std::printf("%d convolutions, geometric mean of the share of the FMA peak:\n", count_);
  std::printf("  direct kernels       executed %5.1f%%  nominal %5.1f%%\n", mean(direct_executed_),
              mean(direct_nominal_));
  std::printf("  fastest of all       executed %5.1f%%  nominal %5.1f%%  sum %.2f ms\n",
              mean(executed_), mean(nominal_), seconds_ * 1e3);
  std::printf("  without a search                      nominal %5.1f%%  sum %.2f ms\n",
              mean(first_), first_seconds_ * 1e3);
}

}  // namespace mlc::bench
