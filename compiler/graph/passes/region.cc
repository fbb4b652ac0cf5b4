#include "compiler/graph/passes/region.h"

#include <algorithm>

#include "base/check.h"

namespace mlc::graph {

namespace {

using Dims = std::vector<int64_t>;

void Widen(Region& region, const Dims& dims, size_t from, size_t to) {
  for (size_t i = from; i < to; ++i) region[i] = {0, dims[i]};
}

bool IsWhole(const Region& region, const Dims& dims, size_t from, size_t to) {
  for (size_t i = from; i < to; ++i) {
    if (region[i] != Range{0, dims[i]}) return false;
  }
  return true;
}

// The part of an operand of shape `dims` that broadcasts to `region` of a result: aligned at the
// last dimension.
Region Broadcast(const Dims& dims, const Region& region) {
  MLC_CHECK(dims.size() <= region.size());
  Region part(dims.size());
  const size_t skipped = region.size() - dims.size();
  for (size_t i = 0; i < dims.size(); ++i) {
    part[i] = dims[i] == 1 ? Range{0, 1} : region[i + skipped];
  }
  return part;
}

// Dimensions [in_begin, in_end) of one shape and [out_begin, out_end) of another that hold the same
// elements, and cannot be split further.
struct Group {
  size_t in_begin, in_end, out_begin, out_end;
};

std::vector<Group> GroupsOf(const Dims& in, const Dims& out) {
  std::vector<Group> groups;
  size_t i = 0, o = 0;
  while (i < in.size() && o < out.size()) {
    Group group{i, i + 1, o, o + 1};
    int64_t left = in[i++], right = out[o++];
    while (left != right) {
      if (left < right) {
        left *= in[i++];
      } else {
        right *= out[o++];
      }
    }
    group.in_end = i;
    group.out_end = o;
    groups.push_back(group);
  }
  // What is left has size one.
  if (groups.empty()) groups.push_back({0, 0, 0, 0});
  groups.back().in_end = in.size();
  groups.back().out_end = out.size();
  return groups;
}

// The only dimension in [begin, end) that is not one, or -1.
int64_t OnlyLarge(const Dims& dims, size_t begin, size_t end) {
  int64_t found = -1;
  for (size_t i = begin; i < end; ++i) {
    if (dims[i] == 1) continue;
    if (found >= 0) return -1;
    found = static_cast<int64_t>(i);
  }
  return found;
}

// A reshape hands a range on where one dimension becomes one dimension.
bool HandsOn(const Group& group, const Dims& in, const Dims& out) {
  return OnlyLarge(in, group.in_begin, group.in_end) >= 0 &&
         OnlyLarge(out, group.out_begin, group.out_end) >= 0;
}

Region ReshapeOperand(const Dims& in, const Dims& out, const Region& region) {
  Region part = WholeRegion(in);
  for (const Group& group : GroupsOf(in, out)) {
    if (!HandsOn(group, in, out)) continue;
    const int64_t from = OnlyLarge(out, group.out_begin, group.out_end);
    const int64_t to = OnlyLarge(in, group.in_begin, group.in_end);
    part[static_cast<size_t>(to)] = region[static_cast<size_t>(from)];
  }
  return part;
}

Region SliceOperand(const Value& node, const Region& region) {
  Region part(region.size());
  for (size_t i = 0; i < region.size(); ++i) {
    const int64_t step = node.Ints("steps")[i];
    const int64_t first = node.Ints("starts")[i] + region[i].begin * step;
    const int64_t last = first + (region[i].size - 1) * step;
    part[i] = {std::min(first, last), std::abs(last - first) + 1};
  }
  return part;
}

Region TransposeOperand(const Value& node, const Region& region) {
  Region part(region.size());
  for (size_t i = 0; i < region.size(); ++i) {
    part[static_cast<size_t>(node.Ints("perm")[i])] = region[i];
  }
  return part;
}

// Rows of the left operand are rows of the product; its columns are those of the right one, which
// stay whole, as do the summed dimensions.
Region MatMulOperand(const Dims& dims, size_t index, const Region& region) {
  Region part = Broadcast(dims, region);
  Widen(part, dims, dims.size() - (index == 0 ? 1 : 2), dims.size());
  return part;
}

// q[B,H,S,D], k[B,H,T,D], v[B,H,T,E], mask broadcast to [B,H,S,T].
Region AttentionOperand(const Dims& dims, size_t index, const Region& region) {
  if (index > 3) return WholeRegion(dims);
  Region part = Broadcast(dims, region);
  Widen(part, dims, dims.size() - (index == 0 || index == 3 ? 1 : 2), dims.size());
  return part;
}

bool HasZeroDimension(const Graph& graph, const Value& node) {
  const auto is_empty = [](const Dims& dims) {
    return std::find(dims.begin(), dims.end(), 0) != dims.end();
  };
  return is_empty(node.type.dims) ||
         std::any_of(node.operands.begin(), node.operands.end(),
                     [&](ValueId id) { return id != kNoValue && is_empty(graph[id].type.dims); });
}

// The first dimension of the result that must be whole, of those that end the shape; the rank if
// none; 0 if the operator knows no parts.
size_t WholeFrom(const Graph& graph, const Value& node) {
  const size_t rank = node.type.dims.size();
  switch (node.op) {
    case Op::kPointwise:
    case Op::kCast:
    case Op::kExpand:
    case Op::kTranspose:
    case Op::kSlice:
      return rank;
    case Op::kMatMul: {
      if (node.operands.size() > 2) return 0;
      const auto is_matrix = [&](ValueId id) { return graph[id].type.rank() >= 2; };
      return is_matrix(node.operands[0]) && is_matrix(node.operands[1]) ? rank - 1 : 0;
    }
    case Op::kAttention:
      return rank - 1;
    case Op::kLayerNorm:
      return static_cast<size_t>(node.Int("axis"));
    case Op::kConv:
      return 1;
    case Op::kPool:
      return 2;
    default:
      return 0;
  }
}

}  // namespace

Region WholeRegion(const std::vector<int64_t>& dims) {
  Region region(dims.size());
  Widen(region, dims, 0, dims.size());
  return region;
}

Region Hull(const Region& a, const Region& b) {
  MLC_CHECK(a.size() == b.size());
  Region hull(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    const int64_t begin = std::min(a[i].begin, b[i].begin);
    hull[i] = {begin, std::max(a[i].begin + a[i].size, b[i].begin + b[i].size) - begin};
  }
  return hull;
}

Region ComputableRegion(const Graph& graph, const Value& node, const Region& region) {
  const Dims& dims = node.type.dims;
  if (HasZeroDimension(graph, node)) return WholeRegion(dims);
  Region wider = region;
  if (node.op == Op::kReshape) {
    const Dims& in = graph[node.operands[0]].type.dims;
    for (const Group& group : GroupsOf(in, dims)) {
      if (!HandsOn(group, in, dims)) Widen(wider, dims, group.out_begin, group.out_end);
    }
    return wider;
  }
  if (node.op == Op::kSoftmax || node.op == Op::kLogSoftmax) {
    const auto axis = static_cast<size_t>(node.Int("axis"));
    Widen(wider, dims, axis, axis + 1);
    return wider;
  }
  Widen(wider, dims, WholeFrom(graph, node), dims.size());
  return wider;
}

Region OperandRegion(const Graph& graph, const Value& node, size_t index, const Region& region) {
  const Dims& dims = graph[node.operands[index]].type.dims;
  if (IsWhole(region, node.type.dims, 0, region.size()) && node.op != Op::kSlice) {
    return WholeRegion(dims);
  }
  switch (node.op) {
    case Op::kPointwise:
    case Op::kCast:
    case Op::kExpand:
      return Broadcast(dims, region);
    case Op::kTranspose:
      return TransposeOperand(node, region);
    case Op::kSlice:
      return HasZeroDimension(graph, node) ? WholeRegion(dims) : SliceOperand(node, region);
    case Op::kReshape:
      return ReshapeOperand(dims, node.type.dims, region);
    case Op::kMatMul:
      return MatMulOperand(dims, index, region);
    case Op::kAttention:
      return AttentionOperand(dims, index, region);
    case Op::kLayerNorm:
    case Op::kSoftmax:
    case Op::kLogSoftmax:
      // Scale and bias are shared by all parts.
      return index == 0 ? region : WholeRegion(dims);
    case Op::kConv:
    case Op::kPool: {
      Region part = WholeRegion(dims);
      if (index == 0) std::copy_n(region.begin(), WholeFrom(graph, node), part.begin());
      return part;
    }
    default:
      return WholeRegion(dims);
  }
}

}  // namespace mlc::graph
