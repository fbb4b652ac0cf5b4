// Searches kernels for ResNet-50's convolutions and BERT's dense layers at random and prints their
// share of the machine's own FMA peak:
// Nominal counts every tap of every output; executed what a kernel multiplies: no taps in the
// padding, and Winograd's products.
//   conv_bench [trials=40] [threads=1] [only=TEXT] [family=NAME] [seconds=50] [config=TEXT[;TEXT]]
//              [cold=MIB]
// With cold=MIB weights come from copies of that size together, as in a model.
// Compiling runs before timing, so that nothing disturbs a measurement.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "compiler/base/rng.h"
#include "compiler/ir/build.h"
#include "compiler/schedule/contraction_problem.h"
#include "tests/bench/conv_cases.h"
#include "tests/bench/kernel_runner.h"

namespace mlc::bench {
namespace {

struct Options {
  int trials = 40;
  int threads = 1;
  std::string only;
  std::string family;
  std::string config;
  double seconds = 50;
  int64_t seed = 1;
  int64_t cold = 0;  // MiB of copies of weights; 0: weights stay in the caches
};

struct Task {
  std::string name;
  graph::Workload workload;
  int count;
};

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// GFLOP/s of independent FMAs in registers, of all threads.
class Peak {
 public:
  explicit Peak(const target::Target& target);
  double Measure(Threads& threads);

