#include "compiler/graph/passes/spell_out.h"

#include "compiler/graph/passes/rewrite.h"

namespace mlc::graph {

namespace {

using Dims = std::vector<int64_t>;

bool HasKernel(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

bool OfBytes(const Graph& graph, const Value& product) {
  return graph[product.operands[0]].type.dtype == DType::kU8 && product.type.dtype == DType::kI32;
}

ValueId Sum(Graph& graph, ValueId x, int64_t axis) {
  Value sum;
  sum.op = Op::kReduce;
  sum.operands = {x};
  sum.attrs["kind"] = std::string("sum");
  sum.attrs["axes"] = Dims{axis};
  sum.attrs["keepdims"] = int64_t{0};
  return AddNode(graph, std::move(sum));
}

// [..., M, 1, K] times [..., 1, N, K], summed over the last dimension.
ValueId SpellMatMul(Graph& graph, ValueId a, ValueId b) {
  Dims rows = graph[a].type.dims;
  rows.insert(rows.end() - 1, 1);
  Dims perm(graph[b].type.dims.size());
  for (size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<int64_t>(i);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  const ValueId transposed = AddTranspose(graph, b, perm);
  Dims columns = graph[transposed].type.dims;
  columns.insert(columns.end() - 2, 1);
  const ValueId product = AddPointwise(
      graph, ScalarOp::kMul, {AddReshape(graph, a, rows), AddReshape(graph, transposed, columns)});
  return Sum(graph, product, graph[product].type.rank() - 1);
}

ValueId Slice(Graph& graph, ValueId x, Dims starts, Dims steps, Dims sizes) {
  Value slice;
  slice.op = Op::kSlice;
  slice.operands = {x};
  slice.attrs["starts"] = std::move(starts);
  slice.attrs["steps"] = std::move(steps);
  slice.type = {graph[x].type.dtype, std::move(sizes), {}};
  return AddNode(graph, std::move(slice));
}

ValueId Padded(Graph& graph, ValueId x, const Dims& pads) {
  const size_t spatial = pads.size() / 2;
  Dims all(2 * (spatial + 2), 0);
  for (size_t i = 0; i < spatial; ++i) {
    all[2 + i] = pads[i];
    all[spatial + 4 + i] = pads[spatial + i];
  }
  Value pad;
  pad.op = Op::kPad;
  pad.operands = {x};
  pad.attrs["pads"] = std::move(all);
  return AddNode(graph, std::move(pad));
}

// The convolution's part of one tap: the operand's elements under it, [N, G, 1, C/G, area], times
// the tap's weights, [1, G, O/G, C/G, 1], summed over the channels.
class SpelledConv {
 public:
  SpelledConv(Graph& graph, const Value& node) : graph_(graph), node_(node) {}

  ValueId Run() {
    const Dims& kernel = graph_[node_.operands[1]].type.dims;
    int64_t taps = 1;
    for (size_t i = 2; i < kernel.size(); ++i) taps *= kernel[i];
    const ValueId x = Padded(graph_, node_.operands[0], node_.Ints("pads"));
    ValueId sum = kNoValue;
    for (int64_t tap = 0; tap < taps; ++tap) {
      const ValueId part = Tap(x, tap);
      sum = sum == kNoValue ? part : AddPointwise(graph_, ScalarOp::kAdd, {sum, part});
    }
    return AddReshape(graph_, sum, node_.type.dims);
  }

 private:
  ValueId Tap(ValueId x, int64_t tap) {
    const Dims w = graph_[node_.operands[1]].type.dims;
    const Dims& out = node_.type.dims;
    const int64_t group = node_.Int("group");
    Dims x_starts(w.size(), 0), x_steps(w.size(), 1), x_sizes = out;
    Dims w_starts(w.size(), 0), w_sizes = w;
    x_sizes[1] = w[1] * group;
    int64_t area = 1;
    for (size_t i = w.size(); i-- > 2;) {
      const int64_t at = tap % w[i];
      tap /= w[i];
      x_starts[i] = at * node_.Ints("dilations")[i - 2];
      x_steps[i] = node_.Ints("strides")[i - 2];
      w_starts[i] = at;
      w_sizes[i] = 1;
      area *= out[i];
    }
    const ValueId under = Slice(graph_, x, x_starts, x_steps, x_sizes);
    const ValueId weights = Slice(graph_, node_.operands[1], w_starts, Dims(w.size(), 1), w_sizes);
    const ValueId product =
        AddPointwise(graph_, ScalarOp::kMul,
                     {AddReshape(graph_, under, {out[0], group, 1, w[1], area}),
                      AddReshape(graph_, weights, {1, group, w[0] / group, w[1], 1})});
    return Sum(graph_, product, 3);
  }

  Graph& graph_;
  const Value& node_;
};

ValueId VisitProduct(Rewriter& rewriter, const Value& node) {
  Graph& graph = rewriter.out();
  const bool product = node.op == Op::kMatMul || node.op == Op::kConv;
  // Products of bytes without a kernel are products of floats by now.
  if (!product || HasKernel(node.type.dtype) || OfBytes(graph, node) ||
      node.type.NumElements() == 0) {
    return graph.Add(node);
  }
  if (node.op == Op::kConv) return SpelledConv(graph, node).Run();
  return SpellMatMul(graph, node.operands[0], node.operands[1]);
}

}  // namespace

Result<bool> SpellOutProducts(Graph& graph) { return Rewriter::Run(graph, VisitProduct); }

}  // namespace mlc::graph
