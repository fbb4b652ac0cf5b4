#include "compiler/schedule/cuda/tensor/role_plan.h"

#include <algorithm>

#include "compiler/schedule/cuda/tensor/role_registers.h"
#include "compiler/schedule/cuda/tensor/role_rows.h"
#include "compiler/schedule/cuda/tensor/warpgroup_plan.h"
#include "compiler/target/calibration.h"

namespace mlc::schedule {

namespace {

constexpr int kStepBytes = 128;
constexpr int kPieceBytes = 16;
constexpr int kMaxColumns = 256;          // of an instruction
constexpr int kMaxUnderWay = 7;           // products, while a warpgroup goes on
constexpr int kFedBytes = 128;            // of shared memory, in a clock
constexpr int64_t kReservedBytes = 1024;  // barriers and tensor maps
// Sums of float8 lose what is below 2^-13 of the largest that is added in each of the unit's steps,
// on average half of it, while they grow to their final size.
constexpr double kUnitError = 1.0 / 16384;
constexpr int kUnitDepth = 32;
// Clocks for a result of one byte: of groups that take turns, alone and with a guest; of others,
// whether they store it or leave it to storers; and more where a block has one group.
constexpr double kFilledByte = 0.11;
constexpr double kGuestByte = 0.24;
constexpr double kStoredByte = 0.2;
constexpr double kLoneByte = 0.15;

// Bytes of both operands that tiles at work side by side read in a step.
double DistinctBytes(const RolePlan& plan) {
  const TensorPlan& t = plan.tensor;
  const int64_t first = plan.band < 0 ? t.n_tiles : plan.band == 0 ? t.m_tiles : plan.band;
  const int64_t along =
      std::min(std::min(first, plan.band < 0 ? t.n_tiles : t.m_tiles), plan.blocks);
  const int64_t across = (plan.blocks + along - 1) / along;
  const int64_t rows = plan.band < 0 ? across : along, columns = plan.band < 0 ? along : across;
  const double distinct = static_cast<double>(rows * t.bm) / static_cast<double>(plan.taps);
  return (distinct + static_cast<double>(columns * t.bn)) * kStepBytes;
}

}  // namespace

int64_t RolePlan::block_bytes() const {
  const int64_t narrow = narrow_chunk > 0 ? narrow_elements() * results.bytes : 0;
  int64_t held =
      storers > 0 ? result_elements() * results.bytes : std::max(staging_elements() * 4, narrow);
  if (split() > 1) held = int64_t{4} * tensor.bm * split_pitch();
  return tensor.stages * stage.elements() * SizeOf(tensor.dtype) + held + kReservedBytes;
}

double RolePlan::read_share() const {
  const double rows = tensor.bm, columns = tensor.bn;
  const double brought = static_cast<double>(stage.rows) / (tensor.bk * share.taps);
  return (brought / cluster.n + columns / cluster.m) / (rows + columns);
}

bool RolesMultiply(const GpuContraction& g) {
  TensorMath math;
  if (!TensorMathOf(g, &math) || math == TensorMath::kTf32x3 || !WarpgroupsMultiply(g)) {
    return false;
  }
  if (g.z != 1) return false;
  const int64_t columns = g.p.column_stride;
  const bool packed = ModeOf(g, Side::kColumn) == TileMode::kPacked;
  if (!RowsAreEven(g)) return packed && RowsAreBoxes(g);
  return packed || (columns >= g.k && columns * SizeOf(g.p.row_dtype) % kPieceBytes == 0);
}

namespace {

// Columns that a warp takes at once on their way through shared memory as results.
int NarrowChunk(const RoleProblem& problem, const target::Target& target, const RolePlan& plan) {
  const NarrowResults& results = problem.results;
  if (!results.narrow || plan.split() > 1) return 0;
  if (plan.storers == 0 && (results.guest || results.wide())) return 0;
  const int chunks[] = {kRoleChunk / 2, kRoleChunk, 2 * kRoleChunk, 4 * kRoleChunk};
  int fits = 0;
  for (const int chunk : chunks) {
    RolePlan longer = plan;
    longer.narrow_chunk = chunk;
    // A warp's rows of fewer bytes are too few pieces for its threads.
    if (chunk * results.bytes < kRoleChunk) continue;
    if (plan.tensor.bn % chunk != 0) break;
    if (plan.storers > 0) {
      if (problem.g.n % chunk == 0) fits = chunk;
      continue;
    }
    // Long runs wait less often; short ones leave memory to the stages.
    if (chunk > 2 * kRoleChunk && longer.block_bytes() > target.gpu().block_bytes) break;
    fits = chunk;
  }
  return fits > 0 && problem.g.n % fits == 0 ? fits : 0;
}

}  // namespace

RoleProblem RoleProblemOf(const graph::Workload& workload, const GpuContraction& g) {
  RoleProblem problem;
  problem.g = g;
  problem.results = NarrowResultsOf(workload, g);
  problem.of_boxes = !RowsAreEven(g);
  for (size_t i = 0; problem.of_boxes && i < problem.boxes.size(); ++i) {
    problem.boxes[i] = BestBox(g, static_cast<int>(i + 1) * 64);
    problem.shares_taps = problem.shares_taps || TapShareOf(g, problem.boxes[i]).taps > 1;
  }
  problem.tolerance = workload.tolerance();
  const double results = static_cast<double>(g.z) * static_cast<double>(g.m * g.n);
  problem.output_flops = std::max(0.0, workload.Flops() - g.p.Flops()) / results;
  return problem;
}

namespace {

RoleStage StageOf(const TensorPlan& t, const TapShare& share) {
  const int64_t runs = share.taps > 1 ? t.bm / share.run : 0;
  return {t.rows.elements + runs * share.extra * t.bk, share.taps * t.columns.elements,
          t.split_steps / share.taps};
}

}  // namespace

RolePlan MakeRolePlan(const RoleProblem& problem, const target::Target& target,
                      const Config& config) {
  RolePlan plan;
  const GpuContraction& g = problem.g;
  const auto knob = [&](const char* name) { return static_cast<int>(config[name]); };
  plan.output_flops = problem.output_flops;
  plan.groups = knob("groups");
  plan.alternate = knob("alternate") != 0;
  plan.band = knob("band");
  plan.storers = knob("storers");
  plan.guest = problem.results.guest.has_value();
  plan.results = problem.results;
  TensorPlan& t = plan.tensor;
  t.warpgroups = true;
  t.dtype = g.p.row_dtype;
  TensorMathOf(g, &t.math);
  t.bm = knob("bm");
  t.bn = knob("bn");
  t.bk = kStepBytes / static_cast<int>(SizeOf(t.dtype));
  t.warps_m = 4 * plan.tile_groups();
  t.warps_n = 1;
  t.stages = knob("stages");
  t.pending = knob("pending");
  t.split = knob("split");
  plan.apart = t.math == TensorMath::kFloat8 && knob("apart") != 0;
  if (g.p.blocks.block > 0) {
    plan.scaled_parts = static_cast<int>(std::max<int64_t>(1, t.bn / g.p.blocks.across));
  }
  CountSteps(g, &t);
  if (problem.of_boxes && t.bm % 64 == 0 && t.bm <= kRoleMaxRows) {
    plan.box = problem.boxes[static_cast<size_t>(t.bm / 64 - 1)];
    if (plan.box.IsBox()) t.m_tiles = BoxTiles(g, plan.box);
    plan.taps = g.p.Taps();
  }
  if (problem.shares_taps && plan.box.IsBox() && knob("reuse") != 0) {
    plan.share = TapShareOf(g, plan.box);
    plan.unshared = plan.share.taps == 1;
  }
  plan.stage = StageOf(t, plan.share);
  const int cluster = knob("cluster");
  plan.cluster.m = cluster > 1 ? 2 : 1;
  plan.cluster.n = cluster < 0 ? 2 : 1;
  plan.box.past = plan.m_units() * plan.cluster.m > t.m_tiles;
  // Processing clusters of the device have an even number of multiprocessors: pairs fill them.
  const int64_t at_once = std::max(1, target.gpu().sms / plan.cluster.size());
  plan.blocks = plan.cluster.size() * std::min(plan.units(), at_once);
  if (t.split > 1) plan.blocks = plan.tiles() * t.split * plan.cluster.size();
  plan.narrow_chunk = NarrowChunk(problem, target, plan);
  // All threads add the parts of a split, and keep their registers.
  plan.moves_registers =
      plan.groups > 1 && t.split == 1 && SumRegisters(plan) > LaunchRegisters(plan);
  return plan;
}

namespace {

// Of copies, by taps and by blocks.
RejectReason CheckSharing(const RoleProblem& problem, const target::Target& target,
                          const RolePlan& plan) {
  const GpuContraction& g = problem.g;
  const TensorPlan& t = plan.tensor;
  if (plan.share.taps > 1) {
    if (t.split > 1 || plan.cluster.size() > 1) return RejectReason::kRedundant;
    if (t.pending * plan.row_tiles() * plan.share.taps > kMaxUnderWay) {
      return RejectReason::kRedundant;
    }
  }
  if (plan.cluster.size() > 1) {
    if (t.split > 1) return RejectReason::kRedundant;
    if (t.m_tiles < plan.cluster.m || t.n_tiles < plan.cluster.n) return RejectReason::kRedundant;
    if (problem.of_boxes && plan.cluster.n > 1) {
      const auto outermost = static_cast<size_t>(std::max(0, OutermostOf(g, plan.box)));
      if (plan.box.sizes[outermost] % 2 != 0) return RejectReason::kRedundant;
    }
    if (plan.cluster.size() > std::max(1, target.gpu().sms)) return RejectReason::kParallelism;
  }
  return RejectReason::kNone;
}

}  // namespace

RejectReason CheckRolePlan(const RoleProblem& problem, const target::Target& target,
                           const RolePlan& plan) {
  const GpuContraction& g = problem.g;
  const TensorPlan& t = plan.tensor;
  const int rows = plan.group_rows();
  if (problem.of_boxes && !plan.box.IsBox()) return RejectReason::kTileExceedsShape;
  if (plan.unshared) return RejectReason::kRedundant;
  if (rows % 64 != 0 || t.bm % 64 != 0 || t.bm > kRoleMaxRows) {
    return RejectReason::kTileExceedsShape;
  }
  if (t.bn % ChunkOf(plan) != 0 || t.bn > kMaxColumns) return RejectReason::kTileExceedsShape;
  const auto covers = [](int tile, int64_t extent) { return tile > 64 && tile / 2 >= extent; };
  if (covers(t.bm, g.m) || covers(t.bn, g.n)) return RejectReason::kTileExceedsShape;
  const int most = plan.moves_registers ? MovedRegisters(plan).group : LaunchRegisters(plan);
  if (plan.apart && t.pending > 0) return RejectReason::kRedundant;
  if (plan.scaled_parts > 0) {
    const ScaledBlocks& blocks = g.p.blocks;
    const bool fits = t.bn % blocks.across == 0 || blocks.across % t.bn == 0;
    if (!plan.apart || !fits || blocks.block != t.bk) return RejectReason::kTileExceedsShape;
  } else if (plan.apart && t.split_steps == 1) {
    return RejectReason::kRedundant;
  }
  if (t.math == TensorMath::kFloat8 && !plan.apart) {
    const int64_t steps = t.split_steps * t.bk / kUnitDepth;
    if (kUnitError * static_cast<double>(steps) > problem.tolerance) {
      return RejectReason::kTolerance;
    }
  }
  if (SumRegisters(plan) > most) return RejectReason::kRegisters;
  if (plan.block_bytes() > target.gpu().block_bytes) return RejectReason::kCache;
  if (plan.storers > 0 && plan.narrow_chunk == 0) return RejectReason::kRedundant;
  if (plan.storers > 0 && PiecesOf(plan) % kPiecesAhead != 0)
    return RejectReason::kTileExceedsShape;
  // A stage is free again after the products behind it, and the next ones are on their way.
  if (t.stages < t.pending + 2) return RejectReason::kRedundant;
  if (plan.alternate && (plan.groups != 2 || plan.rounds() < 2)) return RejectReason::kRedundant;
  if (t.stages > 3 && t.stages > plan.stage.count * plan.rounds() + 1)
    return RejectReason::kRedundant;
  if (plan.band != 0 && (plan.m_units() == 1 || plan.n_units() == 1 || plan.rounds() == 1)) {
    return RejectReason::kRedundant;
  }
  if (plan.band > 1 && plan.m_units() <= plan.band) return RejectReason::kRedundant;
  if (t.split > 1) {
    if (plan.alternate || plan.blocks > target.gpu().sms) return RejectReason::kRedundant;
    if (t.split_steps < 2 || t.split_steps * (t.split - 1) >= t.k_steps) {
      return RejectReason::kRedundant;
    }
  }
  const RejectReason sharing = CheckSharing(problem, target, plan);
  if (sharing != RejectReason::kNone) return sharing;
  // Tiles that leave most multiprocessors idle lose to smaller ones of other families.
  if (4 * plan.tiles() * t.split < target.gpu().sms && t.bm * t.bn > 64 * 64) {
    return RejectReason::kParallelism;
  }
  return RejectReason::kNone;
}

namespace {

// Of a result: what follows the product keeps warps waiting for their own results.
double AfterClocks(const target::GpuRoleCalibration& core, const RolePlan& plan) {
  if (!plan.results.narrow || plan.results.bytes > 1) {
    return plan.output_flops / (core.warp_flops * 4 * plan.tile_groups());
  }
  const bool guest = plan.guest && plan.storers > 0;
  if (plan.storers > 0 && plan.alternate) return guest ? kGuestByte : kFilledByte;
  return kStoredByte + (guest ? kGuestByte - kFilledByte : 0) + (plan.groups == 1 ? kLoneByte : 0);
}

}  // namespace

double RoleCycles(const target::Target& target, const RolePlan& plan) {
  const target::GpuRoleCalibration& core = target::CalibrationOf(target.gpu()).roles;
  const TensorPlan& t = plan.tensor;
  // What the blocks of a cluster share leaves L2 once.
  const double bytes = plan.read_share() * (t.bm + t.bn) * kStepBytes;
  const bool of_bytes = t.math == TensorMath::kFloat8 || t.math == TensorMath::kBytes;
  const double passes = of_bytes ? 0.5 : t.math == TensorMath::kHalf ? 1 : 2;
  // The unit reads 64 rows and all columns of a tile from shared memory at a time.
  const double fed = t.bm / 64.0 * (64 + t.bn) * kStepBytes / kFedBytes;
  const double math = std::max(2.0 * t.bm * t.bn * t.bk * passes / core.flops, fed);
  const double spread =
      std::min(1.0, static_cast<double>(plan.tiles() * t.split) / target.gpu().sms);
  // One product at a time leaves the unit idle from its end to the next one's beginning, unless
  // the other warpgroup's stands in.
  const double alone = t.pending == 0 && plan.tile_groups() == 1 ? core.lone_step : 0;
  const double stages = t.stages * plan.share.taps;
  // More stages bridge longer delays of a copy.
  // Each quarter of a multiprocessor has a warp of every group, which adds its sums up. Meanwhile
  // the other group's products are under way, if they share the tile.
  const double adds = plan.apart ? 4.0 * plan.row_tiles() * plan.column_tiles() : 0;
  const double busy = plan.tile_groups() > 1
                          ? std::max(math, math / plan.tile_groups() + core.lone_step + adds)
                          : math + alone + adds;
  const double step = std::max(plan.apart ? busy : math + alone, bytes * spread / core.l2_bytes) +
                      core.step_latency * (1 + 1.0 / stages) +
                      core.distinct_byte * DistinctBytes(plan);
  // A group alone gets its data and units as fast as two.
  const auto steps = static_cast<double>(t.split_steps);
  const double products = steps * step;
  const auto rounds = static_cast<double>(plan.rounds());
  const double latency = core.memory_latency / stages * steps;
  const double own = std::max(products, latency);
  const double results = static_cast<double>(t.bm) * t.bn;
  const double start = core.start + (plan.cluster.size() > 1 ? core.pair : 0);
  const double after = results * AfterClocks(core, plan);
  if (t.split > 1) {
    const target::GpuTensorCalibration& others = target::CalibrationOf(target.gpu()).tensor;
    const double shared = results / core.outputs * (1 + 0.5 * t.split);
    return start + own + core.end + others.arrive_latency + shared + after;
  }
  if (plan.storers > 0) {
    const double fill = core.end + results / core.filled_outputs + after;
    const double carried =
        plan.guest ? core.guest_outputs / (1 + t.bn / core.guest_columns) : core.carried_outputs;
    const double carry = core.end + results * (plan.results.wide() ? 2 : 1) / carried;
    // Groups that do not take turns have one place, which waits for the other tensor's values.
    const double waits = plan.guest && !plan.alternate ? core.memory_latency : 0;
    // Measured tiles take the sum, whether groups take turns or not.
    return start + rounds * (own + fill + carry + waits);
  }
  // Warps that store read another tensor's values themselves, between their stores: with results
  // of four bytes, 0.9 in a clock of a residual at the end of a block of ResNet-50.
  const double guests = plan.results.wide() ? 4 : 2;
  const double sums = plan.guest ? core.outputs / guests : core.outputs;
  const double outputs = plan.narrow_chunk > 0 ? core.narrow_outputs : sums;
  // Groups that take turns and store gain nothing by it that a measurement shows.
  const double tile = own + core.end + results / outputs + after;
  return start + rounds * tile;
}

}  // namespace mlc::schedule
