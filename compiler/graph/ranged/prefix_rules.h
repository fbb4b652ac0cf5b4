// The rules of the proof of prefix.h, by groups of operators. Internal to the folder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compiler/graph/ranged/needs.h"

namespace mlc::graph::prefix {

// One node in both graphs. Its operands are proven; its type fits.
class NodePair {
 public:
  NodePair(const Graph& exact, const Graph& padded, ValueId node, Needs& needs,
           std::vector<uint32_t>& zero_beyond)
      : exact_graph_(exact),
        padded_graph_(padded),
        node_(node),
        needs_(needs),
        zero_beyond_(zero_beyond) {}

  const Value& exact() const { return exact_graph_[node_]; }
  const Value& padded() const { return padded_graph_[node_]; }
  int operand_count() const { return static_cast<int>(exact().operands.size()); }
  bool has(int k) const { return k < operand_count() && operand_id(k) != kNoValue; }
  ValueId operand_id(int k) const { return exact().operands[static_cast<size_t>(k)]; }
  const Value& exact_operand(int k) const { return exact_graph_[operand_id(k)]; }
  const Value& padded_operand(int k) const { return padded_graph_[operand_id(k)]; }
  const Value& exact_value(ValueId id) const { return exact_graph_[id]; }
  int rank(int k) const { return exact_operand(k).type.rank(); }
  // Lengths on an axis of an operand, and of the result.
  int64_t of(int k, int axis) const { return At(exact_operand(k), axis); }
  int64_t in(int k, int axis) const { return At(padded_operand(k), axis); }
  int64_t result_of(int axis) const { return At(exact(), axis); }
  int64_t result_in(int axis) const { return At(padded(), axis); }
  bool differs(int k, int axis) const { return of(k, axis) != in(k, axis); }
  bool any_differs(int k) const {
    return exact_operand(k).type.dims != padded_operand(k).type.dims;
  }
  bool result_differs(int axis) const { return result_of(axis) != result_in(axis); }

  void Require(Need::Kind kind, int operand, int axis, int64_t length, double fill = 0) const {
    needs_.insert_or_assign(Need{node_, operand, axis, kind, fill}, length);
  }
  // Masks the axis of the operand if its length differs.
  void Mask(int operand, int axis, double fill) const {
    if (differs(operand, axis)) Require(Need::Kind::kMask, operand, axis, of(operand, axis), fill);
  }
  // Elements beyond the length on this axis, within the lengths of all others, are zero.
  bool IsZeroBeyond(int k, int axis) const {
    return (zero_beyond_[static_cast<size_t>(operand_id(k))] >> axis & 1) != 0;
  }
  uint32_t ZeroBeyond(int k) const { return zero_beyond_[static_cast<size_t>(operand_id(k))]; }
  void SetZeroBeyond(uint32_t axes) const { zero_beyond_[static_cast<size_t>(node_)] = axes; }

  // Attributes in both graphs.
  bool same(std::string_view key) const {
    const auto a = exact().attrs.find(key), b = padded().attrs.find(key);
    if (a == exact().attrs.end() || b == padded().attrs.end()) {
      return (a == exact().attrs.end()) == (b == padded().attrs.end());
    }
    return a->second == b->second;
  }
  // UNIMPLEMENTED with the name of the node.
  Status Refuse(const std::string& reason) const;

 private:
  static int64_t At(const Value& value, int axis) {
    return value.type.dims[static_cast<size_t>(axis)];
  }

  const Graph& exact_graph_;
  const Graph& padded_graph_;
  ValueId node_;
  Needs& needs_;
  std::vector<uint32_t>& zero_beyond_;  // by value: a bit an axis
};

// Operand k broadcasts to the last dimensions of a result, but for `skipped` of its own last ones.
Status CheckBroadcast(const NodePair& pair, int k, int skipped);

Status ProvePointwise(const NodePair& pair);
Status ProveMatMul(const NodePair& pair);
Status ProveConv(const NodePair& pair);
Status ProveAttention(const NodePair& pair);
Status ProvePool(const NodePair& pair);
Status ProveReduce(const NodePair& pair);
Status ProveArg(const NodePair& pair);
Status ProveSoftmax(const NodePair& pair);
Status ProveLayerNorm(const NodePair& pair);
Status ProveCumSum(const NodePair& pair);

Status ProveTranspose(const NodePair& pair);
Status ProveReshape(const NodePair& pair);
Status ProveSlice(const NodePair& pair);
Status ProveConcat(const NodePair& pair);
Status ProvePad(const NodePair& pair);
Status ProveGather(const NodePair& pair);
Status ProveGatherND(const NodePair& pair);
Status ProveNonZero(const NodePair& pair);
Status ProveSuppress(const NodePair& pair);
Status ProveResize(const NodePair& pair);
Status ProveTile(const NodePair& pair);
Status ProveWhole(const NodePair& pair);

}  // namespace mlc::graph::prefix
