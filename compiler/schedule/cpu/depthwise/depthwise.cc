#include "compiler/schedule/cpu/depthwise/depthwise.h"

#include <algorithm>

#include "base/ceil_div.h"
#include "compiler/schedule/cpu/chunk_balance.h"
#include "compiler/schedule/cpu/contraction/contraction_segments.h"
#include "compiler/schedule/cpu/depthwise/depthwise_bytes.h"
#include "compiler/schedule/cpu/depthwise/depthwise_lower.h"
#include "compiler/schedule/problem/contraction_space.h"
#include "compiler/target/calibration.h"

namespace mlc::schedule {
namespace {

// Taps of a row are unrolled where they meet several channels.
constexpr int64_t kMaxGroupTaps = 7;
constexpr int64_t kMaxGroupBody = 640;  // multiply-adds

const std::vector<int64_t>& RowChunks() {
  static const std::vector<int64_t> counts = {1, 2, 4, 7, 8, 14, 16, 28};
  return counts;
}

const std::vector<int64_t>& ChannelChunks() {
  static const std::vector<int64_t> counts = {1, 2, 4, 8};
  return counts;
}

// Channels in memory have to be neighbours where a vector is more than one group.
bool Fits(const ContractionProblem& p, const target::Target& target) {
  const int64_t width = GroupWidth(p);
  if (width <= 1) return width == 1;
  return target.cpu().Lanes(DType::kF32) % width == 0 && p.row_k_stride == 1 &&
         p.inner.taps <= kMaxGroupTaps;
}

int64_t Units(const ContractionProblem& p, int inner_rows, int outer_rows) {
  return p.outer[1].dim >= 0 ? TileCount(p.outer[1], outer_rows) : TileCount(p.inner, inner_rows);
}

DepthwisePlan MakeDepthwisePlan(const ContractionProblem& p, const target::Target& target,
                                const Config& config) {
  DepthwisePlan plan;
  plan.lanes = target.cpu().Lanes(DType::kF32);
  plan.inner_rows = static_cast<int>(config["mr"]);
  plan.outer_rows = static_cast<int>(config["mh"]);
  plan.vectors = static_cast<int>(config["nv"]);
  plan.rows_first = config["rows_first"] != 0;
  plan.row_chunks = config["row_chunks"];
  plan.channel_chunks = config["ch_chunks"];
  plan.channels = Groups(p) * p.columns;
  plan.group_width = static_cast<int>(p.depth);
  plan.blocks = (plan.channels + plan.width() - 1) / plan.width();
  plan.row_units = Units(p, plan.inner_rows, plan.outer_rows);
  return plan;
}

int64_t Images(const ContractionProblem& p) { return p.Batches() / Groups(p); }

int64_t Chunks(const ContractionProblem& p, const DepthwisePlan& plan) {
  return Images(p) * p.outer[0].out * plan.row_chunks * plan.channel_chunks;
}

// Vector registers of a tile: sums, filters, operands.
int64_t Registers(const ContractionProblem& p, const DepthwisePlan& plan) {
  int64_t filters = plan.group_width > 1 ? p.inner.taps : plan.vectors;
  if (p.of_bytes) {
    filters = static_cast<int64_t>(WordsInside(p.outer[1], plan.outer_rows).words.size());
  }
  return int64_t{plan.inner_rows} * plan.outer_rows * plan.vectors + filters + 1;
}

// Elements of all filters.
int64_t FiltersOf(const ContractionProblem& p) { return Groups(p) * p.columns * p.K(); }

// Multiply-adds in the largest body without a loop.
int64_t BodyOps(const ContractionProblem& p, const DepthwisePlan& plan) {
  const int64_t chains = int64_t{plan.inner_rows} * plan.outer_rows * plan.vectors;
  if (p.of_bytes) return chains * p.inner.taps * CeilDiv(p.outer[1].taps, kTapsOfWord);
  return chains * plan.group_width *
         (plan.group_width > 1 ? p.inner.taps : std::min<int64_t>(p.inner.taps, 5));
}

RejectReason CheckPlan(const ContractionProblem& p, const target::Target& target,
                       const DepthwisePlan& plan) {
  const int64_t chains = int64_t{plan.inner_rows} * plan.outer_rows * plan.vectors;
  const int64_t vectors = (plan.channels + plan.lanes - 1) / plan.lanes;
  if (Registers(p, plan) > target.cpu().vector_registers()) return RejectReason::kRegisters;
  if ((plan.group_width > 1 || p.of_bytes) && BodyOps(p, plan) > kMaxGroupBody)
    return RejectReason::kCodeSize;
  if (plan.vectors > vectors) return RejectReason::kTileExceedsShape;
  if (plan.row_chunks > plan.row_units || plan.channel_chunks > plan.blocks) {
    return RejectReason::kRedundant;
  }
  const int64_t reachable = std::min<int64_t>(4, p.inner.out * p.outer[1].out * vectors);
  // Of many taps and channels, four rows may be too long a body.
  const int64_t wanted = plan.group_width > 1 ? 2 : 4;
  if (chains < reachable && chains < std::min<int64_t>(wanted, p.inner.out)) {
    return RejectReason::kTooFewChains;
  }
  const int64_t most = Images(p) * p.outer[0].out * LargestUpTo(RowChunks(), plan.row_units) *
                       LargestUpTo(ChannelChunks(), plan.blocks);
  if (Chunks(p, plan) < std::min<int64_t>(target.cpu().threads, most)) {
    return RejectReason::kParallelism;
  }
  if (plan.row_chunks * plan.channel_chunks > 16 * target.cpu().threads) {
    return RejectReason::kParallelism;
  }
  return RejectReason::kNone;
}

// Where registers are few, tiles of several rows read less, but for what wider groups share. Rows
// of bytes share words.
std::vector<int64_t> HeightsOfDefaults(const ContractionProblem& p, const Space& space,
                                       const target::Target& target) {
  const bool one = target.cpu().vector_registers() >= 32 && !p.of_bytes;
  if (one || p.depth > 1) return {1};
  return DomainOf(space, "mh");
}

// Inputs along an axis that so many outputs read.
double Reach(const RowAxis& axis, int64_t rows) {
  return static_cast<double>((rows - 1) * axis.stride + (axis.taps - 1) * axis.dilation + 1);
}

// Operands that are read for each multiply-add: one, but where groups are wider what was shuffled
// serves all taps.
double OperandsPerFma(const ContractionProblem& p, const DepthwisePlan& plan) {
  if (plan.group_width == 1) return 1;
  const int64_t products = plan.inner_rows * p.inner.taps;
  return std::min(1.0, Reach(p.inner, plan.inner_rows) / static_cast<double>(products));
}

// Instructions that place a byte of a word, and that turn sums into results.
constexpr double kByteOps = 2.25;
constexpr double kResultOps = 8;

// Instructions for a vector of results of bytes.
double OpsOfBytes(const ContractionProblem& p, const DepthwisePlan& plan) {
  const TapWords rows = WordsInside(p.outer[1], plan.outer_rows);
  double bytes = 0;
  for (const TapWord& word : rows.words) bytes += word.Bytes();
  const double dots =
      static_cast<double>(rows.uses.size()) * plan.inner_rows * static_cast<double>(p.inner.taps);
  const double ops = kByteOps * bytes * Reach(p.inner, plan.inner_rows) + dots;
  return ops / static_cast<double>(plan.inner_rows * plan.outer_rows) + kResultOps;
}

// Share of its best speed that a tile reaches.
double TileScore(const ContractionProblem& p, const target::DepthwiseCalibration& core,
                 const DepthwisePlan& plan, double chains) {
  if (plan.group_width > 1) {
    // A row of inputs is read once for each channel of a group. Its pixels lie a power of two apart
    // in many networks, where few of them stay in the first cache.
    return std::min(1.0, (chains + core.group_overlap) / core.group_chains) *
           std::min(1.0, core.group_pixels / Reach(p.inner, plan.inner_rows));
  }
  if (p.of_bytes) {
    return std::min(1.0, (chains + core.overlap) / core.chains) / OpsOfBytes(p, plan);
  }
  const double reads = Reach(p.inner, plan.inner_rows) * Reach(p.outer[1], plan.outer_rows) /
                       static_cast<double>(plan.inner_rows * plan.outer_rows);
  const double spills = chains > core.spilled_chains ? core.spilling : 1.0;
  return spills * std::min(1.0, (chains + core.overlap) / core.chains) /
         (1 + core.more_reads * reads);
}

// What a legal config guarantees by its tile and chunks.
double DefaultScore(const ContractionProblem& p, const target::DepthwiseCalibration& core,
                    const DepthwisePlan& plan, const KernelFacts& facts) {
  const double tile = TileScore(p, core, plan, facts.accumulators);
  const double chunks =
      1 + core.chunk * facts.parallel_chunks + (plan.channel_chunks > 1 ? core.channel_split : 0.0);
  return facts.lane_fill * tile / facts.imbalance / chunks;
}

}  // namespace

bool DepthwiseFamily::Accepts(const graph::Workload& workload, const target::Target& target) const {
  if (target.As<target::CpuTarget>() == nullptr) return false;
  const std::optional<ContractionProblem> p = FindContractionOrByteFilters(workload);
  return p && Fits(*p, target);
}

std::optional<ContractionProblem> DepthwiseFamily::Find(const graph::Workload& workload,
                                                        const target::Target& target) const {
  std::optional<ContractionProblem> p = FindContractionOrByteFilters(workload);
  if (p && !Fits(*p, target)) p.reset();
  return p;
}

Space DepthwiseFamily::MakeSpace(const graph::Workload&, const ContractionProblem& p,
                                 const target::Target& target) const {
  const int64_t channels = Groups(p) * p.columns;
  const int lanes = target.cpu().Lanes(DType::kF32);
  const int64_t units = p.outer[1].dim >= 0 ? p.outer[1].out : p.inner.out;
  const int64_t vectors = (channels + lanes - 1) / lanes;
  Space space{"depthwise", version(), {}};
  space.knobs.push_back({"mr", TileSizes(p.inner.out, 14)});
  space.knobs.push_back(
      {"mh", p.outer[1].dim >= 0 ? TileSizes(p.outer[1].out, 4) : std::vector<int64_t>{1}});
  // Vectors of wider groups share nothing: one at a time.
  space.knobs.push_back({"nv", UpTo({1, 2, 3, 4}, p.depth > 1 ? 1 : vectors)});
  space.knobs.push_back({"rows_first", {0, 1}});
  space.knobs.push_back({"row_chunks", UpTo(RowChunks(), units)});
  space.knobs.push_back({"ch_chunks", UpTo(ChannelChunks(), vectors)});
  return space;
}

RejectReason DepthwiseFamily::Check(const graph::Workload&, const ContractionProblem& p,
                                    const target::Target& target, const Config& config) const {
  return CheckPlan(p, target, MakeDepthwisePlan(p, target, config));
}

KernelFacts DepthwiseFamily::Facts(const graph::Workload& workload, const ContractionProblem& p,
                                   const target::Target& target, const Config& config) const {
  const DepthwisePlan plan = MakeDepthwisePlan(p, target, config);
  KernelFacts f;
  const auto padded = static_cast<double>(plan.blocks * plan.width());
  const double pixels = static_cast<double>(Images(p) * p.Rows());
  const auto taps = static_cast<double>(p.Taps());
  f.useful_flops = p.Flops();
  f.lane_fill = static_cast<double>(plan.channels) / padded;
  f.flops = p.Flops() / f.lane_fill;
  const double tiles =
      static_cast<double>(TileCount(p.inner, plan.inner_rows)) *
      static_cast<double>(p.outer[1].dim >= 0 ? TileCount(p.outer[1], plan.outer_rows) : 1);
  const double rows = static_cast<double>(p.inner.out * p.outer[1].out) / tiles;
  f.accumulators = rows * plan.vectors;
  f.loads_per_fma = OperandsPerFma(p, plan) + 1 / rows;
  f.inner_trip = static_cast<double>(p.inner.taps);
  f.l1_bytes = pixels * taps * padded * 4 * plan.group_width * f.loads_per_fma;
  const double x_bytes = workload.MinBytes();
  f.l1_set_bytes = taps * static_cast<double>(plan.width()) * 4 * (plan.group_width + rows);
  // Input rows that neighbouring output rows read again.
  const double row_bytes = static_cast<double>(p.inner.in) * (p.of_bytes ? 1 : 4) *
                           (plan.rows_first ? padded / static_cast<double>(plan.channel_chunks)
                                            : static_cast<double>(plan.width()));
  f.l2_set_bytes = row_bytes * static_cast<double>(p.outer[1].taps);
  f.l2_bytes = f.l2_set_bytes < static_cast<double>(target.cpu().l1_bytes)
                   ? x_bytes
                   : x_bytes * static_cast<double>(p.outer[1].taps);
  f.l3_bytes = x_bytes;
  f.dram_bytes = x_bytes;
  const double filter_bytes = static_cast<double>(FiltersOf(p)) * 4;
  if (plan.rows_first && filter_bytes > static_cast<double>(target.cpu().l1_bytes)) {
    f.l2_bytes += filter_bytes * tiles * static_cast<double>(Images(p) * p.outer[0].out);
  }
  f.parallel_chunks = static_cast<double>(Chunks(p, plan));
  f.imbalance = ChunkImbalance(f.parallel_chunks, target.cpu().threads);
  f.body_ops = static_cast<double>(BodyOps(p, plan));
  return f;
}

Config DepthwiseFamily::Default(const graph::Workload& workload, const ContractionProblem& p,
                                const target::Target& target) const {
  const target::DepthwiseCalibration& core = target::CalibrationOf(target.cpu()).depthwise;
  const Space space = MakeSpace(workload, p, target);
  Config config = space.At(0);
  Config best = config;
  double best_score = -1;
  const auto consider = [&] {
    const DepthwisePlan plan = MakeDepthwisePlan(p, target, config);
    if (CheckPlan(p, target, plan) != RejectReason::kNone) return;
    const double score = DefaultScore(p, core, plan, Facts(workload, p, target, config));
    if (score <= best_score) return;
    best_score = score;
    best = config;
  };
  SetKnob(config, "rows_first", 1);
  for (int64_t mr : DomainOf(space, "mr")) {
    SetKnob(config, "mr", mr);
    for (int64_t mh : HeightsOfDefaults(p, space, target)) {
      SetKnob(config, "mh", mh);
      for (int64_t nv : DomainOf(space, "nv")) {
        SetKnob(config, "nv", nv);
        for (int64_t row_chunks : DomainOf(space, "row_chunks")) {
          SetKnob(config, "row_chunks", row_chunks);
          for (int64_t ch_chunks : DomainOf(space, "ch_chunks")) {
            SetKnob(config, "ch_chunks", ch_chunks);
            consider();
          }
        }
      }
    }
  }
  return best;
}

Result<LoweredKernel> DepthwiseFamily::Lower(const graph::Workload& workload,
                                             const ContractionProblem& p,
                                             const target::Target& target,
                                             const Config& config) const {
  return LowerDepthwise(workload, p, MakeDepthwisePlan(p, target, config));
}

}  // namespace mlc::schedule
