// Caches that grow, of random shapes: what a step joins is written behind the true elements of an
// input that has room for all of them, and whatever reads the cache sees what it joined.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/rng.h"
#include "compiler/graph/evaluate/evaluate.h"
#include "compiler/graph/ranged/growing_cache.h"
#include "compiler/graph/ranged/length_masks.h"
#include "compiler/graph/ranged/prefix.h"
#include "compiler/graph/shape.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph {
namespace {

using Dims = std::vector<int64_t>;

// Shapes without the length of the axis.
struct Shape {
  Dims dims;
  size_t axis = 0;
  bool turns = false;  // what is joined is a transpose of an input
  size_t reader = 0;

  Dims With(int64_t length) const {
    Dims with = dims;
    with[axis] = length;
    return with;
  }
};

Shape RandomShape(Rng& rng) {
  Shape shape;
  const size_t rank = 2 + rng.Below(3);
  for (size_t a = 0; a < rank; ++a) shape.dims.push_back(1 + static_cast<int64_t>(rng.Below(4)));
  shape.axis = rng.Below(rank);
  shape.turns = rng.Below(2) == 0;
  shape.reader = rng.Below(3);
  return shape;
}

ValueId Add(Graph& graph, Op op, std::vector<ValueId> operands, Attrs attrs) {
  Value node;
  node.op = op;
  node.operands = std::move(operands);
  node.attrs = std::move(attrs);
  const Result<ValueId> id = AddInferred(graph, std::move(node));
  EXPECT_TRUE(id.ok()) << id.status().message();
  return id.ok() ? *id : 0;
}

// The cache joined with `added` elements, and a value that reads all of it.
Graph Make(const Shape& shape, int64_t past, int64_t added) {
  Graph graph;
  const ValueId cache = graph.Input({DType::kF32, shape.With(past), {}});
  Dims given = shape.With(added), perm(given.size());
  for (size_t a = 0; a < perm.size(); ++a) perm[a] = static_cast<int64_t>(a);
  if (shape.turns) {
    std::swap(given.front(), given.back());
    std::swap(perm.front(), perm.back());
  }
  ValueId x = graph.Input({DType::kF32, given, {}});
  if (shape.turns) x = Add(graph, Op::kTranspose, {x}, {{"perm", perm}});
  const auto axis = static_cast<int64_t>(shape.axis);
  const ValueId join = Add(graph, Op::kConcat, {cache, x}, {{"axis", axis}});
  ValueId reads = graph.Pointwise(ScalarOp::kTanh, {join});
  if (shape.reader == 1) reads = Add(graph, Op::kSoftmax, {join}, {{"axis", axis}});
  if (shape.reader == 2) {
    reads = Add(graph, Op::kReduce, {join}, {{"axes", Dims{axis}}, {"kind", std::string("mean")}});
  }
  graph.outputs() = {join, reads};
  EXPECT_TRUE(IsGrowingCache(graph, join));
  return graph;
}

// Calls `visit` with the place of each element of `exact` in `padded`.
template <typename Visit>
void Places(const Dims& exact, const Dims& padded, size_t axis, size_t place, const Visit& visit) {
  if (axis == exact.size()) return visit(place);
  for (int64_t i = 0; i < exact[axis]; ++i) {
    Places(exact, padded, axis + 1,
           place * static_cast<size_t>(padded[axis]) + static_cast<size_t>(i), visit);
  }
}

TensorDataRef Filled(const TensorDataRef& data, const Dims& dims) {
  const std::vector<double> numbers = ReadDoubles(*data);
  std::vector<double> all(static_cast<size_t>(TensorType{DType::kF32, dims, {}}.NumElements()),
                          std::numeric_limits<double>::quiet_NaN());
  size_t next = 0;
  Places(data->dims, dims, 0, 0, [&](size_t place) { all[place] = numbers[next++]; });
  return WriteDoubles(DType::kF32, dims, all);
}

void Check(uint64_t seed) {
  Rng rng(seed);
  const Shape shape = RandomShape(rng);
  const int64_t capacity = 4 + static_cast<int64_t>(rng.Below(12));
  const int64_t room = 1 + static_cast<int64_t>(rng.Below(3));  // of a step of the class
  const int64_t added = 1 + static_cast<int64_t>(rng.Below(static_cast<uint64_t>(room)));
  const int64_t past = static_cast<int64_t>(rng.Below(static_cast<uint64_t>(capacity - room)));
  const Graph exact = Make(shape, past, added);
  Graph padded = Make(shape, capacity - room, room);
  const Result<Needs> needs = ProvePrefix(
      exact, padded, [](const auto& a, const auto& b) { return ReadDoubles(a) == ReadDoubles(b); });
  ASSERT_TRUE(needs.ok()) << needs.status().message();
  std::vector<MaskedNeed> masked;
  Dims lengths;
  for (const auto& [need, length] : *needs) {
    masked.push_back({need, static_cast<int>(lengths.size())});
    lengths.push_back(length);
  }
  const auto count = static_cast<int64_t>(lengths.size());
  const Status done = AddLengthMasks(padded, masked, count);
  ASSERT_TRUE(done.ok()) << done.message();
  EXPECT_EQ(padded[padded.Inputs()[0]].type.dims, shape.With(capacity));
  EXPECT_EQ(padded[padded.outputs()[0]].op, Op::kScatterElements);
  std::vector<TensorDataRef> given, filled;
  for (const ValueId input : exact.Inputs()) {
    std::vector<double> numbers(static_cast<size_t>(exact[input].type.NumElements()));
    for (double& number : numbers) number = 2 * rng.Uniform() - 1;
    given.push_back(WriteDoubles(DType::kF32, exact[input].type.dims, numbers));
    const ValueId own = padded.Inputs()[given.size() - 1];
    filled.push_back(Filled(given.back(), padded[own].type.dims));
  }
  filled.push_back(WriteInts(DType::kI32, {count}, lengths));
  const auto expected = Evaluate(exact, given), got = Evaluate(padded, filled);
  ASSERT_TRUE(expected.ok() && got.ok()) << expected.status().message() << got.status().message();
  for (size_t i = 0; i < expected->size(); ++i) {
    const TensorData &want = *(*expected)[i], &all = *(*got)[i];
    const std::vector<double> wanted = ReadDoubles(want), numbers = ReadDoubles(all);
    size_t next = 0;
    Places(want.dims, all.dims, 0, 0, [&](size_t place) {
      ASSERT_NEAR(numbers[place], wanted[next], 1e-5) << "at " << next;
      ++next;
    });
  }
}

TEST(GrowingCache, IsWrittenBehindWhatItHolds) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    Check(seed);
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
  }
}

// What has other readers, or is no output, stays a join.
TEST(GrowingCache, IsAnInputAndAnOutputAlone) {
  Rng rng(1);
  Shape shape = RandomShape(rng);
  shape.turns = false;
  Graph graph = Make(shape, 3, 2);
  const ValueId join = graph.outputs()[0], cache = graph.Inputs()[0];
  const ValueId other = graph.Pointwise(ScalarOp::kTanh, {cache});
  EXPECT_FALSE(IsGrowingCache(graph, join)) << "another reader";
  EXPECT_FALSE(IsGrowingCache(graph, other));
  Graph inner = Make(shape, 3, 2);
  inner.outputs().erase(inner.outputs().begin());
  EXPECT_FALSE(IsGrowingCache(inner, join)) << "no output";
}

}  // namespace
}  // namespace mlc::graph
