#include "compiler/graph/ranged/prefix.h"

#include <cmath>
#include <cstring>
#include <string>

#include "base/text.h"
#include "compiler/graph/ops.h"
#include "compiler/graph/ranged/prefix_rules.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph {

namespace prefix {

namespace {

std::string TextOf(const Value& value) {
  const std::string_view op =
      value.op == Op::kPointwise ? InfoOf(value.scalar).name : ToText(value.op);
  return (value.name.empty() ? "" : "'" + value.name + "' ") + "(" + std::string(op) + ")";
}

// Calls `visit` with the byte offsets of each run of last dimensions of `exact` in both.
template <typename Visit>
bool AllRuns(const std::vector<int64_t>& exact, const std::vector<int64_t>& padded, size_t axis,
             int64_t a, int64_t b, const Visit& visit) {
  if (axis + 1 >= exact.size()) return visit(a, b, exact.empty() ? 1 : exact.back());
  int64_t exact_inner = 1, padded_inner = 1;
  for (size_t i = axis + 1; i < exact.size(); ++i) {
    exact_inner *= exact[i];
    padded_inner *= padded[i];
  }
  for (int64_t i = 0; i < exact[axis]; ++i) {
    if (!AllRuns(exact, padded, axis + 1, a + i * exact_inner, b + i * padded_inner, visit)) {
      return false;
    }
  }
  return true;
}

bool IsPrefix(const TensorData& exact, const TensorData& padded, const SameConstants& same) {
  if (exact.dims == padded.dims) return same(exact, padded);
  const auto size = static_cast<size_t>(SizeOf(exact.dtype));
  return AllRuns(exact.dims, padded.dims, 0, 0, 0, [&](int64_t a, int64_t b, int64_t count) {
    return std::memcmp(exact.bytes.data() + static_cast<size_t>(a) * size,
                       padded.bytes.data() + static_cast<size_t>(b) * size,
                       static_cast<size_t>(count) * size) == 0;
  });
}

constexpr int64_t kMostNumbers = 16;

// Shape arithmetic gives constants that hold lengths, which may be given at run time.
bool HoldLengths(const NodePair& pair) {
  const TensorData* const exact = pair.exact().data.get();
  const TensorData* const padded = pair.padded().data.get();
  if (exact == nullptr || padded == nullptr || exact->dims != padded->dims) return false;
  const DType dtype = exact->dtype;
  if (dtype != DType::kI64 && dtype != DType::kI32 && !IsFloat(dtype)) return false;
  const std::vector<double> a = ReadDoubles(*exact), b = ReadDoubles(*padded);
  if (a.size() > kMostNumbers) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && (a[i] != std::floor(a[i]) || b[i] != std::floor(b[i]))) return false;
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    pair.Require(Need::Kind::kNumber, static_cast<int>(i), 0, static_cast<int64_t>(a[i]));
  }
  return true;
}

Status ProveConstant(const NodePair& pair, const SameConstants& same) {
  const Value& exact = pair.exact();
  const Value& padded = pair.padded();
  if (exact.data == nullptr && padded.data == nullptr && pair.same("value")) return {};
  if (exact.data != nullptr && padded.data != nullptr &&
      IsPrefix(*exact.data, *padded.data, same)) {
    return {};
  }
  if (HoldLengths(pair)) return {};
  return pair.Refuse("its numbers depend on the size");
}

Status ProveSame(const NodePair& pair) {
  pair.SetZeroBeyond(pair.ZeroBeyond(0));
  return {};
}

Status ProveExpand(const NodePair& pair) { return CheckBroadcast(pair, 0, 0); }

// Their elements depend on their own indices alone.
Status ProveByIndex(const NodePair&) { return {}; }

Status ProveSource(const NodePair&) { return {}; }

struct Rule {
  Op op;
  Status (*prove)(const NodePair&);
};

constexpr Rule kRules[] = {
    {Op::kInput, ProveSource},
    {Op::kPointwise, ProvePointwise},
    {Op::kCast, ProveSame},
    {Op::kMatMul, ProveMatMul},
    {Op::kConv, ProveConv},
    {Op::kAttention, ProveAttention},
    {Op::kPool, ProvePool},
    {Op::kReduce, ProveReduce},
    {Op::kArg, ProveArg},
    {Op::kSoftmax, ProveSoftmax},
    {Op::kLogSoftmax, ProveSoftmax},
    {Op::kLayerNorm, ProveLayerNorm},
    {Op::kTranspose, ProveTranspose},
    {Op::kReshape, ProveReshape},
    {Op::kExpand, ProveExpand},
    {Op::kSlice, ProveSlice},
    {Op::kConcat, ProveConcat},
    {Op::kPad, ProvePad},
    {Op::kGather, ProveGather},
    {Op::kGatherElements, ProveGather},
    {Op::kGatherND, ProveGatherND},
    {Op::kNonZero, ProveNonZero},
    {Op::kSuppress, ProveSuppress},
    {Op::kResize, ProveResize},
    {Op::kTile, ProveTile},
    {Op::kTrilu, ProveByIndex},
    {Op::kCumSum, ProveCumSum},
};

