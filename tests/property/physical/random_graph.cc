#include "tests/property/physical/random_graph.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "compiler/graph/shape.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph {

namespace {

using Dims = std::vector<int64_t>;

class Generator {
 public:
  explicit Generator(uint64_t seed) : rng_(seed) {}

  Graph Run() {
    const Dims shapes[] = {{1, 4, 6, 6}, {2, 6, 4}, {1, 8, 5, 5}, {6, 8}, {2, 3, 4, 6}};
    const int inputs = 1 + static_cast<int>(rng_.Below(2));
    for (int i = 0; i < inputs; ++i) {
      values_.push_back(graph_.Input({DType::kF32, shapes[rng_.Below(5)], {}}, "x"));
    }
    const int steps = 4 + static_cast<int>(rng_.Below(16));
    for (int i = 0; i < steps; ++i) Step();
    graph_.outputs().push_back(values_.back());
    for (int i = 0; i < 2; ++i) {
      if (rng_.Below(3) == 0) graph_.outputs().push_back(Pick());
    }
    graph_.output_names().assign(graph_.outputs().size(), "y");
    graph_.Compact();
    return std::move(graph_);
  }

 private:
  // Recent values more often, so that chains arise.
  ValueId Pick() {
    const uint64_t back = std::min(rng_.Below(values_.size()), rng_.Below(values_.size()));
    return values_[values_.size() - 1 - back];
  }

  const Dims& DimsOf(ValueId id) const { return graph_[id].type.dims; }

  // Adds the node if its type can be inferred.
  void Push(Value node) {
    Result<ValueId> id = AddInferred(graph_, std::move(node));
    if (id.ok() && graph_[*id].type.NumElements() <= 4096) values_.push_back(*id);
  }

  void Step() {
    switch (rng_.Below(15)) {
      case 0:
      case 1:
        return Unary();
      case 2:
      case 3:
        return Binary();
      case 4:
        return Conv();
      case 5:
        return MatMul();
      case 6:
        return Reshape();
      case 7:
        return Transpose();
      case 8:
        return Slice();
      case 9:
        return Row();
      case 10:
        return Pool();
      case 11:
        return Expand();
      case 12:
        return LayerNorm();
      case 13:
        return Attention();
      default:
        return Join();
    }
  }

  void Unary() {
    const ScalarOp ops[] = {ScalarOp::kTanh, ScalarOp::kAbs, ScalarOp::kSigmoid, ScalarOp::kNeg};
    values_.push_back(graph_.Pointwise(ops[rng_.Below(4)], {Pick()}));
  }

  void Binary() {
    const ScalarOp ops[] = {ScalarOp::kAdd, ScalarOp::kMul, ScalarOp::kSub, ScalarOp::kMax};
    const ScalarOp op = ops[rng_.Below(4)];
    const ValueId a = Pick();
    std::vector<ValueId> others;
    for (ValueId b : values_) {
      if (BroadcastDims(DimsOf(a), DimsOf(b)).ok()) others.push_back(b);
    }
    ValueId b = others[rng_.Below(others.size())];
    if (rng_.Below(3) == 0) b = Bias(DimsOf(a));
    const bool swap = rng_.Below(2) == 0;
    const ValueId id = graph_.Pointwise(op, swap ? std::vector{b, a} : std::vector{a, b});
    if (graph_[id].type.NumElements() <= 4096) values_.push_back(id);
  }

  ValueId Constant(const Dims& dims, bool same = false) {
    const int64_t count =
        std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
    std::vector<double> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(same ? 0.5 : rng_.Uniform() - 0.5);
    return graph_.Constant(WriteDoubles(DType::kF32, dims, values));
  }

  ValueId Bias(const Dims& dims) {
    Dims bias(dims.size() - rng_.Below(dims.size()), 1);
    for (size_t i = 0; i < bias.size(); ++i) {
      if (rng_.Below(2) == 0) bias[i] = dims[dims.size() - bias.size() + i];
    }
    return Constant(bias, rng_.Below(3) == 0);
  }

