#include "compiler/schedule/cuda/image/image_plan.h"

#include <algorithm>
#include <array>

#include "base/ceil_div.h"
#include "compiler/graph/image_convolution.h"
#include "compiler/schedule/cuda/tile/gpu_launch.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule {

using graph::Op;
using graph::Value;
using graph::ValueId;

namespace {

constexpr int kVector = 8;  // filters that a thread holds side by side
constexpr int kMaxThreads = 512;
constexpr int kMaxRegisters = 232;
constexpr int64_t kMaxBody = 1600;  // products of a warp, all in one straight line

ImageAxis AxisOf(const Value& conv, const graph::TensorType& image,
                 const graph::TensorType& filters, size_t s) {
  return {image.dims[s + 2], conv.type.dims[s + 2], filters.dims[s + 2], conv.Ints("strides")[s],
          conv.Ints("pads")[s]};
}

// Sources, and casts of zeros, are zero.
bool IsZeroOfZeros(const graph::Graph& graph, ValueId id) {
  while (graph[id].op == Op::kCast) id = graph[id].operands[0];
  return graph[id].op == Op::kInput || graph[id].op == Op::kWeight;
}

double BytesOf(const graph::Graph& graph, ValueId id) {
  while (!graph[id].operands.empty()) id = graph[id].operands[0];
  return static_cast<double>(graph[id].type.NumElements()) * SizeOf(graph[id].type.dtype);
}

int WidestOf(const graph::Workload& workload, ValueId id, int dim, int64_t extent,
             std::initializer_list<int> lanes, std::span<const ValueId> anchors) {
  for (const int n : lanes) {
    if (extent % n == 0 && Fused::Vectorises(workload, id, dim, n, anchors)) return n;
  }
  return 1;
}

ValueId AnchorOf(const graph::Workload& workload) {
  const graph::Graph& graph = workload.graph();
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (graph[id].op == Op::kConv) return id;
  }
  return graph::kNoValue;
}

}  // namespace

std::optional<ImageProblem> FindImage(const graph::Workload& workload) {
  const graph::Graph& graph = workload.graph();
  ImageProblem p;
  p.anchor = AnchorOf(workload);
  if (p.anchor == graph::kNoValue || graph[p.anchor].operands.size() != 2) return std::nullopt;
  const Value& conv = graph[p.anchor];
  const Value& filters = graph[conv.operands[1]];
  const graph::TensorType& image = graph[conv.operands[0]].type;
  p.image = conv.operands[0];
  // The kernel rounds what it stores.
  if (graph[p.image].op == Op::kCast) {
    const ValueId before = graph[p.image].operands[0];
    if (graph[before].type.dtype == DType::kF32) p.image = before;
  }
  if (filters.op != Op::kWeight || !graph::IsImageConvolution(conv, image, filters.type) ||
      !Fused::Covers(workload, p.image, {})) {
    return std::nullopt;
  }
  const std::array<ValueId, 1> anchors = {p.anchor};
  p.lanes = kVector;
  for (const ValueId output : workload.outputs()) {
    if (!Fused::Covers(workload, output, anchors)) return std::nullopt;
    if (graph[output].type.dims != conv.type.dims) return std::nullopt;
    p.lanes =
        std::min(p.lanes, WidestOf(workload, output, 1, filters.type.dims[0], {kVector}, anchors));
  }
  const std::vector<ValueId>& operands = workload.operands();
  p.filter_operand = static_cast<int>(
      std::find(operands.begin(), operands.end(), conv.operands[1]) - operands.begin());
  p.guest = std::any_of(operands.begin(), operands.end(),
                        [&](ValueId id) { return graph[id].type.dims == conv.type.dims; });
  p.dtype = image.dtype;
  p.batch = image.dims[0];
  p.channels = image.dims[1];
  p.filters = filters.type.dims[0];
  p.y = AxisOf(conv, image, filters.type, 0);
  p.x = AxisOf(conv, image, filters.type, 1);
  p.zero_outside = IsZeroOfZeros(graph, p.image);
  p.image_bytes = BytesOf(graph, p.image);
  // Pairs of 16 bits are loaded at once: pixels a step apart begin at multiples of them.
  p.stored = p.channels + (p.narrow() ? p.channels * p.x.stride % 2 : 0);
  p.pixels = WidestOf(workload, p.image, 3, p.x.in, {4, 2}, {});
  return p;
}

ImagePlan MakeImagePlan(const ImageProblem& p, const Config& config) {
  ImagePlan plan;
  const auto knob = [&](const char* name) { return static_cast<int>(config[name]); };
  plan.across = knob("across");
  plan.down = knob("down");
  plan.over = knob("over");
  plan.rows = knob("rows");
  plan.bn = knob("bn");
  plan.guest = p.guest;
  plan.rows_in = (plan.th() - 1) * p.y.stride + p.y.taps;
  const int64_t run =
      ((plan.tw() - 1) * p.x.stride + p.Shift()) * p.stored - p.Lead() + p.RowOctets() * 8;
  plan.vectors = CeilDiv(run, p.stored * p.pixels);
  plan.pitch = CeilDiv(plan.vectors * p.pixels * p.stored, int64_t{8}) * 8;
  plan.tiles_x = CeilDiv(p.x.out, int64_t{plan.tw()});
  plan.tiles_y = CeilDiv(p.y.out, int64_t{plan.th()});
  plan.tiles_n = CeilDiv(p.filters, int64_t{plan.bn});
  return plan;
}

RejectReason CheckImagePlan(const ImageProblem& p, const target::Target& target,
                            const ImagePlan& plan) {
  if (plan.bn % (32 * plan.over) != 0) return RejectReason::kRedundant;
  if (plan.bn > 32 && plan.bn - 32 >= p.filters) return RejectReason::kTileExceedsShape;
  if (plan.across > 1 && plan.tw() - 16 >= p.x.out) return RejectReason::kTileExceedsShape;
  if (plan.th() > 1 && plan.th() / 2 >= p.y.out) return RejectReason::kTileExceedsShape;
  if (plan.threads() > kMaxThreads) return RejectReason::kParallelism;
  if (plan.registers() > std::min(kMaxRegisters, gpu::RegistersLeft(plan.threads(), 1))) {
    return RejectReason::kRegisters;
  }
  if (p.Steps() * plan.rows * plan.column_tiles() > kMaxBody && plan.rows > 1) {
    return RejectReason::kCodeSize;
  }
  if (plan.block_bytes(p) > target.gpu().block_bytes) return RejectReason::kCache;
  return RejectReason::kNone;
}

int ResidentBlocks(const ImageProblem& p, const target::Target& target, const ImagePlan& plan) {
  constexpr int64_t kThreads = 2048, kMost = 8, kReserved = 1024;
  const int64_t memory = target.gpu().sm_bytes / (plan.block_bytes(p) + kReserved);
  const int64_t wanted = CeilDiv(plan.blocks(p), std::max<int64_t>(1, target.gpu().sms));
  auto blocks = static_cast<int>(std::min({memory, wanted, kThreads / plan.threads(), kMost}));
  while (blocks > 1 && gpu::RegistersLeft(plan.threads(), blocks) < plan.registers()) --blocks;
  return std::max(1, blocks);
}

}  // namespace mlc::schedule
