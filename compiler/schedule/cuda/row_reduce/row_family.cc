#include "compiler/schedule/cuda/row_reduce/row_family.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "compiler/schedule/cuda/row_reduce/row_plan.h"
#include "compiler/schedule/cuda/tile/gpu_launch.h"

namespace mlc::schedule {

using graph::Op;
using graph::Workload;

namespace {

// 32-bit registers of a kept row, per thread.
constexpr int64_t kMaxKept = 64;
constexpr int64_t kMaxGroup = 1024;
constexpr int64_t kOtherRegisters = 28;
constexpr int64_t kBlockRegisters = 65536;
// Threads that keep one multiprocessor's memory busy.
constexpr int64_t kBusyThreads = 1024;

int64_t PowerOfTwo(int64_t value) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(1, value))));
}

gpu::RowPlan PlanOf(const RowProblem& problem, const Config& config) {
  return gpu::PlanRows(problem, static_cast<int>(config["lanes"]),
                       static_cast<int>(config["group"]), static_cast<int>(config["threads"]),
                       config["keep"] != 0, config["splits"]);
}

int64_t KeptRegisters(const gpu::RowPlan& plan) {
  return plan.slots() * plan.lanes * std::max(1, SizeOf(plan.problem.dtype) / 4);
}

std::vector<int64_t> PowersUpTo(int64_t first, int64_t last) {
  std::vector<int64_t> values;
  for (int64_t v = first; v <= last; v *= 2) values.push_back(v);
  return values;
}

}  // namespace

bool GpuRowReduceFamily::Accepts(const Workload& workload, const target::Target& target) const {
  return target.As<target::GpuTarget>() != nullptr && FindRowProblem(workload, 1).has_value();
}

std::optional<GpuRows> GpuRowReduceFamily::Find(const Workload& workload,
                                                const target::Target&) const {
  const std::optional<RowProblem> wide = gpu::FindGpuRows(workload);
  const std::optional<RowProblem> narrow = FindRowProblem(workload, 1);
  if (!wide || !narrow) return std::nullopt;
  return GpuRows{*wide, *narrow};
}

Space GpuRowReduceFamily::MakeSpace(const Workload& workload, const GpuRows& rows,
                                    const target::Target& target) const {
  const RowProblem& p = rows.wide;
  const bool single = gpu::IsSinglePass(workload, p);
  const int64_t length = p.Elements() / std::max<int64_t>(1, p.Rows()) /
                         (p.inner ? int64_t{p.lanes} : std::max<int64_t>(1, p.Columns()));
  const int64_t most_group = std::min(p.inner ? kMaxGroup : 32, PowerOfTwo(length));
  Space space{std::string(name()), version(), {}};
  space.knobs.push_back({"lanes", PowersUpTo(std::max(1, p.lanes / 4), p.lanes)});
  space.knobs.push_back({"group", PowersUpTo(1, most_group)});
  space.knobs.push_back({"threads", {64, 128, 256, 512, 1024}});
  space.knobs.push_back({"keep", single ? std::vector<int64_t>{0} : std::vector<int64_t>{0, 1}});
  const int64_t most_splits =
      single ? std::min<int64_t>(length / (8 * gpu::kRowUnroll), 4 * std::max(1, target.gpu().sms))
             : 1;
  space.knobs.push_back({"splits", PowersUpTo(1, std::max<int64_t>(1, most_splits))});
  return space;
}

RejectReason GpuRowReduceFamily::Check(const Workload&, const GpuRows& rows, const target::Target&,
                                       const Config& config) const {
  RowProblem wide = rows.narrow;
  wide.lanes = static_cast<int>(config["lanes"]);
  const gpu::RowPlan plan = PlanOf(wide, config);
  if (config["group"] > config["threads"]) return RejectReason::kTileExceedsShape;
  if (plan.keep && KeptRegisters(plan) > kMaxKept) return RejectReason::kRegisters;
  const int64_t kept = plan.keep ? KeptRegisters(plan) : 4 * plan.lanes;
  if ((kOtherRegisters + kept) * plan.threads > kBlockRegisters) return RejectReason::kRegisters;
  if (plan.splits != config["splits"]) return RejectReason::kRedundant;
  if (plan.splits > 1 && plan.per_split < int64_t{plan.group} * gpu::kRowUnroll) {
    return RejectReason::kParallelism;
  }
  // A thread alone with a long row reads memory that its neighbours do not.
  if (wide.inner && plan.group < 32 && plan.slots() > 64) return RejectReason::kParallelism;
  if (plan.block_bytes() > 49152) return RejectReason::kCache;
  return RejectReason::kNone;
}