 private:
  static constexpr int64_t kSteps = 40000;
  double flops_ = 0;
  int threads_ = 1;
  std::unique_ptr<build::LoadedObject> object_;
  std::vector<mlc_phase_fn> phases_;
  AlignedBuffer in_;
  AlignedBuffer out_;
};

Peak::Peak(const target::Target& target) : threads_(target.threads), in_(64 * 8) {
  Rng rng(5);
  for (int i = 0; i < 128; ++i) {
    reinterpret_cast<float*>(in_.data())[i] = static_cast<float>(rng.Uniform() * 2 - 1);
  }
  const int lanes = target.Lanes(DType::kF32);
  const int chains = target.vector_registers() >= 32 ? 24 : 12;
  ir::KernelBuilder b("peak");
  // Random factors: the clock of wide units depends on how many bits change.
  const auto in = b.In("x", DType::kF32, lanes * 8);
  const auto out = b.Out("y", DType::kF32, int64_t{lanes} * chains * target.threads);
  const auto acc = b.Registers("acc", DType::kF32, lanes, chains);
  const auto factors = b.Registers("f", DType::kF32, lanes, 6);
  b.Parallel("p", target.threads, [&](const ir::ExprRef& p) {
    b.Unrolled("c", chains,
               [&](const ir::ExprRef& c) { b.Set(acc, c, ir::Float(DType::kF32, 0, lanes)); });
    b.Unrolled("c", 6, [&](const ir::ExprRef& c) {
      b.Set(factors, c, b.Load(in, c * int64_t{lanes}, lanes));
    });
    b.For("k", kSteps, [&](const ir::ExprRef&) {
      b.Unrolled("c", chains / 6, [&](const ir::ExprRef& c) {
        b.Unrolled("f", 6, [&](const ir::ExprRef& f) {
          const auto index = c * int64_t{6} + f;
          const auto other = b.Get(factors, ir::Mod(f + 1, 6));
          b.Set(acc, index,
                ir::MakeApply(ScalarOp::kFma, {b.Get(factors, f), other, b.Get(acc, index)}));
        });
      });
    });
    b.Unrolled("c", chains, [&](const ir::ExprRef& c) {
      b.Store(out, (p * int64_t{chains} + c) * int64_t{lanes}, b.Get(acc, c));
    });
  });
  const ir::Kernel kernel = b.Finish();
  const auto object = codegen::CompileToObject({&kernel}, target);
  if (!object.ok()) return;
  auto loaded = build::LoadObject(*object);
  if (!loaded.ok()) return;
  object_ = std::move(*loaded);
  const auto phases = object_->Phases("peak", 1);
  if (phases.ok()) phases_ = *phases;
  out_ = AlignedBuffer(int64_t{lanes} * chains * target.threads * 4);
  flops_ = 2.0 * lanes * chains * kSteps * target.threads;
}

// GFLOP/s of one burst.
double Peak::Measure(Threads& threads) {
  void* buffers[] = {in_.data(), out_.data(), nullptr, nullptr};
  const double start = Seconds();
  threads.Run(phases_[0], buffers, threads_);
  return flops_ / (Seconds() - start) * 1e-9;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Candidate {
  schedule::Config config;
  std::unique_ptr<RunnableKernel> kernel;
  std::string error;
  double seconds = 0;
  double difference = 0;  // from the first candidate
};

// The fused multiply-adds that a kernel executes for its result, times two: a direct kernel skips
// taps in the padding, Winograd's products are fewer. Transforms and unused lanes are not counted.
double ExecutedFlops(const graph::Workload& workload, const schedule::Config& config) {
  const auto p = schedule::FindContraction(workload);
  if (!p) return workload.Flops();
  if (config.family == "winograd") {
    const int64_t m = config["m"];
    const int64_t tiles = ((p->inner.out + m - 1) / m) * ((p->outer[1].out + m - 1) / m);
    return 2.0 *
           static_cast<double>(p->Batches() * tiles * (m + 2) * (m + 2) * p->depth * p->columns);
  }
  const auto inside = [](const schedule::RowAxis& axis) {
    int64_t count = 0;
    for (int64_t at = 0; at < axis.out; ++at) {
      for (int64_t tap = 0; tap < axis.taps; ++tap) {
        const int64_t input = at * axis.stride - axis.pad + tap * axis.dilation;
        count += input >= 0 && input < axis.in ? 1 : 0;
      }
    }
    return static_cast<double>(count);
  };
  return 2.0 * static_cast<double>(p->Batches() * p->depth * p->columns) * inside(p->inner) *
         inside(p->outer[0]) * inside(p->outer[1]);
}

std::vector<Candidate> Sample(const Task& task, const target::Target& target,
                              const Options& options) {
  Rng rng(static_cast<uint64_t>(options.seed));
  std::vector<Candidate> candidates;
  if (!options.config.empty()) {
    for (size_t at = 0; at < options.config.size();) {
      const size_t end = std::min(options.config.find(';', at), options.config.size());
      const auto config = schedule::Config::Parse(options.config.substr(at, end - at));
      if (config.ok()) {
        candidates.push_back({*config, nullptr, "", 0, 0});
      } else {
        std::printf("  %s\n", config.status().ToString().c_str());
      }
      at = end + 1;
    }
    return candidates;
  }
  std::vector<const schedule::Family*> families;
  for (const auto* family : schedule::FamiliesFor(task.workload, target)) {
    if (options.family.empty() || family->name() == options.family) families.push_back(family);
  }
  // The direct kernel comes first: its result is what others are compared with.
  std::stable_sort(families.begin(), families.end(), [](const auto* a, const auto* b) {
    return (a->name() == "contraction") > (b->name() == "contraction");
  });
  std::set<std::string> seen;
  for (const auto* family : families) {
    candidates.push_back({family->Default(task.workload, target), nullptr, "", 0, 0});
    seen.insert(candidates.back().config.ToText());
    const schedule::Space space = family->MakeSpace(task.workload, target);
    const size_t wanted = candidates.size() + static_cast<size_t>(options.trials) / families.size();
    for (int tries = 0; tries < 20000 && candidates.size() < wanted; ++tries) {
      const auto config =
          space.At(static_cast<int64_t>(rng.Below(static_cast<uint64_t>(space.NumPoints()))));
      if (family->Check(task.workload, target, config) != schedule::RejectReason::kNone) continue;
      if (seen.insert(config.ToText()).second) candidates.push_back({config, nullptr, "", 0, 0});
    }
  }
  return candidates;
}

void Build(const Task& task, const target::Target& target, WorkloadData& data,
           std::vector<Candidate>& candidates) {
  const auto work = [&](size_t first) {
    for (size_t i = first; i < candidates.size(); i += 2) {
      auto built = RunnableKernel::Create(task.workload, target, candidates[i].config, data);
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
}

// Largest difference from the first candidate's output, relative to its largest value.
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

// Shares are of the peak measured around the timings; nominal counts every tap and no less for
// Winograd.
struct Best {
  double tuned = 0;  // seconds of the fastest
  double first = 0;  // of the default
  double peak = 0;   // GFLOP/s
  double nominal = 0;
  double executed = 0;
  double direct_nominal = 0;  // of the fastest direct kernel
  double direct_executed = 0;
  double first_nominal = 0;
};

Best RunTask(const Task& task, const target::Target& target, Threads& threads, Peak& burst,
             const ColdWeights& cold, const Options& options) {
  WorkloadData data(task.workload, 7);
  std::vector<Candidate> candidates = Sample(task, target, options);
  const double start = Seconds();
  Build(task, target, data, candidates);
  const double built = Seconds() - start;
  std::vector<float> reference;
  for (Candidate& c : candidates) {
    if (!c.kernel) {
      std::printf("  %s: %s\n", c.config.ToText().c_str(), c.error.c_str());
      continue;
    }
    AlignedBuffer& out = data.outputs[0];
    std::memset(out.data(), 0xff, static_cast<size_t>(out.size()));
    c.kernel->Run(threads);
    const auto* values = reinterpret_cast<const float*>(out.data());
    if (reference.empty()) reference.assign(values, values + out.size() / 4);
    const double difference = Difference(out, reference);
    if (!(difference < 1e-3)) {
      std::printf("  WRONG %g %s\n", difference, c.config.ToText().c_str());
      c.kernel.reset();
      continue;
    }
    c.difference = difference;
    if (options.cold > 0) c.kernel->UseCold(cold);
    c.seconds = c.kernel->Time(threads, 3, 0.003);
  }
  std::erase_if(candidates, [](const Candidate& c) { return !c.kernel; });
  if (candidates.empty()) return {};
  const auto preferred = schedule::FamiliesFor(task.workload, target);
  const std::string default_text = options.config.empty() && options.family.empty()
                                       ? preferred[0]->Default(task.workload, target).ToText()
                                       : candidates[0].config.ToText();
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.seconds < b.seconds; });
  const auto is_direct = [](const Candidate& c) { return c.config.family != "winograd"; };
  std::vector<bool> final(candidates.size());
  int all = 0, direct = 0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const bool enough = all >= 6 && (!is_direct(candidates[i]) || direct >= 4);
    final[i] = !enough || candidates[i].config.ToText() == default_text;
    ++all;
    direct += is_direct(candidates[i]) ? 1 : 0;
  }
  // Finalists are timed again in turns, each between two bursts at the machine's peak.
  std::vector<double> peaks;
  std::vector<std::vector<double>> times(candidates.size());
  std::vector<std::vector<double>> rates(candidates.size());  // 1 / (seconds * peak beside)
  for (int round = 0; round < 9; ++round) {
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (!final[i]) continue;
      if (options.cold > 0) candidates[i].kernel->UseCold(cold);
      const double before = burst.Measure(threads);
      times[i].push_back(candidates[i].kernel->Time(threads, 1, options.cold > 0 ? 0.012 : 0.003));
      peaks.push_back(burst.Measure(threads));
      rates[i].push_back(2 / (times[i].back() * (before + peaks.back())));
    }
  }
  const auto problem = schedule::FindContraction(task.workload);
  const double flops = problem ? problem->Flops() : task.workload.Flops();
  Best result;
  result.peak = Median(peaks);
  const Candidate* best = nullptr;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (!final[i]) continue;
    Candidate& c = candidates[i];
    c.seconds = Median(times[i]);
    const double rate = Median(rates[i]) * 1e-9;  // share of the peak per FLOP
    const double executed = ExecutedFlops(task.workload, c.config) * rate;
    if (!best || c.seconds < best->seconds) {
      best = &c;
      result.tuned = c.seconds;
      result.nominal = flops * rate;
      result.executed = executed;
    }
    if (is_direct(c) && executed > result.direct_executed) {
      result.direct_executed = executed;
      result.direct_nominal = flops * rate;
    }
    if (c.config.ToText() == default_text) {
      result.first = c.seconds;
      result.first_nominal = flops * rate;
    }
  }
  std::printf(
      "%-22s x%-2d %8.1f us %5.1f%% of %.0f  executed %5.1f%%  direct %5.1f%%, executed %5.1f%%  "
      "default %5.1f%%  n=%zu %.0fms/build diff %.0e  %s\n",
      task.name.c_str(), task.count, result.tuned * 1e6, 100 * result.nominal, result.peak,
      100 * result.executed, 100 * result.direct_nominal, 100 * result.direct_executed,
      100 * result.first_nominal, candidates.size(),
      built * 1e3 / static_cast<double>(candidates.size()), best->difference,
      best->config.ToText().c_str());
  for (size_t i = 0; i < candidates.size() && !options.config.empty(); ++i) {
    std::printf("  %8.1f us %s\n", candidates[i].seconds * 1e6,
                candidates[i].config.ToText().c_str());
  }
  std::fflush(stdout);
  return result;
}

