#include "compiler/schedule/cuda/tensor/tensor_plan.h"

#include <algorithm>

#include "compiler/schedule/cuda/tensor/tensor_facts.h"

namespace mlc::schedule {

namespace {

constexpr int kMaxRegisters = 232;
constexpr int kRoomyRegisters = 168;      // of a thread that still leaves room for others
constexpr int64_t kMaxStatements = 4096;  // matrix operations of one step, expanded
constexpr int kLeastCopy = 4;             // bytes of an asynchronous copy

int64_t Ceil(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t TileElements(const TensorTile& tile) {
  const int64_t dense = int64_t{tile.extent} * tile.bk * tile.parts;
  return tile.mode == TileMode::kAcross ? tile.pitch() * tile.bk : dense;
}

}  // namespace

bool TensorMathOf(const GpuContraction& g, TensorMath* math) {
  if (g.p.of_float8) {
    *math = TensorMath::kFloat8;
    return true;
  }
  if (g.p.of_bytes) {
    *math = TensorMath::kBytes;
    return true;
  }
  if (g.p.row_dtype != g.p.column_dtype) return false;
  switch (g.p.row_dtype) {
    case DType::kF16:
    case DType::kBF16:
      *math = TensorMath::kHalf;
      return true;
    case DType::kF32:
      *math = g.tf32 ? TensorMath::kTf32 : TensorMath::kTf32x3;
      return true;
    default:
      return false;
  }
}

TileMode ModeOf(const GpuContraction& g, Side side) {
  if (side == Side::kColumn && g.p.column_is_weight) return TileMode::kPacked;
  const int chunk = static_cast<int>(16 / SizeOf(g.p.row_dtype));
  const int along_k = ContiguousAlongK(g, side, chunk);
  // Of bytes, copies may be shorter, and no instruction takes what lies across.
  if (g.p.of_bytes) return along_k >= kLeastCopy ? TileMode::kAlongK : TileMode::kElements;
  if (along_k == chunk) return TileMode::kAlongK;
  // A row fragment of 4-byte elements is no regular pattern of memory laid out across.
  const bool across = g.p.row_dtype != DType::kF32 || side == Side::kColumn;
  if (across && ContiguousAcross(g, side, chunk) == chunk) return TileMode::kAcross;
  return TileMode::kElements;
}

int64_t TensorPlan::block_bytes() const {
  if (byte_results) {
    const int64_t results = bm * result_pitch(), row_stages = stages * rows.elements;
    const int64_t both = guest ? results + row_stages : std::max(results, row_stages);
    return both + stages * columns.elements;
  }
  if (splits_stages()) {
    return std::max(stages * rows.elements, sum_elements() * 4) + stages * columns.elements;
  }
  return std::max(stages * stage_elements() * SizeOf(dtype), sum_elements() * 4);
}

int TensorPlan::sets() const {
  if (warpgroups) return units();
  if (is_narrow()) return 2;
  return units() > 1 && registers(2) <= kRoomyRegisters ? 2 : 1;
}

int TensorPlan::registers(int sets) const {
  const int r = row_tiles();
  const int c = column_tiles();
  int count = 24 + r * c * 4;
  if (warpgroups) {
    count += 8;
    // Sums apart; fragments of a step, and both parts of those that are multiplied.
    if (splits_rows()) count += r * c * 4 + 3 * 16 * r;
  } else if (is_narrow()) {
    count += 8 + 4 * r + 2 * c;
  } else {
    // What rounding leaves of the operands comes and goes.
    count += sets * (8 * r + 4 * c);
    if (math == TensorMath::kTf32x3) count += row_group() * c * chains() * 4;
  }
  // Addresses of the copies of a thread; of elements, each has a tap of its own. Of bytes a thread
  // has so many that the compiler does not keep all of an address.
  for (const TensorTile* tile : {&rows, &columns}) {
    const bool elements = tile->mode == TileMode::kElements;
    const int64_t size = int64_t{tile->extent} * tile->bk / (elements ? 1 : tile->run);
    const int parts = static_cast<int>(Ceil(size, threads()));
    if (elements) count += parts * (math == TensorMath::kBytes ? 4 : 6);
    if (!elements && tile->mode != TileMode::kPacked) count += std::min(parts, 8) * 3;
  }
  return count;
}

void CountSteps(const GpuContraction& g, TensorPlan* plan) {
  const int bytes = static_cast<int>(SizeOf(plan->dtype));
  const int parts = plan->splits_rows() ? 2 : 1;
  plan->rows = {Side::kRow, ModeOf(g, Side::kRow), plan->bm, plan->bk, bytes, 1, 0, 0};
  plan->columns = {Side::kColumn, ModeOf(g, Side::kColumn), plan->bn, plan->bk, bytes, parts, 0, 0};
  for (TensorTile* tile : {&plan->rows, &plan->columns}) {
    const bool short_runs = g.p.of_bytes && tile->mode == TileMode::kAlongK;
    tile->run = short_runs ? ContiguousAlongK(g, tile->side, tile->chunk()) : tile->chunk();
  }
  plan->rows.elements = TileElements(plan->rows);
  plan->columns.elements = TileElements(plan->columns);
  plan->m_tiles = Ceil(g.m, plan->bm);
  plan->n_tiles = Ceil(g.n, plan->bn);
  plan->k_steps = Ceil(g.k, plan->bk);
  plan->split_steps = Ceil(plan->k_steps, plan->split);
}

TensorPlan MakeTensorPlan(const GpuContraction& g, const Config& config) {
  TensorPlan plan;
  plan.dtype = g.p.row_dtype;
  TensorMathOf(g, &plan.math);
  const auto knob = [&](const char* name) { return static_cast<int>(config[name]); };
  plan.bm = knob("bm");
  plan.bn = knob("bn");
  plan.bk = knob("bk");
  plan.warps_m = knob("warps_m");
  plan.warps_n = knob("warps_n");
  plan.slices = knob("slices");
  plan.stages = knob("stages");
  const KSplit split = SplitOf(config["split"]);
  plan.split = split.parts;
  plan.cluster = split.cluster;
  plan.raster = knob("raster");
  plan.resident = knob("resident");
  CountSteps(g, &plan);
  plan.byte_results = g.results.narrow && g.results.bytes == 1 && g.n % kBytesOfPiece == 0 &&
                      plan.split == 1 && plan.slices == 1;
  plan.guest = plan.byte_results && g.results.guest;
  return plan;
}

namespace {

// One block more than those that fit by estimate, where blocks wait for a place.
RejectReason CheckResident(const GpuContraction& g, const target::Target& target,
                           const TensorPlan& plan) {
  if (plan.resident == 0) return RejectReason::kNone;
  const int64_t fit = 65536 / (plan.registers() * plan.threads());
  if (fit * target.gpu().sms >= plan.blocks(g)) return RejectReason::kRedundant;
  if ((fit + 1) * (plan.block_bytes() + 1024) > target.gpu().sm_bytes)
    return RejectReason::kRedundant;
  const int64_t left = 65536 / ((fit + 1) * plan.threads());
  return left * 4 < plan.registers() * 3 ? RejectReason::kRegisters : RejectReason::kNone;
}

}  // namespace

RejectReason CheckTensorTiles(const GpuContraction& g, const target::Target& target,
                              const TensorPlan& plan) {
  // The smallest tile that covers the problem covers it as well as any larger one.
  const auto covers = [](int tile, int64_t extent) { return tile / 2 >= extent && tile > 16; };
  if (covers(plan.bm, g.m) || covers(plan.bn, g.n)) return RejectReason::kTileExceedsShape;
  const auto wasteful = [](int64_t tiles, int size, int64_t extent) {
    return size > 16 && 5 * tiles * size > 8 * Ceil(extent, 16) * 16;
  };
  if (wasteful(plan.m_tiles, plan.bm, g.m) || wasteful(plan.n_tiles, plan.bn, g.n)) {
    return RejectReason::kTileExceedsShape;
  }
  if (plan.registers() > kMaxRegisters || plan.registers() * plan.threads() > 65536) {
    return RejectReason::kRegisters;
  }
  if (plan.block_bytes() > target.gpu().block_bytes) return RejectReason::kCache;
  // Every part of a split has work, and enough of it.
  if (plan.split > 1) {
    if ((plan.split - 1) * plan.split_steps >= plan.k_steps) return RejectReason::kRedundant;
    const int64_t tiles = g.z * plan.m_tiles * plan.n_tiles;
    if (tiles >= 2 * target.gpu().sms) return RejectReason::kParallelism;
    // Small blocks share a multiprocessor.
    const int at_once = plan.threads() <= 128 ? 4 : 2;
    if (tiles * plan.split > at_once * target.gpu().sms) return RejectReason::kParallelism;
    if (plan.split_steps * plan.bk < 64) return RejectReason::kParallelism;
    // Clusters that wait for others to end take as long again.
    if (plan.cluster && static_cast<double>(plan.blocks(g)) >
                            UsableSms(target, plan.k_split()) * BlocksPerSm(target, plan)) {
      return RejectReason::kParallelism;
    }
  }
  const int64_t tile = int64_t{plan.bm} * plan.bn;
  if (4 * plan.blocks(g) < target.gpu().sms && tile > 64 * 64) return RejectReason::kParallelism;
  if (plan.stages > 2 && plan.stages > plan.split_steps + 1) return RejectReason::kRedundant;
  if (plan.raster != 0 && (plan.m_tiles == 1 || plan.n_tiles == 1)) return RejectReason::kRedundant;
  // The order of tiles matters when they do not run all at once.
  if (plan.raster != 0 && plan.blocks(g) <= 2 * target.gpu().sms) return RejectReason::kRedundant;
  if (plan.raster == 2 && plan.m_tiles % 8 != 0) return RejectReason::kRedundant;
  return RejectReason::kNone;
}

RejectReason CheckTensorPlan(const GpuContraction& g, const target::Target& target,
                             const TensorPlan& plan) {
  const int wr = plan.warp_rows();
  const int wc = plan.warp_columns();
  if (plan.bm % (16 * plan.warps_m) != 0 || plan.bn % (16 * plan.warps_n) != 0) {
    return RejectReason::kTileExceedsShape;
  }
  if (plan.bk / plan.unit_depth() % plan.slices != 0) return RejectReason::kRedundant;
  // Sums of a cluster's other blocks are read as floats.
  if (plan.cluster && plan.math == TensorMath::kBytes) return RejectReason::kRedundant;
  for (const TensorTile* tile : {&plan.rows, &plan.columns}) {
    if (tile->bk / tile->run > plan.threads()) return RejectReason::kRedundant;
  }
  if (plan.warps() > 16) return RejectReason::kRegisters;
  // Warps of flat tiles read more than they multiply; many small warps only wait for each other.
  if (wr > 4 * wc || wc > 4 * wr) return RejectReason::kRedundant;
  const int64_t tile = int64_t{plan.bm} * plan.bn;
  if (wr * wc < 512 && tile > wr * wc * 2) return RejectReason::kRedundant;
  if (plan.warps() > 8 && (plan.slices > 1 || tile < 128 * 128)) return RejectReason::kRedundant;
  if (int64_t{wr} / 16 * (wc / 8) * plan.units() > kMaxStatements) return RejectReason::kCodeSize;
  const bool one_unit = plan.rows.narrow() && plan.bk == plan.unit_depth();
  if (one_unit && g.k > 16 * plan.bk) return RejectReason::kRedundant;
  // Warps that share a tile pay for their reduction only when the tile has too few warps.
  if (plan.slices > 1 && (plan.warps_m * plan.warps_n > 4 || wr * wc > 64 * 64)) {
    return RejectReason::kRedundant;
  }
  const RejectReason reason = CheckTensorTiles(g, target, plan);
  return reason == RejectReason::kNone ? CheckResident(g, target, plan) : reason;
}

std::vector<int64_t> FittingSizes(std::vector<int64_t> sizes, int64_t extent) {
  std::erase_if(sizes, [&](int64_t s) { return s > sizes.front() && s / 2 >= extent; });
  return sizes;
}

}  // namespace mlc::schedule