KernelFacts GpuRowReduceFamily::Facts(const Workload& workload, const GpuRows& rows,
                                      const target::Target& target, const Config& config) const {
  const gpu::RowPlan plan = PlanOf(rows.wide, config);
  const RowProblem& p = plan.problem;
  KernelFacts facts;
  const double elements = static_cast<double>(p.Elements());
  const double bytes = workload.MinBytes();
  const double passes = gpu::IsSinglePass(workload, p) || plan.keep ? 1 : 3;
  const Op op = workload.graph()[p.anchor].op;
  const bool exponential = op == Op::kSoftmax || op == Op::kLogSoftmax;
  const double slots = static_cast<double>(plan.slots());
  facts.useful_flops = facts.flops = workload.Flops();
  facts.lane_fill = static_cast<double>(plan.vectors) / (slots * plan.group);
  facts.special_flops = exponential ? elements * InfoOf(ScalarOp::kExp).flops : 0;
  facts.l2_bytes = bytes + (passes - 1) * elements * SizeOf(p.dtype);
  facts.l3_bytes = facts.dram_bytes = bytes;
  facts.accumulators = std::min(slots, static_cast<double>(gpu::kRowUnroll));
  facts.inner_trip = slots;
  facts.body_ops = (plan.keep ? slots : gpu::kRowUnroll) * plan.lanes * (exponential ? 12 : 4);
  facts.scratch_bytes = plan.splits > 1 ? static_cast<double>(plan.items * plan.splits) * 8 : 0;
  facts.phases = 1;
  const double kept = plan.keep ? static_cast<double>(KeptRegisters(plan)) : 4.0 * plan.lanes;
  gpu::SetLaunch(
      target,
      {static_cast<double>(plan.item_blocks() * plan.splits), static_cast<double>(plan.threads),
       static_cast<double>(plan.block_bytes()), 28 + kept},
      facts);
  return facts;
}

Config GpuRowReduceFamily::Default(const Workload& workload, const GpuRows& rows,
                                   const target::Target& target) const {
  const RowProblem& p = rows.wide;
  const Space space = MakeSpace(workload, rows, target);
  const int64_t busy = std::max(1, target.gpu().sms) * kBusyThreads;
  Config config = space.At(0);
  gpu::SetKnob(space, config, "lanes", p.lanes);
  gpu::RowPlan plan = PlanOf(p, config);
  // About sixteen values a thread where rows are many; more threads for a row where they are few.
  int64_t group = PowerOfTwo(plan.vectors * plan.lanes / 16);
  if (p.inner) group = std::max(group, std::min<int64_t>(32, PowerOfTwo(plan.vectors)));
  if (!p.inner) group = std::min<int64_t>(16, PowerOfTwo(busy / plan.items / 2));
  group = std::min(group, PowerOfTwo(plan.vectors));
  if (p.inner && plan.items * group > busy * 4) group = std::max<int64_t>(32, group / 2);
  gpu::SetKnob(space, config, "group", group);
  const int64_t wanted = plan.items * config["group"] / std::max(1, target.gpu().sms);
  const int64_t threads = std::clamp<int64_t>(PowerOfTwo(wanted), p.inner ? 64 : 128, 256);
  gpu::SetKnob(space, config, "threads", std::max(threads, config["group"]));
  gpu::SetKnob(space, config, "keep", 1);
  if (Check(workload, rows, target, config) != RejectReason::kNone) {
    gpu::SetKnob(space, config, "keep", 0);
  }
  const int64_t used = plan.items * config["group"];
  if (used < busy / 2) gpu::SetKnob(space, config, "splits", busy / used);
  while (Check(workload, rows, target, config) != RejectReason::kNone && config["splits"] > 1) {
    gpu::SetKnob(space, config, "splits", config["splits"] / 2);
  }
  while (Check(workload, rows, target, config) != RejectReason::kNone &&
         config["group"] < group * 2 && config["group"] < config["threads"]) {
    gpu::SetKnob(space, config, "group", config["group"] * 2);
  }
  return config;
}

Result<LoweredKernel> GpuRowReduceFamily::Lower(const Workload& workload, const GpuRows& rows,
                                                const target::Target&, const Config& config) const {
  return gpu::LowerGpuRows(workload, PlanOf(rows.wide, config));
}

}  // namespace mlc::schedule
