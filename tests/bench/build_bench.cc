// Where the time of builds for a GPU goes: configs of a model's tasks that a search would try, so
// many of each family, built one after the other as the worker builds them, each in a sandboxed
// child of a process whose compilers are warm.
//   build_bench MODEL [configs=2] [precision=fp16] [seed=1] [arch=sm_90a] [dump=DIR]
// Needs NVRTC and no GPU. configs=0: the default of every family instead. Names the configs that a
// worker would refuse. dump=DIR writes the CUDA C++ of every config there.
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "base/process/bytes.h"
#include "base/process/child.h"
#include "base/rng.h"
#include "compiler/codegen/cuda/cuda.h"
#include "compiler/front/front.h"
#include "compiler/schedule/space/family.h"
#include "tests/bench/arguments.h"
#include "tests/bench/likely_configs.h"
#include "worker/build/built_kernel.h"
#include "worker/device/cuda/service_kernels.h"

namespace mlc {
namespace {

// An A100 is the oldest device with everything, an H200 the newest.
constexpr char kA100[] = "target v1 cuda arch=sm_80 sms=108 block=166912 sm=167936 l2=41943040";
constexpr char kH200[] = "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560";

using Clock = std::chrono::steady_clock;
double MsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Milliseconds of one build.
struct Stages {
  double lower = 0;    // parse, lower, verify
  double print = 0;    // to CUDA C++
  double compile = 0;  // NVRTC
  double weights = 0;  // preparations, by LLVM
  double child = 0;    // the rest: fork, sandbox, the result's way back
  double total = 0;
  double refused = 0;  // 1: registers spill or the compiler warns, as the worker would find
};

// What a build child does, with times.
std::string BuildWithTimes(const std::string& workload, const std::string& config,
                           const target::Target& target, build::Nvrtc& nvrtc) {
  Stages t;
  auto start = Clock::now();
  const auto parsed = graph::Workload::Parse(workload);
  auto lowered = schedule::LowerConfig(*parsed, target, *schedule::Config::Parse(config));
  const bool sound = lowered.ok() && lowered->kernel.Verify().ok();
  t.lower = MsSince(start);
  start = Clock::now();
  const auto source = codegen::PrintCuda(lowered->kernel, target);
  t.print = MsSince(start);
  start = Clock::now();
  const auto binary = nvrtc.Compile(source->text, target.gpu().CudaArch());
  t.compile = MsSince(start);
  start = Clock::now();
  std::vector<const ir::Kernel*> kernels;
  for (const auto& preparation : lowered->preparations) kernels.push_back(&preparation.kernel);
  if (!kernels.empty()) (void)codegen::CompileToObject(kernels, target::DetectHost(1));
  t.weights = MsSince(start);
  worker::ByteWriter out;
  for (double ms : {t.lower, t.print, t.compile, t.weights}) out.Put(ms);
  out.Put(sound && binary.ok());
  if (binary.ok()) {
    bool spills = !binary->performance_warnings.empty();
    for (const auto& r : binary->resources) spills |= r.spill_store_bytes + r.spill_load_bytes > 0;
    out.Put(spills ? 1.0 : 0.0);
    out.PutText(binary->image);
  }
  return out.Take();
}

Result<Stages> BuildInChild(const std::string& workload, const std::string& config,
                            const target::Target& target, build::Nvrtc& nvrtc) {
  const auto start = Clock::now();
  worker::Child::Options options;
  auto child = MLC_TRY(worker::Child::Start(options, [&](int pipe) {
    worker::WriteAll(pipe, BuildWithTimes(workload, config, target, nvrtc));
  }));
  pollfd waiting = {child.pipe(), POLLIN, 0};
  while (child.Read()) (void)poll(&waiting, 1, 1000);
  const int end = child.Reap();
  worker::ByteReader in(child.received());
  Stages t;
  for (double* ms : {&t.lower, &t.print, &t.compile, &t.weights}) *ms = in.Get<double>();
  if (!in.Get<bool>()) return Internal(config + " " + worker::DescribeEnd(end));
  t.refused = in.Get<double>();
  t.total = MsSince(start);
  t.child = t.total - t.lower - t.print - t.compile - t.weights;
  return t;
}

void Row(const std::string& name, std::vector<Stages> builds) {
  const auto mean = [&](double Stages::*stage) {
    double sum = 0;
    for (const Stages& t : builds) sum += t.*stage;
    return sum / static_cast<double>(builds.size());
  };
  std::sort(builds.begin(), builds.end(),
            [](const Stages& a, const Stages& b) { return a.total < b.total; });
  std::printf("%-26s %5zu %8.1f %7.1f %7.1f %8.1f %8.1f %6.1f %8.1f %7.0f%%\n", name.c_str(),
              builds.size(), mean(&Stages::total), mean(&Stages::lower), mean(&Stages::print),
              mean(&Stages::compile), mean(&Stages::weights), mean(&Stages::child),
              builds[builds.size() * 9 / 10].total, 100 * mean(&Stages::refused));
}

struct Flags {
  std::string model;
  int configs = 2;
  std::string precision = "fp16";
  std::string arch = "sm_90a";
  uint64_t seed = 1;
  std::string dump;
};

std::vector<schedule::Config> Defaults(const graph::Workload& workload,
                                       const target::Target& target) {
  std::vector<schedule::Config> configs;
  for (const schedule::Family* family : schedule::FamiliesFor(workload, target)) {
    configs.push_back(family->Default(workload, target));
  }
  return configs;
}

Status Dump(const graph::Workload& workload, const target::Target& target,
            const schedule::Config& config, const std::string& path) {
  const auto lowered = MLC_TRY(schedule::LowerConfig(workload, target, config));
  std::ofstream(path) << MLC_TRY(codegen::PrintCuda(lowered.kernel, target)).text;
  return Status();
}

Status Run(const Flags& flags) {
  const target::Target target =
      MLC_TRY(target::Target::Parse(flags.arch == "sm_80" ? kA100 : kH200));
  front::FrontOptions front;
  front.precision = MLC_TRY(graph::ParsePrecision(flags.precision));
  const graph::Program program =
      MLC_TRY(front::CompileFront(flags.model, {}, front::ForTarget(front, target), nullptr));
  const auto nvrtc = MLC_TRY(build::Nvrtc::Open(""));
  MLC_TRY(nvrtc->Compile(std::string(worker::ServiceSource()), target.gpu().CudaArch()));
  std::map<std::string, std::vector<Stages>> by_family;
  std::vector<Stages> all;
  Rng rng(flags.seed);
  int files = 0;
  for (const graph::Task& task : program.tasks) {
    const auto configs =
        flags.configs > 0
            ? bench::LikelyConfigs(task.workload, target, static_cast<size_t>(flags.configs), rng)
            : Defaults(task.workload, target);
    for (const schedule::Config& config : configs) {
      if (!flags.dump.empty()) {
        MLC_TRY(Dump(task.workload, target, config,
                     flags.dump + "/" + std::to_string(files++) + ".cu"));
      }
      const Stages t =
          MLC_TRY(BuildInChild(task.workload.ToText(), config.ToText(), target, *nvrtc));
      if (t.refused > 0) {
        std::printf("refused: %s for %s\n", config.ToText().c_str(),
                    task.workload.Summary().c_str());
      }
      all.push_back(t);
      by_family[config.family].push_back(t);
    }
  }
  std::printf("%-26s %5s %8s %7s %7s %8s %8s %6s %8s %8s   (ms, means)\n", "family", "built",
              "total", "lower", "print", "NVRTC", "weights", "child", "p90", "refused");
  for (const auto& [name, builds] : by_family) Row(name, builds);
  Row("all", all);
  return {};
}

}  // namespace
}  // namespace mlc

int main(int argc, char** argv) {
  mlc::Flags flags;
  for (const auto& [word, key, value, has_value] : mlc::bench::Arguments(argc, argv)) {
    if (key == "configs" && has_value) {
      flags.configs = std::stoi(value);
    } else if (key == "arch" && has_value) {
      flags.arch = value;
    } else if (key == "precision" && has_value) {
      flags.precision = value;
    } else if (key == "seed" && has_value) {
      flags.seed = std::stoull(value);
    } else if (key == "dump" && has_value) {
      flags.dump = value;
    } else {
      flags.model = word;
    }
  }
  if (flags.model.empty()) {
    std::fprintf(
        stderr,
        "build_bench MODEL [configs=2] [precision=fp16] [seed=1] [arch=sm_90a] [dump=DIR]\n");
    return 64;
  }
  const mlc::Status status = mlc::Run(flags);
  if (!status.ok()) std::fprintf(stderr, "build_bench: %s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
