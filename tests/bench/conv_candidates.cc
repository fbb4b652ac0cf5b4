#include "tests/bench/conv_candidates.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <thread>

#include "compiler/schedule/problem/contraction_problem.h"

namespace mlc::bench {
namespace {

// Largest difference from a reference, relative to the largest value of that.
double Difference(const AlignedBuffer& output, const std::vector<float>& reference) {
  const auto* values = reinterpret_cast<const float*>(output.data());
  double scale = 0, worst = 0;
  for (size_t i = 0; i < reference.size(); ++i) {
    scale = std::max(scale, std::abs(static_cast<double>(reference[i])));
    const double d = std::abs(static_cast<double>(values[i]) - reference[i]);
    if (!(d <= worst)) worst = std::isnan(d) ? 1e9 : d;
  }
  return worst / scale;
}

// Taps of an axis that meet the input, over all of its outputs.
double TapsInside(const schedule::RowAxis& axis) {
  int64_t count = 0;
  for (int64_t at = 0; at < axis.out; ++at) {
    for (int64_t tap = 0; tap < axis.taps; ++tap) {
      const int64_t input = at * axis.stride - axis.pad + tap * axis.dilation;
      count += input >= 0 && input < axis.in ? 1 : 0;
    }
  }
  return static_cast<double>(count);
}

}  // namespace

std::vector<Candidate> BuildCandidates(const graph::Workload& workload,
                                       const target::Target& target,
                                       const std::vector<schedule::Config>& configs,
                                       WorkloadData& data) {
  std::vector<Candidate> candidates;
  for (const schedule::Config& config : configs) candidates.push_back({config, nullptr, "", 0, 0});
  const auto work = [&](size_t first) {
    for (size_t i = first; i < candidates.size(); i += 2) {
      auto built = RunnableKernel::Create(workload, target, candidates[i].config, data);
      if (built.ok()) {
        candidates[i].kernel = std::move(*built);
      } else {
        candidates[i].error = built.status().ToString();
      }
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  return candidates;
}

void CheckAndTime(std::vector<Candidate>& candidates, WorkloadData& data, const Bench& bench) {
  std::vector<float> reference;
  for (Candidate& c : candidates) {
    if (!c.kernel) {
      std::printf("  %s: %s\n", c.config.ToText().c_str(), c.error.c_str());
      continue;
    }
    AlignedBuffer& out = data.outputs[0];
    std::memset(out.data(), 0xff, static_cast<size_t>(out.size()));
    c.kernel->Run(bench.threads);
    const auto* values = reinterpret_cast<const float*>(out.data());
    if (reference.empty()) reference.assign(values, values + out.size() / 4);
    c.difference = Difference(out, reference);
    if (!(c.difference < 1e-3)) {
      std::printf("  WRONG %g %s\n", c.difference, c.config.ToText().c_str());
      c.kernel.reset();
      continue;
    }
    if (bench.cold != nullptr) c.kernel->UseCold(*bench.cold);
    c.seconds = c.kernel->Time(bench.threads, 3, 0.003);
  }
  std::erase_if(candidates, [](const Candidate& c) { return !c.kernel; });
}

double ExecutedFlops(const graph::Workload& workload, const schedule::Config& config) {
  const auto p = schedule::FindContraction(workload);
  if (!p) return workload.Flops();
  if (config.family == "winograd") {
    const int64_t m = config["m"];
    const int64_t tiles = ((p->inner.out + m - 1) / m) * ((p->outer[1].out + m - 1) / m);
    return 2.0 *
           static_cast<double>(p->Batches() * tiles * (m + 2) * (m + 2) * p->depth * p->columns);
  }
  return 2.0 * static_cast<double>(p->Batches() * p->depth * p->columns) * TapsInside(p->inner) *
         TapsInside(p->outer[0]) * TapsInside(p->outer[1]);
}

}  // namespace mlc::bench