// Geometric means over convolutions, each as often as the network has it.
struct Sums {
  double nominal = 0, executed = 0, direct_nominal = 0, direct_executed = 0, first = 0;
  double seconds = 0, first_seconds = 0;
  int count = 0;

  void Add(const Best& best, int times) {
    nominal += times * std::log(best.nominal);
    executed += times * std::log(best.executed);
    direct_nominal += times * std::log(best.direct_nominal);
    direct_executed += times * std::log(best.direct_executed);
    first += times * std::log(best.first_nominal);
    seconds += times * best.tuned;
    first_seconds += times * best.first;
    count += times;
  }
  void Print() const {
    if (count == 0) return;
    const auto mean = [&](double sum) { return 100 * std::exp(sum / count); };
    std::printf("%d convolutions, geometric mean of the share of the FMA peak:\n", count);
    std::printf("  direct kernels       executed %5.1f%%  nominal %5.1f%%\n", mean(direct_executed),
                mean(direct_nominal));
    std::printf("  fastest of all       executed %5.1f%%  nominal %5.1f%%  sum %.2f ms\n",
                mean(executed), mean(nominal), seconds * 1e3);
    std::printf("  without a search                      nominal %5.1f%%  sum %.2f ms\n",
                mean(first), first_seconds * 1e3);
  }
};

