// Random graphs compute the same before and after the whole list of passes, and again after a
// second run. A failure prints the seed and both graphs.
#include <gtest/gtest.h>

#include "compiler/graph/passes/pipeline.h"
#include "compiler/graph/shape.h"
#include "tests/unit/graph/passes/check.h"

namespace mlc::graph {
namespace {

class Generator {
 public:
  explicit Generator(uint64_t seed) : rng_(seed) {
    for (int i = 0; i < 2; ++i) graph_.Input({DType::kF32, {2, 3, 4}, {}});
    Constant({4});
    Constant({1});
    Constant({3, 1});
    Constant({4, 4});
    Constant({4, 4});
    graph_.Splat(DType::kF32, 1.0);
    graph_.Splat(DType::kF32, 0.5);
  }

  Graph Make(int nodes) {
    for (int i = 0; i < nodes; ++i) AddRandom();
    graph_.outputs() = {graph_.size() - 1, Any()};
    return graph_;
  }

 private:
  ValueId Any() { return static_cast<ValueId>(rng_.Below(static_cast<uint64_t>(graph_.size()))); }

  void Constant(std::vector<int64_t> dims) {
    std::vector<double> values(
        static_cast<size_t>(TensorType{DType::kF32, dims, {}}.NumElements()));
    for (double& value : values) value = 0.25 + static_cast<double>(rng_.Below(8)) * 0.25;
    graph_.Constant(WriteDoubles(DType::kF32, std::move(dims), values));
  }

  // Nodes that do not fit are dropped: the shape rules filter.
  void AddRandom() {
    Value node;
    const ValueId x = Any();
    const TensorType& type = graph_[x].type;
    node.operands = {x};
    node.type.dtype = DType::kF32;
    const auto rank = static_cast<size_t>(type.rank());
    const auto axis = static_cast<int64_t>(rank == 0 ? 0 : rng_.Below(rank));
    switch (rng_.Below(12)) {
      case 0:
      case 1:
      case 2: {
        constexpr ScalarOp kTwo[] = {ScalarOp::kAdd, ScalarOp::kSub, ScalarOp::kMul, ScalarOp::kMax,
                                     ScalarOp::kMin};
        node.op = Op::kPointwise;
        node.scalar = kTwo[rng_.Below(5)];
        node.operands.push_back(Any());
        break;
      }
      case 3: {
        constexpr ScalarOp kOne[] = {ScalarOp::kNeg, ScalarOp::kAbs, ScalarOp::kTanh,
                                     ScalarOp::kSigmoid};
        node.op = Op::kPointwise;
        node.scalar = kOne[rng_.Below(4)];
        break;
      }
      case 4: {
        node.op = Op::kTranspose;
        std::vector<int64_t> perm(rank);
        for (size_t i = 0; i < rank; ++i) perm[i] = static_cast<int64_t>(i);
        for (size_t i = rank; i > 1; --i) std::swap(perm[i - 1], perm[rng_.Below(i)]);
        node.attrs["perm"] = perm;
        break;
      }
      case 5: {
        node.op = Op::kReshape;
        const std::vector<std::vector<int64_t>> shapes = {{6, 4}, {1, 24}, {2, 1, 3, 4}, {24}, {4}};
        node.type.dims = shapes[rng_.Below(shapes.size())];
        break;
      }
      case 6:
      case 7:
        node.op = Op::kMatMul;
        node.operands.push_back(Any());
        break;
      case 8:
        node.op = Op::kSoftmax;
        node.attrs["axis"] = axis;
        break;
      case 9:
        node.op = Op::kLayerNorm;
        node.attrs["axis"] = axis;
        node.attrs["epsilon"] = 0.1;
        break;
      case 10: {
        if (rank == 0 || type.dims[static_cast<size_t>(axis)] < 2) return;
        node.op = Op::kSlice;
        std::vector<int64_t> starts(rank, 0);
        starts[static_cast<size_t>(axis)] = 1;
        node.attrs["starts"] = starts;
        node.type.dims = type.dims;
        --node.type.dims[static_cast<size_t>(axis)];
        break;
      }
      default:
        node.op = Op::kReduce;
        node.attrs["axes"] = std::vector<int64_t>{axis};
        node.attrs["kind"] = std::string(rng_.Below(2) == 0 ? "mean" : "max");
        node.attrs["keepdims"] = static_cast<int64_t>(rng_.Below(2));
    }
    [[maybe_unused]] const Result<ValueId> added = AddInferred(graph_, std::move(node));
  }

  Rng rng_;
  Graph graph_;
};

TEST(Passes, KeepWhatRandomGraphsCompute) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    const Graph before = Generator(seed).Make(24);
    ASSERT_TRUE(before.Verify().ok()) << seed << before.Verify().message();
    Graph after = before;
    const auto reports = RunPasses(after);
    ASSERT_TRUE(reports.ok()) << "seed " << seed << ": " << reports.status().message() << "\n"
                              << before.ToText();
    ASSERT_LT(Difference(before, after, seed), 1e-4) << "seed " << seed << "\n"
                                                     << before.ToText() << after.ToText();
    Graph again = after;
    ASSERT_TRUE(RunPasses(again).ok()) << "seed " << seed;
    ASSERT_LT(Difference(before, again, seed), 1e-4) << "seed " << seed;
    const Result<Graph> parsed = Graph::Parse(after.ToText());
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    ASSERT_EQ(parsed->ToText(), after.ToText());
  }
}

}  // namespace
}  // namespace mlc::graph
