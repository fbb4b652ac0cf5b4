// Arithmetic cost and one-line summary of a workload.
#include <algorithm>

#include "compiler/graph/workload.h"

namespace mlc::graph {

namespace {

double Elements(const TensorType& type) {
  double count = 1;
  for (const int64_t dim : type.dims) count *= static_cast<double>(dim);
  return count;
}

double Product(const std::vector<int64_t>& values, size_t from = 0) {
  double product = 1;
  for (size_t i = from; i < values.size(); ++i) product *= static_cast<double>(values[i]);
  return product;
}

double NodeFlops(const Graph& graph, const Value& node) {
  const auto operand = [&](size_t i) -> const TensorType& { return graph[node.operands[i]].type; };
  const double elements = Elements(node.type);
  const double exponential = InfoOf(ScalarOp::kExp).flops;
  switch (node.op) {
    case Op::kPointwise:
      return elements * InfoOf(node.scalar).flops;
    case Op::kMatMul:
      return 2 * elements * static_cast<double>(operand(0).dims.back());
    case Op::kConv:
      return 2 * elements * Product(operand(1).dims, 1);
    case Op::kAttention: {
      const double scores = Elements(operand(0)) / static_cast<double>(operand(0).dims[3]) *
                            static_cast<double>(operand(1).dims[2]);
      const auto inner = static_cast<double>(operand(0).dims[3] + operand(2).dims[3]);
      return scores * (2 * inner + exponential + 4);
    }
    case Op::kPool:
      return elements * Product(node.Ints("kernel"));
    case Op::kReduce:
    case Op::kArg:
    case Op::kCumSum:
    case Op::kNonZero:
      return Elements(operand(0));
    case Op::kSuppress:
      // About one box in ten reaches the score and is compared with ten selected ones.
      return Elements(operand(1)) * 16;
    case Op::kSoftmax:
    case Op::kLogSoftmax:
      return elements * (exponential + 4);
    case Op::kLayerNorm:
    case Op::kResize:
      return elements * 8;
    default:
      return 0;
  }
}

std::string Times(const std::vector<int64_t>& dims, size_t from) {
  std::string text;
  for (size_t i = from; i < dims.size(); ++i) {
    if (i > from) text += 'x';
    text += std::to_string(dims[i]);
  }
  return text.empty() ? "scalar" : text;
}

std::string AnchorText(const Graph& graph, const Value& node) {
  const auto dims = [&](size_t i) -> const std::vector<int64_t>& {
    return graph[node.operands[i]].type.dims;
  };
  std::string text(ToText(node.op));
  if (node.op == Op::kConv) {
    const std::vector<int64_t>& w = dims(1);
    text += " " + Times(w, 2) + " " + std::to_string(dims(0)[1]) + "->" + std::to_string(w[0]) +
            " " + Times(node.type.dims, 2) + " s" + Times({node.Ints("strides")[0]}, 0);
    if (node.Int("group") != 1) text += " g" + std::to_string(node.Int("group"));
    if (dims(0)[0] != 1) text += " n" + std::to_string(dims(0)[0]);
    return text;
  }
  if (node.op == Op::kMatMul) {
    text += " " + Times(dims(0), 0) + " * " + Times(dims(1), 0);
    return text;
  }
  if (node.op == Op::kPool) {
    return text + " " + node.Word("kind") + " " + Times(node.Ints("kernel"), 0) + " " +
           Times(node.type.dims, 1);
  }
  if (node.op == Op::kReduce) return text + " " + node.Word("kind") + " " + Times(dims(0), 0);
  return text + " " + Times(node.type.dims, 0);
}

bool IsAnchor(Op op) { return op >= Op::kMatMul && op <= Op::kLayerNorm; }

}  // namespace

double Workload::Flops() const {
  double flops = 0;
  for (ValueId id = 0; id < graph_.size(); ++id) flops += NodeFlops(graph_, graph_[id]);
  return flops;
}

std::string Workload::Summary() const {
  constexpr int kMaxFollowers = 6;
  std::string anchors, followers, movement;
  int count = 0, hidden = 0;
  for (ValueId id = 0; id < graph_.size(); ++id) {
    const Value& node = graph_[id];
    if (IsAnchor(node.op)) {
      if (!anchors.empty()) anchors += " ; ";
      anchors += AnchorText(graph_, node);
    } else if (node.op == Op::kPointwise || node.op == Op::kCast) {
      const std::string_view name = node.op == Op::kCast ? "cast" : InfoOf(node.scalar).name;
      if (++count > kMaxFollowers) {
        ++hidden;
      } else {
        followers += " +" + std::string(name);
      }
    } else if (node.op > Op::kLayerNorm && node.op != Op::kView && node.op != Op::kDequantize &&
               movement.empty()) {
      movement = mlc::graph::ToText(node.op);
    }
  }
  if (hidden > 0) followers += " +" + std::to_string(hidden) + " more";
  if (!anchors.empty()) return anchors + followers;
  const std::string dims = Times(graph_[outputs().front()].type.dims, 0);
  return (movement.empty() ? "pointwise" : movement) + " " + dims + followers;
}

}  // namespace mlc::graph
