// Rules on scalar operators.
#include <array>
#include <cmath>

#include "compiler/graph/passes/rewrite.h"
#include "compiler/graph/passes/simplify.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph {

namespace {

using Replacement = std::optional<ValueId>;

bool Is(const Value& node, ScalarOp op) { return node.op == Op::kPointwise && node.scalar == op; }

// `id`, if it has the node's whole shape already.
Replacement Keep(const Graph& graph, const Value& node, ValueId id) {
  if (graph[id].type.dims != node.type.dims || graph[id].type.dtype != node.type.dtype) {
    return std::nullopt;
  }
  return id;
}

ValueId Emit(Graph& graph, ScalarOp op, std::vector<ValueId> operands) {
  Value node;
  node.op = Op::kPointwise;
  node.scalar = op;
  node.operands = std::move(operands);
  return AddSimplified(graph, std::move(node));
}

// c op x -> x op c.
Replacement ConstantLast(Graph& graph, const Value& node) {
  if (node.op != Op::kPointwise || !InfoOf(node.scalar).commutes) return std::nullopt;
  if (!IsConstant(graph, node.operands[0]) || IsConstant(graph, node.operands[1])) {
    return std::nullopt;
  }
  return Emit(graph, node.scalar, {node.operands[1], node.operands[0]});
}

// A constant of one element -> a splat of rank 0, where the other operands give the shape.
Replacement ScalarOperands(Graph& graph, const Value& node) {
  if (node.op != Op::kPointwise) return std::nullopt;
  std::vector<ValueId> operands = node.operands;
  std::vector<int64_t> dims;
  bool changed = false;
  for (ValueId& operand : operands) {
    const std::optional<double> number = SplatOf(graph, operand);
    const bool scalar = number && IsFloat(graph[operand].type.dtype);
    if (scalar && (graph[operand].type.rank() > 0 || graph[operand].data)) {
      operand = graph.Splat(graph[operand].type.dtype, *number);
      changed = true;
    }
    const Result<std::vector<int64_t>> joined = BroadcastDims(dims, graph[operand].type.dims);
    if (joined.ok()) dims = *joined;
  }
  if (!changed || dims != node.type.dims) return std::nullopt;
  return Emit(graph, node.scalar, std::move(operands));
}

// x + 0, x - 0, x * 1, x / 1 -> x. (-0 + 0 is +0: equal to -0 in every comparison.)
Replacement Identity(Graph& graph, const Value& node) {
  if (node.op != Op::kPointwise || node.operands.size() != 2) return std::nullopt;
  const bool sum = Is(node, ScalarOp::kAdd) || Is(node, ScalarOp::kSub);
  const bool product = Is(node, ScalarOp::kMul) || Is(node, ScalarOp::kDiv);
  if (!sum && !product) return std::nullopt;
  if (SplatOf(graph, node.operands[1]) != (sum ? 0.0 : 1.0)) return std::nullopt;
  return Keep(graph, node, node.operands[0]);
}

// x - c -> x + (-c), for floats.
Replacement SubToAdd(Graph& graph, const Value& node) {
  if (!Is(node, ScalarOp::kSub) || !IsFloat(node.type.dtype)) return std::nullopt;
  if (!IsConstant(graph, node.operands[1]) || IsConstant(graph, node.operands[0])) {
    return std::nullopt;
  }
  const ValueId negated = AddFolded(graph, ScalarOp::kNeg, {node.operands[1]});
  return Emit(graph, ScalarOp::kAdd, {node.operands[0], negated});
}

// x / c -> x * (1/c), for floats whose reciprocals are normal numbers.
Replacement DivToMul(Graph& graph, const Value& node) {
  if (!Is(node, ScalarOp::kDiv) || !IsFloat(node.type.dtype)) return std::nullopt;
  const ValueId divisor = node.operands[1];
  if (!IsConstant(graph, divisor) || IsConstant(graph, node.operands[0])) return std::nullopt;
  const std::vector<double> numbers = graph[divisor].data
                                          ? ReadDoubles(*graph[divisor].data)
                                          : std::vector<double>{graph[divisor].Float("value")};
  for (const double number : numbers) {
    const double magnitude = std::abs(number);
    if (!(magnitude > 1e-4 && magnitude < 1e4)) return std::nullopt;
  }
  const ValueId reciprocal = AddFolded(graph, ScalarOp::kReciprocal, {divisor});
  return Emit(graph, ScalarOp::kMul, {node.operands[0], reciprocal});
}

// 1 / x -> reciprocal(x).
Replacement OneOver(Graph& graph, const Value& node) {
  if (!Is(node, ScalarOp::kDiv) || !IsFloat(node.type.dtype)) return std::nullopt;
  if (SplatOf(graph, node.operands[0]) != 1.0) return std::nullopt;
  if (graph[node.operands[1]].type.dims != node.type.dims) return std::nullopt;
  return Emit(graph, ScalarOp::kReciprocal, {node.operands[1]});
}

// reciprocal(sqrt(x)) -> rsqrt(x).
Replacement ReciprocalOfSqrt(Graph& graph, const Value& node) {
  if (!Is(node, ScalarOp::kReciprocal)) return std::nullopt;
  if (!IsScalarOp(graph, node.operands[0], ScalarOp::kSqrt)) return std::nullopt;
  return Emit(graph, ScalarOp::kRsqrt, {graph[node.operands[0]].operands[0]});
}

// pow(x, c) for the small powers that are products or roots.
Replacement PowOfConstant(Graph& graph, const Value& node) {
  if (!Is(node, ScalarOp::kPow) || !IsFloat(node.type.dtype)) return std::nullopt;
  const ValueId x = node.operands[0];
  const std::optional<double> exponent = SplatOf(graph, node.operands[1]);
  if (!exponent || graph[x].type.dims != node.type.dims) return std::nullopt;
  if (*exponent == 1) return x;
  if (*exponent == 2) return Emit(graph, ScalarOp::kMul, {x, x});
  if (*exponent == 3) return Emit(graph, ScalarOp::kMul, {Emit(graph, ScalarOp::kMul, {x, x}), x});
  if (*exponent == 0.5) return Emit(graph, ScalarOp::kSqrt, {x});
  if (*exponent == -1) return Emit(graph, ScalarOp::kReciprocal, {x});
  return std::nullopt;
}

// One number, or as many as there are in the other one.
bool MeetEvenly(const TensorType& c, const TensorType& d) {
  const int64_t of_c = c.NumElements(), of_d = d.NumElements();
  return of_c == 1 || of_d == 1 || of_c == of_d;
}

// (x op c) op d -> x op (c op d), for add, mul, max and min. Sums and products of integers wrap, so
// the rule is exact there too. The scale of a norm, which each row has, stays apart from the angles
// of its place: what else reads the norm reads it with its scale.
Replacement MergeConstants(Graph& graph, const Value& node) {
  if (!Is(node, ScalarOp::kAdd) && !Is(node, ScalarOp::kMul) && !Is(node, ScalarOp::kMax) &&
      !Is(node, ScalarOp::kMin)) {
    return std::nullopt;
  }
  const ValueId inner = node.operands[0];
  if (!IsConstant(graph, node.operands[1]) || !IsScalarOp(graph, inner, node.scalar)) {
    return std::nullopt;
  }
  const ValueId x = graph[inner].operands[0], c = graph[inner].operands[1];
  if (!IsConstant(graph, c) || IsConstant(graph, x)) return std::nullopt;
  if (!MeetEvenly(graph[c].type, graph[node.operands[1]].type)) return std::nullopt;
  const ValueId merged = AddFolded(graph, node.scalar, {c, node.operands[1]});
  if (!IsConstant(graph, merged)) return std::nullopt;
  return Emit(graph, node.scalar, {x, merged});
}

// -(-x), not(not(x)) -> x.
Replacement DoubleNegation(Graph& graph, const Value& node) {
  if (!Is(node, ScalarOp::kNeg) && !Is(node, ScalarOp::kNot)) return std::nullopt;
  if (!IsScalarOp(graph, node.operands[0], node.scalar)) return std::nullopt;
  return graph[node.operands[0]].operands[0];
}

// op(op(x)) -> op(x), where the second changes nothing.
Replacement Idempotent(Graph& graph, const Value& node) {
  if (!Is(node, ScalarOp::kAbs) && !Is(node, ScalarOp::kFloor) && !Is(node, ScalarOp::kCeil) &&
      !Is(node, ScalarOp::kRound) && !Is(node, ScalarOp::kSign)) {
    return std::nullopt;
  }
  if (!IsScalarOp(graph, node.operands[0], node.scalar)) return std::nullopt;
  return node.operands[0];
}

// x and true, x or false -> x.
Replacement LogicIdentity(Graph& graph, const Value& node) {
  if (!Is(node, ScalarOp::kAnd) && !Is(node, ScalarOp::kOr)) return std::nullopt;
  if (node.type.dtype != DType::kBool) return std::nullopt;
  if (SplatOf(graph, node.operands[1]) != (Is(node, ScalarOp::kAnd) ? 1.0 : 0.0)) {
    return std::nullopt;
  }
  return Keep(graph, node, node.operands[0]);
}

// select(known, a, b) -> a or b; select(c, a, a) -> a.
Replacement KnownSelect(Graph& graph, const Value& node) {
  if (!Is(node, ScalarOp::kSelect)) return std::nullopt;
  const std::optional<double> condition = SplatOf(graph, node.operands[0]);
  if (!condition && node.operands[1] != node.operands[2]) return std::nullopt;
  return Keep(graph, node, node.operands[condition == 0.0 ? 2 : 1]);
}

// op(expand(x), y) -> op(x, y), where y gives the shape all the same.
Replacement DropExpand(Graph& graph, const Value& node) {
  if (node.op != Op::kPointwise) return std::nullopt;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    if (!IsOp(graph, node.operands[i], Op::kExpand)) continue;
    std::vector<ValueId> operands = node.operands;
    operands[i] = graph[operands[i]].operands[0];
    std::vector<int64_t> dims;
    for (const ValueId operand : operands) {
      const Result<std::vector<int64_t>> joined = BroadcastDims(dims, graph[operand].type.dims);
      if (joined.ok()) dims = *joined;
    }
    if (dims == node.type.dims) return Emit(graph, node.scalar, std::move(operands));
  }
  return std::nullopt;
}

constexpr std::array<SimplifyRule, 14> kRules = {{
    {"constant_last", ConstantLast},
    {"scalar_operands", ScalarOperands},
    {"identity", Identity},
    {"sub_to_add", SubToAdd},
    {"div_to_mul", DivToMul},
    {"one_over", OneOver},
    {"reciprocal_of_sqrt", ReciprocalOfSqrt},
    {"pow_of_constant", PowOfConstant},
    {"merge_constants", MergeConstants},
    {"double_negation", DoubleNegation},
    {"idempotent", Idempotent},
    {"logic_identity", LogicIdentity},
    {"known_select", KnownSelect},
    {"drop_expand", DropExpand},
}};

}  // namespace

std::span<const SimplifyRule> PointwiseRules() { return kRules; }

}  // namespace mlc::graph
