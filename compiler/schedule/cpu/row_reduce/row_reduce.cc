#include "compiler/schedule/cpu/row_reduce/row_reduce.h"

#include <algorithm>

#include "compiler/schedule/cpu/chunk_balance.h"
#include "compiler/schedule/cpu/row_reduce/row_reduce_lower.h"

namespace mlc::schedule {

using graph::Op;
using graph::ValueId;
using graph::Workload;

namespace {

constexpr int64_t kGrainUnit = 1024;
// A row kept in scratch stays in the second-level cache.
constexpr int64_t kRowsInL2 = 2;
// A part of fewer elements is done before another thread would begin.
constexpr int64_t kMinPart = 4096;

int64_t Vectors(const RowProblem& p) { return (p.Columns() + p.lanes - 1) / p.lanes; }

// Two registers for the results, some for the arithmetic of exp.
bool FitsRegisters(const RowProblem& p, const target::Target& target) {
  return p.inner && p.lanes > 1 && p.Reduced() == 1 &&
         Vectors(p) <= target.cpu().vector_registers() / 2 && p.dtype == DType::kF32;
}

int64_t RowBytes(const RowProblem& p, int64_t chains) {
  const int64_t width = p.inner ? Vectors(p) * p.lanes : chains * p.lanes;
  return p.Reduced() * width * SizeOf(p.dtype);
}

bool IsSinglePass(const Workload& workload, const RowProblem& p) {
  const graph::Value& node = workload.graph()[p.anchor];
  return node.op == Op::kReduce && node.Word("kind") != "log_sum_exp";
}

int64_t RowBlock(const RowProblem& p, int64_t grain) {
  const int64_t row =
      p.inner ? p.Elements() / std::max<int64_t>(1, p.Rows()) : p.Reduced() * p.Columns();
  return std::clamp<int64_t>(grain * kGrainUnit / std::max<int64_t>(1, row), 1,
                             std::max<int64_t>(1, p.Rows()));
}

double OutputBytes(const Workload& workload) {
  double bytes = 0;
  for (ValueId output : workload.outputs()) {
    const graph::TensorType& type = workload.graph()[output].type;
    bytes += static_cast<double>(type.NumElements()) * SizeOf(type.dtype);
  }
  return bytes;
}

int64_t Chunks(const RowProblem& p, const Config& config) {
  const int64_t block = RowBlock(p, config["grain"]);
  const int64_t rows = (p.Rows() + block - 1) / block * config["parts"];
  if (p.inner) return rows;
  const int64_t width = std::min(config["chains"], Vectors(p)) * p.lanes;
  return rows * ((p.Columns() + width - 1) / width);
}

bool IsNorm(const Workload& workload, const RowProblem& p) {
  return workload.graph()[p.anchor].op == Op::kLayerNorm;
}

bool CanPipeline(const Workload& workload, const RowProblem& p) {
  return workload.graph()[p.anchor].op == Op::kSoftmax && p.inner && p.Rows() > 1;
}

bool CanCut(const Workload& workload, const RowProblem& p) {
  return IsSinglePass(workload, p) || IsNorm(workload, p);
}

// Rows too few for the threads are cut into parts.
std::vector<int64_t> PartsOf(const Workload& workload, const RowProblem& p,
                             const target::Target& target) {
  std::vector<int64_t> parts = {1};
  const int64_t rows = p.Rows() * (p.inner ? 1 : Vectors(p));
  if (!CanCut(workload, p) || rows >= 4 * int64_t{target.cpu().threads}) return parts;
  for (int64_t n = 2; n <= 64 && n <= 16 * int64_t{target.cpu().threads}; n *= 2) {
    if (n * kMinPart * p.Rows() <= p.Elements() && n <= CutUnits(p, 1)) parts.push_back(n);
  }
  return parts;
}

}  // namespace

bool RowReduceFamily::Accepts(const Workload& workload, const target::Target& target) const {
  if (target.As<target::CpuTarget>() == nullptr) return false;
  return FindRowProblem(workload, target).has_value();
}

std::optional<RowProblem> RowReduceFamily::Find(const Workload& workload,
                                                const target::Target& target) const {
  return FindRowProblem(workload, target);
}

Space RowReduceFamily::MakeSpace(const Workload& workload, const RowProblem& p,
                                 const target::Target& target) const {
  Space space{"row_reduce", version(), {}};
  std::vector<int64_t> chains;
  for (int64_t n : {1, 2, 4, 8}) {
    if (n <= Vectors(p)) chains.push_back(n);
  }
  std::vector<int64_t> keep = {0};
  const Op op = workload.graph()[p.anchor].op;
  if (!IsSinglePass(workload, p) && (!p.plain || op == Op::kSoftmax)) keep.push_back(1);
  if (!IsSinglePass(workload, p) && FitsRegisters(p, target)) keep.push_back(2);
  if (CanPipeline(workload, p)) keep.push_back(3);
  std::vector<int64_t> grains;
  for (int64_t grain : {1, 4, 16, 64}) {
    if (grain == 1 || RowBlock(p, grain) > RowBlock(p, grain / 4)) grains.push_back(grain);
  }
  const bool spills = OutputBytes(workload) > static_cast<double>(target.cpu().l2_bytes);
  space.knobs.push_back({"chains", chains});
  space.knobs.push_back({"keep", keep});
  space.knobs.push_back({"grain", grains});
  space.knobs.push_back({"streaming", spills && p.same_space && p.lanes > 1
                                          ? std::vector<int64_t>{0, 1}
                                          : std::vector<int64_t>{0}});
  const bool fetches = p.inner && !IsSinglePass(workload, p) && !p.streams.empty() && p.Rows() > 1;
  space.knobs.push_back(
      {"prefetch", fetches ? std::vector<int64_t>{0, 1, 2, 3} : std::vector<int64_t>{0}});
  space.knobs.push_back({"parts", PartsOf(workload, p, target)});
  return space;
}

RejectReason RowReduceFamily::Check(const Workload&, const RowProblem& p,
                                    const target::Target& target, const Config& config) const {
  if (config["chains"] > Vectors(p)) return RejectReason::kTileExceedsShape;
  const auto storage = static_cast<RowStorage>(config["keep"]);
  const bool pipelined = storage == RowStorage::kPipelined;
  if ((storage == RowStorage::kScratch || pipelined) &&
      RowBytes(p, config["chains"]) * kRowsInL2 > target.cpu().l2_bytes) {
    return RejectReason::kCache;
  }
  // Only one pass prefetches, and a chunk of one row has no row to store later.
  if (pipelined && (config["prefetch"] > 1 || RowBlock(p, config["grain"]) == 1)) {
    return RejectReason::kRedundant;
  }
  if (storage == RowStorage::kRegisters &&
      Vectors(p) + config["chains"] + 6 > target.cpu().vector_registers()) {
    return RejectReason::kRegisters;
  }
  if (config["parts"] > 1) {
    if (config["parts"] > CutUnits(p, config["chains"])) return RejectReason::kTileExceedsShape;
    if (config["grain"] > 1) return RejectReason::kRedundant;
    // Nothing that a thread keeps outlives a phase.
    if (storage != RowStorage::kNone) return RejectReason::kUnsupported;
  }
  const int64_t chunks = Chunks(p, config);
  if (chunks < target.cpu().threads && config["grain"] > 1) return RejectReason::kParallelism;
  return RejectReason::kNone;
}

KernelFacts RowReduceFamily::Facts(const Workload& workload, const RowProblem& p,
                                   const target::Target& target, const Config& config) const {
  KernelFacts facts;
  const double elements = static_cast<double>(p.Elements());
  const double bytes = workload.MinBytes();
  const double read = elements * SizeOf(p.dtype);
  const Op op = workload.graph()[p.anchor].op;
  const bool exponential = op == Op::kSoftmax || op == Op::kLogSoftmax;
  const double passes = IsSinglePass(workload, p) ? 1 : 3;
  const auto storage = static_cast<RowStorage>(config["keep"]);
  const double chains = static_cast<double>(config["chains"]);
  facts.useful_flops = workload.Flops();
  facts.lane_fill = static_cast<double>(p.Columns()) / static_cast<double>(Vectors(p) * p.lanes);
  facts.flops = facts.useful_flops / facts.lane_fill;
  const double each = InfoOf(ScalarOp::kExp).flops;
  const bool twice = storage == RowStorage::kNone && op == Op::kSoftmax;
  facts.special_flops = exponential ? elements * each * (twice ? 2 : 1) : 0;
  facts.accumulators = chains;
  facts.l1_bytes = storage == RowStorage::kRegisters ? bytes : bytes + (passes - 1) * read;
  const bool scratch = storage == RowStorage::kScratch || storage == RowStorage::kPipelined;
  facts.scratch_bytes = scratch ? (passes - 1) * read : 0;
  facts.l1_set_bytes = static_cast<double>(RowBytes(p, config["chains"]));
  const bool row_in_l1 = facts.l1_set_bytes < 0.75 * static_cast<double>(target.cpu().l1_bytes);
  facts.l2_bytes = bytes + (row_in_l1 ? 0 : (passes - 1) * read);
  facts.l2_set_bytes = facts.l1_set_bytes;
  facts.l3_bytes = bytes;
  facts.dram_bytes = bytes + (config["streaming"] != 0 ? 0 : OutputBytes(workload));
  facts.inner_trip =
      p.inner ? static_cast<double>(Vectors(p)) / chains : static_cast<double>(p.Reduced());
  facts.body_ops = storage == RowStorage::kRegisters ? 20.0 * static_cast<double>(Vectors(p))
                                                     : (exponential ? 16 : 4) * chains;
  facts.parallel_chunks = static_cast<double>(Chunks(p, config));
  facts.imbalance = ChunkImbalance(facts.parallel_chunks, target.cpu().threads);
  return facts;
}

Config RowReduceFamily::Default(const Workload& workload, const RowProblem& p,
                                const target::Target& target) const {
  const Space space = MakeSpace(workload, p, target);
  Config config = space.At(0);
  const auto set = [&](const std::string& name, int64_t wanted) {
    for (size_t i = 0; i < space.knobs.size(); ++i) {
      if (space.knobs[i].name != name) continue;
      const int64_t before = config.knobs[i].second;
      for (int64_t value : space.knobs[i].domain) {
        if (value <= wanted) config.knobs[i].second = value;
      }
      if (Check(workload, p, target, config) != RejectReason::kNone)
        config.knobs[i].second = before;
    }
  };
  const int64_t per_thread = p.Elements() / (4 * int64_t{target.cpu().threads} * kGrainUnit);
  set("chains", 4);
  // A part of a norm waits for all others twice.
  set("parts", (IsNorm(workload, p) ? 1 : 4) * int64_t{target.cpu().threads});
  set("grain", std::min<int64_t>(per_thread, 16));
  set("keep", 1);
  set("keep", 2);
  const double resident = 2.0 * static_cast<double>(target.cpu().l2_bytes) * target.cpu().threads;
  set("streaming", workload.MinBytes() > resident ? 1 : 0);
  // Arithmetic leaves memory idle, unless stores of the row before and loads of the next one go on.
  if (workload.MinBytes() <= resident) return config;
  if (IsSinglePass(workload, p) || FitsRegisters(p, target)) {
    set("prefetch", 2);
    return config;
  }
  set("grain", std::min<int64_t>(per_thread, 64));
  set("keep", 3);
  set("prefetch", 1);
  set("prefetch", 3);  // not in a software pipeline
  return config;
}

Result<LoweredKernel> RowReduceFamily::Lower(const Workload& workload, const RowProblem& p,
                                             const target::Target& target,
                                             const Config& config) const {
  RowKnobs knobs;
  knobs.chains = static_cast<int>(config["chains"]);
  knobs.storage = static_cast<RowStorage>(config["keep"]);
  knobs.row_block = RowBlock(p, config["grain"]);
  knobs.streaming = config["streaming"] != 0;
  knobs.prefetch = static_cast<PrefetchRows>(config["prefetch"]);
  knobs.parts = config["parts"];
  return LowerRows(workload, target, p, knobs);
}

}  // namespace mlc::schedule