  void Conv() {
    const ValueId x = Pick();
    if (DimsOf(x).size() < 3) return;
    Value node;
    node.op = Op::kConv;
    Dims weight = {static_cast<int64_t>(2 + rng_.Below(5)), DimsOf(x)[1]};
    const auto spatial = DimsOf(x).size() - 2;
    const auto kernel = static_cast<int64_t>(1 + rng_.Below(3));
    weight.insert(weight.end(), spatial, kernel);
    node.operands = {x, Constant(weight)};
    node.attrs["pads"] = Dims(2 * spatial, static_cast<int64_t>(rng_.Below(2)));
    node.attrs["strides"] = Dims(spatial, static_cast<int64_t>(1 + rng_.Below(2)));
    Push(std::move(node));
  }

  void Pool() {
    const ValueId x = Pick();
    if (DimsOf(x).size() < 3) return;
    Value node;
    node.op = Op::kPool;
    node.operands = {x};
    node.attrs["kind"] = std::string(rng_.Below(2) == 0 ? "max" : "avg");
    node.attrs["kernel"] = Dims(DimsOf(x).size() - 2, 2);
    node.attrs["strides"] = Dims(DimsOf(x).size() - 2, 1);
    Push(std::move(node));
  }

  void MatMul() {
    const ValueId a = Pick();
    if (DimsOf(a).size() < 2) return;
    Value node;
    node.op = Op::kMatMul;
    node.operands = {a, Constant({DimsOf(a).back(), static_cast<int64_t>(2 + rng_.Below(6))})};
    for (ValueId b : values_) {
      const Dims& dims = DimsOf(b);
      const bool fits = dims.size() >= 2 && dims[dims.size() - 2] == DimsOf(a).back();
      if (fits && rng_.Below(2) == 0) node.operands[1] = b;
    }
    Push(std::move(node));
  }

  void Reshape() {
    const ValueId x = Pick();
    Dims dims = DimsOf(x);
    const size_t at = rng_.Below(dims.size());
    if (rng_.Below(2) == 0 && at + 1 < dims.size()) {
      dims[at] *= dims[at + 1];
      dims.erase(dims.begin() + static_cast<ptrdiff_t>(at) + 1);
    } else if (dims[at] % 2 == 0 && dims.size() < 5) {
      dims[at] /= 2;
      dims.insert(dims.begin() + static_cast<ptrdiff_t>(at + rng_.Below(2)), 2);
    } else {
      dims.insert(dims.begin(), 1);
    }
    Value node;
    node.op = Op::kReshape;
    node.operands = {x};
    node.type = {graph_[x].type.dtype, dims, {}};
    Push(std::move(node));
  }

  void Transpose() {
    const ValueId x = Pick();
    std::vector<int64_t> perm(DimsOf(x).size());
    std::iota(perm.begin(), perm.end(), 0);
    for (size_t i = perm.size(); i-- > 1;) std::swap(perm[i], perm[rng_.Below(i + 1)]);
    Value node;
    node.op = Op::kTranspose;
    node.operands = {x};
    node.attrs["perm"] = perm;
    Push(std::move(node));
  }

  void Slice() {
    const ValueId x = Pick();
    Dims dims = DimsOf(x);
    Dims starts(dims.size(), 0);
    Dims steps(dims.size(), 1);
    const size_t at = rng_.Below(dims.size());
    if (dims[at] < 2) return;
    if (rng_.Below(4) == 0) {
      steps[at] = -1;
      starts[at] = dims[at] - 1;
    } else {
      starts[at] = static_cast<int64_t>(rng_.Below(static_cast<uint64_t>(dims[at])));
      steps[at] = static_cast<int64_t>(1 + rng_.Below(2));
      dims[at] = (dims[at] - starts[at] + steps[at] - 1) / steps[at];
    }
    Value node;
    node.op = Op::kSlice;
    node.operands = {x};
    node.attrs["starts"] = starts;
    node.attrs["steps"] = steps;
    node.type = {graph_[x].type.dtype, dims, {}};
    Push(std::move(node));
  }

