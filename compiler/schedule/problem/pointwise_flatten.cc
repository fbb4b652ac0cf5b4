#include "compiler/schedule/problem/pointwise_flatten.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace mlc::schedule {

using graph::Graph;
using graph::Op;
using graph::TensorType;
using graph::Value;
using graph::ValueId;

namespace {

// Coordinates of a value as affine functions of the index space: offset + sum of coef * index.
struct Map {
  std::vector<int64_t> offset;             // one per dimension of the value
  std::vector<std::vector<int64_t>> coef;  // [dimension of the value][dimension of the space]
  friend bool operator<(const Map& a, const Map& b) {
    return std::tie(a.offset, a.coef) < std::tie(b.offset, b.coef);
  }
};

// Strides under which storage of `dims` and `strides` reads as `to`; null if it does not.
std::optional<std::vector<int64_t>> ReshapedStrides(const std::vector<int64_t>& dims,
                                                    const std::vector<int64_t>& strides,
                                                    const std::vector<int64_t>& to) {
  std::vector<int64_t> sizes, steps;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 1) continue;
    sizes.push_back(dims[d]);
    steps.push_back(strides[d]);
  }
  // Merge what is contiguous, then deal it out from the innermost dimension.
  for (size_t d = sizes.size(); d-- > 1;) {
    if (steps[d - 1] != steps[d] * sizes[d]) continue;
    sizes[d - 1] *= sizes[d];
    steps[d - 1] = steps[d];
    sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(d));
    steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(d));
  }
  std::vector<int64_t> result(to.size(), 0);
  size_t group = sizes.size();
  int64_t left = 1;
  int64_t step = 0;
  for (size_t d = to.size(); d-- > 0;) {
    if (to[d] == 1) continue;
    if (left == 1) {
      if (group == 0) return std::nullopt;
      left = sizes[--group];
      step = steps[group];
    }
    if (left % to[d] != 0) return std::nullopt;
    result[d] = step;
    step *= to[d];
    left /= to[d];
  }
  return result;
}

class Flattener {
 public:
  Flattener(const Graph& graph, std::vector<int64_t> dims) : graph_(graph), dims_(std::move(dims)) {
    // Sources keep their ids; the rest is appended.
    for (ValueId id = 0; id < graph.size(); ++id) {
      const Op op = graph[id].op;
      if (op == Op::kInput || op == Op::kWeight) {
        result_.Add(graph[id]);
      } else {
        result_.Splat(DType::kF32, 0);
      }
    }
  }

  std::optional<Graph> Run(const std::vector<ValueId>& roots,
                           const std::vector<std::vector<int64_t>>& strides) {
    Map identity;
    identity.offset.assign(dims_.size(), 0);
    identity.coef.assign(dims_.size(), std::vector<int64_t>(dims_.size(), 0));
    for (size_t d = 0; d < dims_.size(); ++d) identity.coef[d][d] = 1;
    for (size_t i = 0; i < roots.size(); ++i) {
      ValueId value = Rewrite(roots[i], identity);
      if (value == graph::kNoValue) return std::nullopt;
      Value copy;
      if (result_[value].type.dims.empty() && !dims_.empty()) {
        Value expand;
        expand.op = Op::kExpand;
        expand.operands = {value};
        expand.type.dtype = result_[value].type.dtype;
        expand.type.dims = dims_;
        value = result_.Add(std::move(expand));
      }
      copy.op = Op::kCopy;
      copy.operands = {value};
      copy.type.dtype = graph_[roots[i]].type.dtype;
      copy.type.dims = dims_;
      copy.type.strides = strides[i];
      result_.outputs().push_back(result_.Add(std::move(copy)));
    }
    Merge(strides);
    return std::move(result_);
  }

 private:
  ValueId Rewrite(ValueId id, const Map& map) {
    const auto key = std::make_pair(id, map);
    if (const auto known = memo_.find(key); known != memo_.end()) return known->second;
    const ValueId result = Compute(id, map);
    memo_[key] = result;
    return result;
  }