int Main(const Options& options) {
  target::Target target = target::DetectHost(options.threads);
  Threads threads(options.threads);
  Peak peak(target);
  const ColdWeights cold(options.cold << 20);
  for (int i = 0; i < 50; ++i) peak.Measure(threads);
  std::printf("peak %.1f GFLOP/s, %d threads\n", peak.Measure(threads), options.threads);
  const double start = Seconds();
  std::vector<Task> tasks;
  for (const ConvCase& c : ResNet50Convolutions()) {
    auto workload = MakeConv(c);
    if (workload.ok())
      tasks.push_back({NameOf(c), *workload, c.count});
    else
      std::printf("%s\n", workload.status().ToString().c_str());
  }
  const size_t convolutions = tasks.size();
  for (const ConvCase& c : MobileNetDepthwise()) {
    auto workload = MakeConv(c);
    if (workload.ok()) tasks.push_back({NameOf(c), *workload, c.count});
  }
  for (const DenseCase& c : BertDense()) {
    auto workload = MakeDense(c);
    if (workload.ok()) tasks.push_back({NameOf(c), *workload, c.count});
  }
  Sums sums;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (!options.only.empty() && tasks[i].name.find(options.only) == std::string::npos) continue;
    if (Seconds() - start > options.seconds) {
      std::printf("out of time before %s\n", tasks[i].name.c_str());
      break;
    }
    const Best best = RunTask(tasks[i], target, threads, peak, cold, options);
    if (i < convolutions && best.tuned > 0) sums.Add(best, tasks[i].count);
  }
  sums.Print();
  return 0;
}

}  // namespace
}  // namespace mlc::bench

int main(int argc, char** argv) {
  mlc::bench::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = argument.find('=');
    const std::string key = argument.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : argument.substr(equals + 1);
    if (key == "trials")
      options.trials = std::stoi(value);
    else if (key == "threads")
      options.threads = std::stoi(value);
    else if (key == "only")
      options.only = value;
    else if (key == "family")
      options.family = value;
    else if (key == "config")
      options.config = value;
    else if (key == "seconds")
      options.seconds = std::stod(value);
    else if (key == "cold")
      options.cold = std::stoll(value);
    else if (key == "seed")
      options.seed = std::stoll(value);
    else {
      std::fprintf(stderr, "conv_bench: unknown argument '%s'\n", argument.c_str());
      return 64;
    }
  }
  return mlc::bench::Main(options);
}