  void Row() {
    const ValueId x = Pick();
    const auto axis = static_cast<int64_t>(rng_.Below(DimsOf(x).size()));
    Value node;
    node.operands = {x};
    if (rng_.Below(2) == 0) {
      node.op = Op::kSoftmax;
      node.attrs["axis"] = axis;
    } else {
      node.op = Op::kReduce;
      node.attrs["kind"] = std::string(rng_.Below(2) == 0 ? "sum" : "max");
      node.attrs["axes"] = Dims{axis};
      node.attrs["keepdims"] = static_cast<int64_t>(rng_.Below(2));
      if (DimsOf(x).size() == 1) node.attrs["keepdims"] = int64_t{1};
    }
    Push(std::move(node));
  }

  void Expand() {
    const ValueId x = Pick();
    Dims dims = DimsOf(x);
    for (int64_t& dim : dims) {
      if (dim == 1 && rng_.Below(2) == 0) dim = 3;
    }
    if (rng_.Below(2) == 0 && dims.size() < 5) dims.insert(dims.begin(), 2);
    Value node;
    node.op = Op::kExpand;
    node.operands = {x};
    node.type = {graph_[x].type.dtype, dims, {}};
    Push(std::move(node));
  }

  void LayerNorm() {
    const ValueId x = Pick();
    const Dims row = {DimsOf(x).back()};
    Value node;
    node.op = Op::kLayerNorm;
    node.operands = {x, Constant(row), Constant(row)};
    node.attrs["axis"] = static_cast<int64_t>(DimsOf(x).size()) - 1;
    Push(std::move(node));
  }

  // Heads split and joined around attention, as transformers write it.
  void Attention() {
    const ValueId x = Pick();
    const Dims dims = DimsOf(x);
    if (dims.size() != 3 || dims[2] % 2 != 0) return;
    Value split;
    split.op = Op::kReshape;
    split.operands = {x};
    split.type = {DType::kF32, {dims[0], dims[1], 2, dims[2] / 2}, {}};
    Value swap;
    swap.op = Op::kTranspose;
    swap.operands = {graph_.Add(std::move(split))};
    swap.attrs["perm"] = Dims{0, 2, 1, 3};
    swap.type = {DType::kF32, {dims[0], 2, dims[1], dims[2] / 2}, {}};
    const ValueId heads = graph_.Add(swap);
    Value attention;
    attention.op = Op::kAttention;
    attention.operands = {heads, heads, graph_.Pointwise(ScalarOp::kTanh, {heads})};
    attention.attrs["scale"] = 0.5;
    attention.type = swap.type;
    swap.operands = {graph_.Add(std::move(attention))};
    swap.type.dims = {dims[0], dims[1], 2, dims[2] / 2};
    Value join;
    join.op = Op::kReshape;
    join.operands = {graph_.Add(std::move(swap))};
    join.type = {DType::kF32, dims, {}};
    Push(std::move(join));
  }

  void Join() {
    const ValueId a = Pick();
    const auto axis = static_cast<int64_t>(rng_.Below(DimsOf(a).size()));
    Value node;
    node.op = Op::kConcat;
    node.operands = {a, Pick()};
    if (DimsOf(node.operands[1]).size() != DimsOf(a).size()) node.operands[1] = a;
    node.attrs["axis"] = axis;
    if (rng_.Below(2) == 0) {
      node.op = Op::kGather;
      const std::vector<int64_t> indices = {0, DimsOf(a)[static_cast<size_t>(axis)] - 1, 0};
      node.operands = {a, graph_.Constant(WriteInts(DType::kI64, {3}, indices))};
    }
    Push(std::move(node));
  }

  Rng rng_;
  Graph graph_;
  std::vector<ValueId> values_;
};

}  // namespace

Graph RandomGraph(uint64_t seed) { return Generator(seed).Run(); }

}  // namespace mlc::graph