// Attributes whose rule compares them itself.
bool MayDiffer(Op op, std::string_view key) {
  switch (op) {
    case Op::kConstant:
      return true;
    case Op::kConv:
    case Op::kPool:
    case Op::kPad:
      return key == "pads";
    case Op::kSlice:
      return key == "starts";
    case Op::kTile:
      return key == "repeats";
    default:
      return false;
  }
}

// Such as a cache before the first step, which what reads it joins to something.
bool MayBeEmpty(Op op) { return op == Op::kInput || op == Op::kCast || op == Op::kTranspose; }

Status CheckNode(const NodePair& pair) {
  const Value& exact = pair.exact();
  const Value& padded = pair.padded();
  if (exact.op != padded.op || exact.scalar != padded.scalar || exact.operands != padded.operands ||
      exact.type.dtype != padded.type.dtype || exact.type.rank() != padded.type.rank() ||
      exact.attrs.size() != padded.attrs.size()) {
    return pair.Refuse("the model computes something else at another size");
  }
  for (const auto& [key, value] : exact.attrs) {
    if (!MayDiffer(exact.op, key) && !pair.same(key)) {
      return pair.Refuse("its attribute '" + key + "' depends on the size");
    }
  }
  for (int a = 0; a < exact.type.rank(); ++a) {
    if (pair.result_of(a) > pair.result_in(a)) {
      return pair.Refuse("its result is smaller at a larger size");
    }
    if (pair.result_of(a) < 1 && pair.result_differs(a) && !MayBeEmpty(exact.op)) {
      return pair.Refuse("its result has no elements at a smaller size");
    }
  }
  return {};
}

Status Prove(const NodePair& pair, const SameConstants& same) {
  MLC_TRY(CheckNode(pair));
  if (pair.exact().op == Op::kConstant) return ProveConstant(pair, same);
  for (const Rule& rule : kRules) {
    if (rule.op == pair.exact().op) return rule.prove(pair);
  }
  return ProveWhole(pair);
}

// Of what no result needs, as a shape on the way to another one, nothing has to be proven.
std::vector<bool> ReadByResults(const Graph& graph) {
  std::vector<bool> read(static_cast<size_t>(graph.size()), false);
  for (const ValueId id : graph.outputs()) read[static_cast<size_t>(id)] = true;
  for (ValueId id = graph.size() - 1; id >= 0; --id) {
    if (!read[static_cast<size_t>(id)]) continue;
    for (const ValueId operand : graph[id].operands) {
      if (operand != kNoValue) read[static_cast<size_t>(operand)] = true;
    }
  }
  return read;
}

}  // namespace

Status NodePair::Refuse(const std::string& reason) const {
  return Unimplemented("node " + TextOf(exact()) + ": " + reason);
}

Status CheckBroadcast(const NodePair& pair, int k, int skipped) {
  const int result_rank = pair.exact().type.rank();
  for (int a = 0; a + skipped < pair.rank(k); ++a) {
    const int at = a + result_rank - pair.rank(k);
    // One true element is read for every element of the result.
    if (pair.of(k, a) == 1 && pair.in(k, a) != 1 && pair.result_of(at) != 1) {
      return pair.Refuse("it repeats an operand along an axis that has more elements when padded");
    }
  }
  return {};
}

// Operators without a rule: right where nothing depends on the size.
Status ProveWhole(const NodePair& pair) {
  bool differs = pair.exact().type.dims != pair.padded().type.dims;
  for (int k = 0; k < pair.operand_count(); ++k) differs |= pair.has(k) && pair.any_differs(k);
  if (!differs) return {};
  return pair.Refuse("elements of all places may meet in its results");
}

}  // namespace prefix

Result<Needs> ProvePrefix(const Graph& exact, const Graph& padded, const SameConstants& same) {
  if (exact.size() != padded.size() || exact.outputs() != padded.outputs()) {
    return Unimplemented("the model has other nodes at another size");
  }
  Needs needs;
  std::vector<uint32_t> zero_beyond(static_cast<size_t>(exact.size()), 0);
  const std::vector<bool> read = prefix::ReadByResults(exact);
  for (ValueId id = 0; id < exact.size(); ++id) {
    if (!read[static_cast<size_t>(id)]) continue;
    MLC_TRY(prefix::Prove(prefix::NodePair(exact, padded, id, needs, zero_beyond), same));
  }
  return needs;
}

}  // namespace mlc::graph