  ValueId Compute(ValueId id, const Map& map) {
    const Value& node = graph_[id];
    switch (node.op) {
      case Op::kInput:
      case Op::kWeight:
        return Leaf(id, node.type.EffectiveStrides(), node.type.dims, 0, map);
      case Op::kConstant: {
        Value constant = node;
        constant.type = {node.type.dtype, {}, {}};
        return result_.Add(std::move(constant));
      }
      case Op::kPointwise:
      case Op::kCast:
        return Arithmetic(node, map);
      case Op::kCopy:
        return Rewrite(node.operands[0], map);
      case Op::kTranspose: {
        const std::vector<int64_t>& perm = node.Ints("perm");
        Map from = map;
        for (size_t d = 0; d < perm.size(); ++d) {
          from.offset[static_cast<size_t>(perm[d])] = map.offset[d];
          from.coef[static_cast<size_t>(perm[d])] = map.coef[d];
        }
        return Rewrite(node.operands[0], from);
      }
      case Op::kExpand:
        return Rewrite(node.operands[0], Broadcast(map, graph_[node.operands[0]].type.dims));
      case Op::kSlice: {
        Map from = map;
        for (size_t d = 0; d < map.offset.size(); ++d) {
          const int64_t step = node.Ints("steps")[d];
          from.offset[d] = map.offset[d] * step + node.Ints("starts")[d];
          for (int64_t& c : from.coef[d]) c *= step;
        }
        return Rewrite(node.operands[0], from);
      }
      case Op::kView:
        return View(node, map);
      case Op::kReshape:
        return Reshape(node, map);
      default:
        return graph::kNoValue;
    }
  }

  Map Broadcast(const Map& map, const std::vector<int64_t>& dims) const {
    Map from;
    const size_t skip = map.offset.size() - dims.size();
    for (size_t d = 0; d < dims.size(); ++d) {
      const bool one = dims[d] == 1;
      from.offset.push_back(one ? 0 : map.offset[skip + d]);
      from.coef.push_back(one ? std::vector<int64_t>(dims_.size(), 0) : map.coef[skip + d]);
    }
    return from;
  }

  ValueId Arithmetic(const Value& node, const Map& map) {
    Value copy = node;
    bool scalar = true;
    for (ValueId& operand : copy.operands) {
      operand = Rewrite(operand, Broadcast(map, graph_[operand].type.dims));
      if (operand == graph::kNoValue) return operand;
      scalar = scalar && result_[operand].type.dims.empty();
    }
    copy.type = {node.type.dtype, scalar ? std::vector<int64_t>{} : dims_, {}};
    return result_.Add(std::move(copy));
  }

  // A reshape of storage that is contiguous where dimensions merge or split.
  ValueId Reshape(const Value& node, const Map& map) {
    ValueId source = node.operands[0];
    while (graph_[source].op == Op::kReshape || graph_[source].op == Op::kCopy) {
      source = graph_[source].operands[0];
    }
    const Value& from = graph_[source];
    const bool view = from.op == Op::kView;
    const ValueId storage = view ? from.operands[0] : source;
    const Op op = graph_[storage].op;
    if (op == Op::kConstant) return Rewrite(storage, Broadcast(map, {}));
    if (op == Op::kInput || op == Op::kWeight) {
      const auto strides =
          ReshapedStrides(from.type.dims, from.type.EffectiveStrides(), node.type.dims);
      if (!strides) return graph::kNoValue;
      return Leaf(storage, *strides, node.type.dims, view ? from.Int("offset") : 0, map);
    }
    return Unit(node, map);
  }

  // A reshape of a computed value that only adds or drops dimensions of size 1.
  ValueId Unit(const Value& node, const Map& map) {
    const std::vector<int64_t>& to = graph_[node.operands[0]].type.dims;
    Map from;
    size_t d = 0;
    for (const int64_t size : to) {
      if (size == 1) {
        from.offset.push_back(0);
        from.coef.emplace_back(dims_.size(), 0);
        continue;
      }
      while (d < node.type.dims.size() && node.type.dims[d] == 1) ++d;
      if (d == node.type.dims.size() || node.type.dims[d] != size) return graph::kNoValue;
      from.offset.push_back(map.offset[d]);
      from.coef.push_back(map.coef[d]);
      ++d;
    }
    return Rewrite(node.operands[0], from);
  }

