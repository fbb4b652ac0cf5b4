// Contractions whose tiles are too few for a GPU: how long they take when blocks share k through
// memory, when they share it as clusters, and when they do not. For each problem the configs with
// the least estimated time, each in both forms, go through the worker's engine, which checks their
// results. Usage: split_bench [CONFIGS] [NAME ...], or split_bench list: the candidates for an
// H200.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "compiler/schedule/cuda/tensor/tensor_facts.h"
#include "compiler/schedule/problem/contraction_space.h"
#include "compiler/schedule/space/family.h"
#include "tests/bench/gpu_trials.h"
#include "worker/local_trial.h"

namespace mlc {
namespace {

using bench::Problem;
using schedule::Config;

std::string Product(int m, int k, int n, const std::string& dtype, const std::string& attributes) {
  const auto type = [&](int rows, int columns) {
    return " : " + dtype + "[" + std::to_string(rows) + "," + std::to_string(columns) + "]\n";
  };
  return "workload v1 tolerance=1e-2 {\n%0 = input()" + type(m, k) + "%1 = weight()" + type(k, n) +
         "%2 = matmul(%0, %1)" + attributes + type(m, n) + "%3 = weight() : " + dtype + "[" +
         std::to_string(n) + "]\n%4 = add(%2, %3)" + type(m, n) + "%5 = input()" + type(m, n) +
         "%6 = add(%4, %5)" + type(m, n) + "return %6\n}\n";
}

std::string Convolution(int size, int channels, const std::string& dtype,
                        const std::string& precision) {
  const std::string c = std::to_string(channels), s = std::to_string(size);
  const std::string image = " : " + dtype + "[1," + c + "," + s + "," + s + "]{" +
                            std::to_string(channels * size * size) + ",1," +
                            std::to_string(channels * size) + "," + c + "}\n";
  return "workload v1 tolerance=1e-2 {\n%0 = input()" + image + "%1 = weight() : " + dtype + "[" +
         c + "," + c + ",3,3]\n%2 = conv(%0, %1) {dilations=[1,1],group=1,pads=[1,1,1,1]" +
         precision + ",strides=[1,1]}" + image + "%3 = weight() : " + dtype + "[1," + c +
         ",1,1]\n%4 = add(%2, %3)" + image + "%5 = abs(%4)" + image + "return %5\n}\n";
}

std::vector<Problem> Problems() {
  std::vector<Problem> problems;
  for (const std::string kind : {"f16", "tf32"}) {
    const bool tf32 = kind == "tf32";
    const std::string dtype = tf32 ? "f32" : kind;
    const std::string attributes = tf32 ? " {precision=tf32}" : "";
    const std::string precision = tf32 ? ",precision=tf32" : "";
    problems.push_back({"conv_49x512x4608_" + kind, Convolution(7, 512, dtype, precision)});
    problems.push_back({"conv_196x256x2304_" + kind, Convolution(14, 256, dtype, precision)});
    problems.push_back({"matmul_128x768x3072_" + kind, Product(128, 3072, 768, dtype, attributes)});
    problems.push_back({"matmul_128x768x768_" + kind, Product(128, 768, 768, dtype, attributes)});
    problems.push_back({"matmul_197x768x3072_" + kind, Product(197, 3072, 768, dtype, attributes)});
  }
  return problems;
}

Config WithSplit(Config config, int64_t split) {
  schedule::SetKnob(config, "split", split);
  return config;
}

struct Default {
  double cycles;
  std::string config;
};
struct Candidates {
  std::vector<std::string> configs;
  std::vector<Default> defaults;  // the first of each form
};

// The configs of least estimated time of each form, with their twins of the other form.
Candidates CandidatesFor(const graph::Workload& workload, const target::Target& target,
                         size_t count) {
  const schedule::Family& family = *schedule::FindFamily("tensor_contraction");
  const schedule::Space space = family.MakeSpace(workload, target);
  const schedule::GpuContraction g = *schedule::FindGpuContraction(workload);
  std::array<std::vector<std::pair<double, Config>>, 3> forms;
  for (int64_t rank = 0; rank < space.NumPoints(); ++rank) {
    const Config config = space.At(rank);
    if (family.Check(workload, target, config) != schedule::RejectReason::kNone) continue;
    const int64_t split = config["split"];
    forms[split < 0    ? 0
          : split == 1 ? 1
                       : 2]
        .emplace_back(TensorCycles(g, target, MakeTensorPlan(g, config)), config);
  }
  Candidates candidates;
  const auto add = [&](const Config& config) {
    const std::string text = config.ToText();
    auto& texts = candidates.configs;
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
  };
  for (auto& form : forms) {
    const auto least = [](const auto& x, const auto& y) { return x.first < y.first; };
    std::sort(form.begin(), form.end(), least);
    if (!form.empty()) candidates.defaults.push_back({form[0].first, form[0].second.ToText()});
    for (size_t i = 0; i < std::min(count, form.size()); ++i) {
      const Config& config = form[i].second;
      const Config twin = WithSplit(config, -config["split"]);
      add(config);
      if (config["split"] != 1 && space.RankOf(twin) >= 0 &&
          family.Check(workload, target, twin) == schedule::RejectReason::kNone) {
        add(twin);
      }
    }
  }
  return candidates;
}

void Report(const std::string& name, const Candidates& candidates,
            std::map<std::string, Measurement>& results) {
  struct Best {
    double us = 1e9;
    std::string config;
  };
  std::map<std::string, Best> best;
  std::map<int64_t, std::vector<double>> ratios;  // memory over cluster, by the number of blocks
  for (const std::string& text : candidates.configs) {
    const Measurement& m = results[text];
    if (m.outcome != Outcome::kOk) {
      printf("  %s: %s\n", text.c_str(), worker::ToLine(m, 0).c_str());
      continue;
    }
    const int64_t split = (*Config::Parse(text))["split"];
    Best& form = best[split < 0 ? "cluster" : split == 1 ? "none" : "memory"];
    if (m.median_ns / 1e3 < form.us) form = {m.median_ns / 1e3, text};
    const auto twin = results.find(WithSplit(*Config::Parse(text), -split).ToText());
    if (split < 0 && twin != results.end() && twin->second.outcome == Outcome::kOk) {
      ratios[-split].push_back(twin->second.median_ns - m.median_ns);
      printf("  %2lld  %7.2f us  %7.2f us  error %.1e %.1e  %s\n", static_cast<long long>(-split),
             twin->second.median_ns / 1e3, m.median_ns / 1e3, twin->second.max_error, m.max_error,
             text.c_str());
    }
  }
  printf("%s\n", name.c_str());
  for (const auto& [form, b] : best) {
    printf("  best %-8s %7.2f us  %s\n", form.c_str(), b.us, b.config.c_str());
  }
  for (const Default& usual : candidates.defaults) {
    printf("  default       %7.2f us, estimated %.0f cycles  %s\n",
           results[usual.config].median_ns / 1e3, usual.cycles, usual.config.c_str());
  }
  for (auto& [size, list] : ratios) {
    std::sort(list.begin(), list.end());
    printf("  clusters of %lld: %zu pairs, %.2f us saved in the middle, %.2f to %.2f\n",
           static_cast<long long>(size), list.size(), list[list.size() / 2] / 1e3,
           list.front() / 1e3, list.back() / 1e3);
  }
  fflush(stdout);
}

Status List() {
  const target::Target target = MLC_TRY(bench::TypicalH200());
  return bench::ForProblems(
      Problems(), {}, [&](const Problem& problem, const graph::Workload& workload) -> Status {
        printf("%s\n", problem.name.c_str());
        const Candidates candidates = CandidatesFor(workload, target, 24);
        for (const Default& usual : candidates.defaults) {
          printf("  estimated %.0f cycles  %s\n", usual.cycles, usual.config.c_str());
        }
        for (const std::string& config : candidates.configs) printf("  %s\n", config.c_str());
        return {};
      });
}

Status Run(size_t count, const std::vector<std::string>& names) {
  const auto engine = MLC_TRY(bench::FirstGpu());
  return bench::ForProblems(
      Problems(), names, [&](const Problem& problem, const graph::Workload& workload) -> Status {
        const Candidates candidates = CandidatesFor(workload, engine->target(), count);
        auto results = bench::Measure(*engine, workload.ToText(), candidates.configs);
        Report(problem.name, candidates, results);
        return {};
      });
}

}  // namespace
}  // namespace mlc

int main(int argc, char** argv) {
  const bool lists = argc > 1 && std::string_view(argv[1]) == "list";
  const int count = argc > 1 ? std::atoi(argv[1]) : 24;
  const mlc::Status status = lists ? mlc::List()
                                   : mlc::Run(static_cast<size_t>(std::max(count, 4)),
                                              {argv + std::min(argc, 2), argv + argc});
  if (!status.ok()) fprintf(stderr, "split_bench: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
