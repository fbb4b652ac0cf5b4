#include "compiler/schedule/cuda/attention/role_attention_plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "compiler/schedule/cuda/attention/attention_place.h"
#include "compiler/schedule/fusion/fused.h"
#include "compiler/target/calibration.h"

namespace mlc::schedule::gpu {

using graph::Graph;
using graph::Op;
using graph::ValueId;
using graph::Workload;

namespace {

constexpr int64_t kPieceElements = 8;  // 16 bytes
constexpr int kVector = 8;             // results that are stored at once
constexpr int kOtherRegisters = 36;
constexpr int kMaskRegisters = 12;
constexpr int kMostRegisters = 255;
constexpr int64_t kReservedBytes = 2048;  // barriers, tensor maps and alignment
// A mask that low hides a key altogether: no difference of scores makes up for it.
constexpr double kHides = -3e4;

bool IsHalf(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

// Counts elements as rows and columns of a matrix.
bool AddStride(int64_t elements, int64_t extent, int64_t pitch, int64_t* row, int64_t* column,
               int64_t* last_column) {
  if (extent == 1 || elements == 0) return true;
  *row = elements / pitch;
  *column = elements % pitch;
  *last_column += *column * (extent - 1);
  return elements > 0;
}

std::optional<HeadMatrix> MatrixOf(const Workload& workload, ValueId value, DType data) {
  const graph::TensorType& type = workload.graph()[value].type;
  const std::optional<AttentionPlace> place = PlaceOf(workload, value);
  if (!place || type.dtype != data || type.dims[2] < 2) return std::nullopt;
  HeadMatrix m{place->operand};
  m.pitch = place->strides[2];
  if (place->strides[3] != 1 || m.pitch < type.dims[3] || m.pitch % kPieceElements != 0) {
    return std::nullopt;
  }
  m.row = place->offset / m.pitch;
  m.column = place->offset % m.pitch;
  int64_t last_column = m.column;
  if (!AddStride(place->strides[0], type.dims[0], m.pitch, &m.row_batch, &m.column_batch,
                 &last_column) ||
      !AddStride(place->strides[1], type.dims[1], m.pitch, &m.row_head, &m.column_head,
                 &last_column)) {
    return std::nullopt;
  }
  m.depth = last_column + type.dims[3];
  if (m.depth > m.pitch) return std::nullopt;
  const ValueId operand = workload.operands()[static_cast<size_t>(m.operand)];
  m.rows = (workload.graph()[operand].type.Extent() - m.depth) / m.pitch + 1;
  return m;
}

// Whether the mask hides from each query the keys behind one place alone.
bool IsCausal(const Graph& graph, ValueId mask, int64_t* ahead) {
  const graph::Value& node = graph[mask];
  if (node.op != Op::kTrilu || node.Int("upper") == 0 || node.Int("k") < 1) return false;
  const graph::Value& constant = graph[node.operands[0]];
  if (constant.op != Op::kConstant || !constant.Has("value")) return false;
  *ahead = node.Int("k") - 1;
  return constant.Float("value") <= kHides;
}

bool StoresVectors(const Workload& workload, ValueId anchor) {
  if (workload.outputs().size() != 1) return false;
  const ValueId output = workload.outputs()[0];
  const graph::TensorType& type = workload.graph()[output].type;
  const ValueId anchors[] = {anchor};
  return IsHalf(type.dtype) && type.EffectiveStrides()[3] == 1 &&
         Fused::Vectorises(workload, output, 3, kVector, anchors);
}

}  // namespace

int64_t RoleAttentionPlan::block_bytes() const {
  const int64_t keys = int64_t{stages} * key_block * (problem.depth + problem.width);
  return (places * rows() * problem.depth + keys) * SizeOf(data) +
         result_elements() * SizeOf(result) + kReservedBytes;
}

int RoleAttentionPlan::registers() const {
  return output_tiles() * 4 + score_tiles() * 6 + kOtherRegisters +
         (mask != graph::kNoValue ? kMaskRegisters : 0);
}

std::optional<RoleAttentionPlan> FindRoleAttention(const Workload& workload) {
  const std::optional<AttentionProblem> problem = FindAttention(workload);
  if (!problem || problem->counted || !(problem->scale > 0)) return std::nullopt;
  for (const int64_t size : {problem->depth, problem->width}) {
    if (size != kChunkColumns && size != 2 * kChunkColumns) return std::nullopt;
  }
  const Graph& graph = workload.graph();
  const graph::Value& node = graph[problem->anchor];
  RoleAttentionPlan plan;
  plan.problem = *problem;
  plan.data = graph[node.operands[0]].type.dtype;
  if (!IsHalf(plan.data) || !StoresVectors(workload, problem->anchor)) return std::nullopt;
  plan.result = graph[workload.outputs()[0]].type.dtype;
  if (problem->masked) {
    plan.causal = IsCausal(graph, node.operands[3], &plan.ahead);
    if (!plan.causal) plan.mask = node.operands[3];
  }
  for (const auto& [operand, to] :
       {std::pair{0, &plan.q}, std::pair{1, &plan.k}, std::pair{2, &plan.v}}) {
    const std::optional<HeadMatrix> matrix =
        MatrixOf(workload, node.operands[static_cast<size_t>(operand)], plan.data);
    if (!matrix) return std::nullopt;
    *to = *matrix;
  }
  return plan;
}

RoleAttentionPlan WithKnobs(RoleAttentionPlan plan, const target::Target& target,
                            const Config& config) {
  plan.groups = static_cast<int>(config["groups"]);
  plan.key_block = static_cast<int>(config["keys"]);
  plan.stages = static_cast<int>(config["stages"]);
  plan.turns = config["turns"] != 0;
  plan.blocks = std::min<int64_t>(plan.tiles(), std::max(1, target.gpu().sms));
  plan.places = plan.rounds() > 1 ? 2 : 1;
  if (plan.block_bytes() > target.gpu().block_bytes) plan.places = 1;
  return plan;
}

RejectReason CheckRoleAttention(const RoleAttentionPlan& plan, const target::Target& target) {
  // The last tile of keys begins early instead of reading behind the last key.
  if (plan.key_block > plan.problem.keys) return RejectReason::kTileExceedsShape;
  if (plan.groups > 1 && plan.rows() - kGroupQueries >= plan.problem.queries) {
    return RejectReason::kTileExceedsShape;
  }
  const int most = plan.moves_registers() ? plan.group_registers() : kMostRegisters;
  if (plan.registers() > most) return RejectReason::kRegisters;
  if (plan.block_bytes() > target.gpu().block_bytes) return RejectReason::kCache;
  if (plan.turns && (plan.groups == 1 || plan.key_tiles() == 1)) return RejectReason::kRedundant;
  if (plan.stages > 2 && plan.stages > plan.key_tiles() * plan.rounds()) {
    return RejectReason::kRedundant;
  }
  return RejectReason::kNone;
}

namespace {

// Clocks of a tile of queries that goes through so many keys.
double TileCycles(const RoleAttentionPlan& plan, double keys,
                  const target::GpuRoleAttentionCalibration& core) {
  const auto columns = static_cast<double>(plan.problem.depth + plan.problem.width);
  const auto rows = static_cast<double>(plan.rows());
  const double products = 2 * rows * keys * columns / core.flops;
  const double masked = plan.mask != graph::kNoValue ? core.masked : 1;
  const double weights = rows * keys / core.exponentials * masked;
  // Groups fill each other's gaps.
  const double longer = std::max(products, weights), shorter = std::min(products, weights);
  const double gaps = plan.turns && weights > products ? core.ordered : core.overlap;
  const double overlap = plan.groups > 1 ? gaps : 1;
  const double step = core.step_latency + (plan.turns ? core.turn_latency : 0);
  const double copies = plan.places == 1 && plan.rounds() > 1 ? core.late_queries : 0;
  return longer + overlap * shorter + keys / plan.key_block * step + core.tile_end + copies;
}

}  // namespace

double MeanKeys(const RoleAttentionPlan& plan) {
  const auto all = static_cast<double>(plan.key_tiles() * plan.key_block);
  if (!plan.causal) return all;
  double sum = 0;
  for (int64_t tile = 0; tile < plan.query_tiles(); ++tile) {
    const double seen = static_cast<double>((tile + 1) * plan.rows() + plan.ahead);
    sum += std::min(all, std::ceil(seen / plan.key_block) * plan.key_block);
  }
  return sum / static_cast<double>(plan.query_tiles());
}

double RoleAttentionCycles(const RoleAttentionPlan& plan, const target::Target& target) {
  const target::GpuRoleAttentionCalibration& core =
      target::CalibrationOf(target.gpu()).role_attention;
  if (!plan.causal) {
    const auto keys = static_cast<double>(plan.key_tiles() * plan.key_block);
    return core.start + static_cast<double>(plan.rounds()) * TileCycles(plan, keys, core);
  }
  // Blocks share what is to do, but for the longest tiles.
  const auto last =
      std::min<int64_t>(plan.problem.keys, plan.query_tiles() * plan.rows() + plan.ahead);
  const double longest = std::ceil(static_cast<double>(last) / plan.key_block) * plan.key_block;
  const double share = static_cast<double>(plan.tiles()) / static_cast<double>(plan.blocks);
  return core.start +
         std::max(TileCycles(plan, longest, core), share * TileCycles(plan, MeanKeys(plan), core));
}

}  // namespace mlc::schedule::gpu