  ValueId View(const Value& node, const Map& map) {
    const Op op = graph_[node.operands[0]].op;
    if (op != Op::kInput && op != Op::kWeight) return graph::kNoValue;
    return Leaf(node.operands[0], node.type.EffectiveStrides(), node.type.dims, node.Int("offset"),
                map);
  }

  ValueId Leaf(ValueId source, const std::vector<int64_t>& strides,
               const std::vector<int64_t>& dims, int64_t offset, const Map& map) {
    Value view;
    view.op = Op::kView;
    view.operands = {source};
    view.type = {graph_[source].type.dtype, dims_, std::vector<int64_t>(dims_.size(), 0)};
    for (size_t d = 0; d < strides.size(); ++d) {
      if (dims[d] == 1) continue;
      offset += map.offset[d] * strides[d];
      for (size_t k = 0; k < dims_.size(); ++k) view.type.strides[k] += map.coef[d][k] * strides[d];
    }
    view.attrs["offset"] = offset;
    const ValueId id = result_.Add(std::move(view));
    strided_.push_back(id);
    return id;
  }

  // Orders the dimensions by falling stride of the first output and merges neighbours that every
  // view and output walks as one.
  void Merge(const std::vector<std::vector<int64_t>>& strides) {
    for (ValueId output : result_.outputs()) strided_.push_back(output);
    std::vector<size_t> order;
    for (size_t d = 0; d < dims_.size(); ++d) {
      if (dims_[d] != 1) order.push_back(d);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return strides[0][a] > strides[0][b]; });
    std::vector<std::vector<size_t>> groups;
    for (size_t d : order) {
      const bool joins = !groups.empty() && Contiguous(groups.back().back(), d);
      if (joins) {
        groups.back().push_back(d);
      } else {
        groups.push_back({d});
      }
    }
    std::vector<int64_t> merged;
    for (const auto& group : groups) {
      int64_t size = 1;
      for (size_t d : group) size *= dims_[d];
      merged.push_back(size);
    }
    if (merged.empty()) merged.push_back(1);
    for (ValueId id : strided_) {
      std::vector<int64_t> steps;
      for (const auto& group : groups) steps.push_back(result_[id].type.strides[group.back()]);
      if (groups.empty()) steps.push_back(1);
      result_[id].type.strides = std::move(steps);
    }
    std::vector<bool> is_strided(static_cast<size_t>(result_.size()), false);
    for (ValueId id : strided_) is_strided[static_cast<size_t>(id)] = true;
    for (ValueId id = graph_.size(); id < result_.size(); ++id) {
      TensorType& type = result_[id].type;
      if (dims_.empty() ? is_strided[static_cast<size_t>(id)] : !type.dims.empty()) {
        type.dims = merged;
      }
    }
  }

  bool Contiguous(size_t outer, size_t inner) const {
    return std::all_of(strided_.begin(), strided_.end(), [&](ValueId id) {
      const std::vector<int64_t>& s = result_[id].type.strides;
      return s[outer] == s[inner] * dims_[inner];
    });
  }

  const Graph& graph_;
  const std::vector<int64_t> dims_;
  Graph result_;
  std::map<std::pair<ValueId, Map>, ValueId> memo_;
  std::vector<ValueId> strided_;
};

}  // namespace

std::optional<Graph> Flatten(const Graph& graph, const std::vector<ValueId>& roots,
                             const std::vector<std::vector<int64_t>>& strides) {
  // A scalar needs no flattening.
  if (graph[roots[0]].type.dims.empty()) return std::nullopt;
  return Flattener(graph, graph[roots[0]].type.dims).Run(roots, strides);
}

}  // namespace mlc::schedule
