// Random graphs at a size and at the size of a class: where the proof holds, the graph of the class
// with its masks computes the smaller one's results from inputs that are filled up with NaN.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/rng.h"
#include "compiler/graph/evaluate/evaluate.h"
#include "compiler/graph/ranged/length_masks.h"
#include "compiler/graph/ranged/prefix.h"
#include "compiler/graph/shape.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph {
namespace {

using Dims = std::vector<int64_t>;

// The same seed makes the same graph at every size: choices depend on the axes that vary (kSize),
// not on lengths.
class SizedGenerator {
 public:
  SizedGenerator(uint64_t seed, int64_t size) : rng_(seed), size_(size) {
    Push(graph_.Input({DType::kF32, Real({kSize, 4}), {}}), {kSize, 4});
    Push(graph_.Input({DType::kF32, Real({2, kSize, 4}), {}}), {2, kSize, 4});
    Push(graph_.Input({DType::kF32, Real({1, 4, kSize}), {}}), {1, 4, kSize});
  }

  Graph Make(int nodes) {
    for (int i = 0; i < nodes; ++i) AddRandom();
    graph_.outputs() = {made_.back().id, made_[Below(made_.size())].id};
    graph_.Compact();
    return graph_;
  }

 private:
  static constexpr int64_t kSize = -1;
  struct Made {
    ValueId id;
    Dims dims;  // kSize where the length varies
  };

  Dims Real(Dims dims) const {
    for (int64_t& dim : dims) dim = dim == kSize ? size_ : dim;
    return dims;
  }
  size_t Below(size_t count) { return rng_.Below(count); }
  void Push(ValueId id, Dims dims) { made_.push_back({id, std::move(dims)}); }

  void Add(Op op, std::vector<ValueId> operands, Attrs attrs, Dims dims) {
    Value node;
    node.op = op;
    node.operands = std::move(operands);
    node.attrs = std::move(attrs);
    node.type = {DType::kF32, Real(dims), {}};
    const Result<ValueId> id = AddInferred(graph_, std::move(node));
    ASSERT_TRUE(id.ok()) << ToText(op) << ": " << id.status().message();
    Push(*id, std::move(dims));
  }

  ValueId Numbers(const Dims& dims) {
    std::vector<double> values(
        static_cast<size_t>(TensorType{DType::kF32, dims, {}}.NumElements()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = 0.25 + static_cast<double>(i % 5) * 0.25;
    return graph_.Constant(WriteDoubles(DType::kF32, dims, values));
  }

  void Pointwise(const Made& x) {
    constexpr ScalarOp kOne[] = {ScalarOp::kTanh, ScalarOp::kSigmoid, ScalarOp::kAbs};
    constexpr ScalarOp kTwo[] = {ScalarOp::kAdd, ScalarOp::kMul, ScalarOp::kMax};
    const size_t choice = Below(6);
    if (choice < 3) return Push(graph_.Pointwise(kOne[choice], {x.id}), x.dims);
    std::vector<Made> alike;
    for (const Made& other : made_) {
      if (other.dims == x.dims) alike.push_back(other);
    }
    Push(graph_.Pointwise(kTwo[choice - 3], {x.id, alike[Below(alike.size())].id}), x.dims);
  }

  void Reduce(const Made& x, size_t axis) {
    constexpr const char* kKinds[] = {"sum", "mean", "max", "min", "log_sum_exp", "l2"};
    Dims dims = x.dims;
    dims[axis] = 1;
    Add(Op::kReduce, {x.id},
        {{"axes", Dims{static_cast<int64_t>(axis)}}, {"kind", std::string(kKinds[Below(6)])}},
        dims);
    Push(graph_.Pointwise(ScalarOp::kSub, {x.id, made_.back().id}), x.dims);
  }

  // With itself turned, over its last axis or over the one before.
  void Product(const Made& x) {
    Dims turned = x.dims, perm(x.dims.size());
    for (size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<int64_t>(i);
    const size_t last = turned.size() - 1;
    std::swap(turned[last], turned[last - 1]);
    std::swap(perm[last], perm[last - 1]);
    Add(Op::kTranspose, {x.id}, {{"perm", perm}}, turned);
    const Made other = made_.back();
    Dims dims = x.dims;
    dims[last] = x.dims[last - 1];
    Add(Op::kMatMul, {x.id, other.id}, {}, dims);
  }

  void Attend(const Made& x) {
    if (x.dims.size() != 3) return;
    Dims dims = x.dims;
    dims.insert(dims.begin(), 1);
    Add(Op::kReshape, {x.id}, {}, dims);
    const Made rows = made_.back();
    Add(Op::kAttention, {rows.id, rows.id, rows.id}, {{"scale", 0.5}}, dims);
    Add(Op::kReshape, {made_.back().id}, {}, x.dims);
  }

  void Slice(const Made& x, size_t axis) {
    Dims dims = x.dims, starts(dims.size(), 0), steps(dims.size(), 1);
    if (dims[axis] != kSize) return;
    const size_t choice = Below(3);
    if (choice < 2) dims[axis] = 1;
    if (choice > 0) starts[axis] = size_ - 1;  // the last one, or all in reverse
    if (choice == 2) steps[axis] = -1;
    Add(Op::kSlice, {x.id}, {{"starts", starts}, {"steps", steps}}, dims);
  }

  void Gather(const Made& x, size_t axis) {
    Dims dims = x.dims;
    dims[axis] = 2;
    const ValueId indices = graph_.Constant(WriteInts(DType::kI64, {2}, Dims{-1, 0}));
    Add(Op::kGather, {x.id, indices}, {{"axis", static_cast<int64_t>(axis)}}, dims);
  }

  void Regroup(const Made& x) {
    Dims dims = x.dims;
    if (Below(2) == 0) {
      dims.insert(dims.begin() + static_cast<int64_t>(Below(dims.size() + 1)), 1);
      if (dims.size() > 4) return;
    } else if (dims.back() == 4) {
      dims.back() = 2;
      dims.push_back(2);
      if (dims.size() > 4) return;
    }
    Add(Op::kReshape, {x.id}, {}, dims);
  }

  void Pool(const Made& x) {
    if (x.dims.size() != 3) return;
    Dims dims = x.dims;
    Add(Op::kPool, {x.id},
        {{"kernel", Dims{3}}, {"kind", std::string("max")}, {"pads", Dims{1, 1}}}, dims);
  }

  void Convolve(const Made& x) {
    if (x.dims.size() != 3 || x.dims[1] == kSize) return;
    Dims dims = x.dims;
    dims[1] = 4;
    Add(Op::kConv, {x.id, Numbers({4, x.dims[1], 3})}, {{"pads", Dims{1, 1}}}, dims);
  }

  void Accumulate(const Made& x, size_t axis) {
    Add(Op::kCumSum, {x.id},
        {{"axis", static_cast<int64_t>(axis)}, {"reverse", static_cast<int64_t>(Below(2))}},
        x.dims);
  }

  void Extend(const Made& x, size_t axis) {
    Dims pads(2 * x.dims.size(), 0);
    if (x.dims[axis] == kSize || x.dims[axis] > 8) return;
    pads[axis] = 1;
    Dims dims = x.dims;
    dims[axis] += 1;
    Add(Op::kPad, {x.id}, {{"pads", pads}, {"value", 0.5}}, dims);
  }

  void AddRandom() {
    const Made x = made_[Below(made_.size())];
    if (x.dims.size() < 2) return;
    const size_t axis = Below(x.dims.size());
    const auto at = static_cast<int64_t>(axis);
    switch (Below(14)) {
      case 0:
        return Reduce(x, axis);
      case 1:
        return Add(Op::kSoftmax, {x.id}, {{"axis", at}}, x.dims);
      case 2:
        return Add(Op::kLogSoftmax, {x.id}, {{"axis", at}}, x.dims);
      case 3:
        return Product(x);
      case 4:
        return Attend(x);
      case 5:
        return Slice(x, axis);
      case 6:
        return Gather(x, axis);
      case 7:
        return Regroup(x);
      case 8:
        return Pool(x);
      case 9:
        return Convolve(x);
      case 10:
        return Accumulate(x, axis);
      case 11:
        return Extend(x, axis);
      case 12:
        return Add(Op::kLayerNorm, {x.id}, {{"axis", at}, {"epsilon", 1e-3}}, x.dims);
      default:
        return Pointwise(x);
    }
  }

  Rng rng_;
  int64_t size_;
  Graph graph_;
  std::vector<Made> made_;
};

// Calls `visit` with the place of each element of `exact` in `padded`.
template <typename Visit>
void Places(const Dims& exact, const Dims& padded, size_t axis, size_t place, const Visit& visit) {
  if (axis == exact.size()) return visit(place);
  for (int64_t i = 0; i < exact[axis]; ++i) {
    Places(exact, padded, axis + 1,
           place * static_cast<size_t>(padded[axis]) + static_cast<size_t>(i), visit);
  }
}

TensorDataRef Padded(const TensorDataRef& data, const Dims& dims) {
  const std::vector<double> numbers = ReadDoubles(*data);
  std::vector<double> all(static_cast<size_t>(TensorType{DType::kF32, dims, {}}.NumElements()),
                          std::numeric_limits<double>::quiet_NaN());
  size_t next = 0;
  Places(data->dims, dims, 0, 0, [&](size_t place) { all[place] = numbers[next++]; });
  return WriteDoubles(DType::kF32, dims, all);
}

void ExpectPrefix(const TensorData& exact, const TensorData& padded) {
  const std::vector<double> expected = ReadDoubles(exact), all = ReadDoubles(padded);
  size_t next = 0;
  Places(exact.dims, padded.dims, 0, 0, [&](size_t place) {
    const double want = expected[next++], got = all[place];
    if (std::isnan(want) && std::isnan(got)) return;
    ASSERT_NEAR(got, want, 1e-4 * std::max(1.0, std::fabs(want))) << "at " << next - 1;
  });
}

// Whether the proof holds.
bool Check(uint64_t seed, int64_t size, int64_t of_class) {
  const Graph exact = SizedGenerator(seed, size).Make(12);
  Graph padded = SizedGenerator(seed, of_class).Make(12);
  const Result<Needs> needs = ProvePrefix(
      exact, padded, [](const auto& a, const auto& b) { return ReadDoubles(a) == ReadDoubles(b); });
  if (!needs.ok()) return false;
  Rng rng(seed + 1);
  std::vector<TensorDataRef> given, filled;
  for (const ValueId input : exact.Inputs()) {
    const Dims& dims = exact[input].type.dims;
    std::vector<double> numbers(static_cast<size_t>(exact[input].type.NumElements()));
    for (double& number : numbers) number = 2 * rng.Uniform() - 1;
    given.push_back(WriteDoubles(DType::kF32, dims, numbers));
    filled.push_back(Padded(given.back(), padded[input].type.dims));
  }
  std::vector<MaskedNeed> masked;
  Dims lengths;
  for (const auto& [need, length] : *needs) {
    masked.push_back({need, static_cast<int>(lengths.size())});
    lengths.push_back(length);
  }
  if (lengths.empty()) lengths.push_back(0);
  const Status added = AddLengthMasks(padded, masked, static_cast<int64_t>(lengths.size()));
  EXPECT_TRUE(added.ok()) << added.message();
  filled.push_back(WriteInts(DType::kI32, {static_cast<int64_t>(lengths.size())}, lengths));
  const auto expected = Evaluate(exact, given);
  const auto got = Evaluate(padded, filled);
  EXPECT_TRUE(expected.ok() && got.ok()) << expected.status().message() << got.status().message();
  if (!expected.ok() || !got.ok()) return true;
  for (size_t i = 0; i < expected->size(); ++i) ExpectPrefix(*(*expected)[i], *(*got)[i]);
  return true;
}

TEST(Ranged, ProvenGraphsComputeSmallerSizes) {
  int proven = 0, refused = 0;
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    const int64_t of_class = 2 + static_cast<int64_t>(seed % 6);
    const int64_t size = 1 + static_cast<int64_t>(seed / 6 % static_cast<uint64_t>(of_class));
    (Check(seed, size, of_class) ? proven : refused) += 1;
    ASSERT_FALSE(::testing::Test::HasFailure())
        << "seed " << seed << ", " << size << " in " << of_class << ":\n"
        << SizedGenerator(seed, of_class).Make(12).ToText();
  }
  EXPECT_GT(proven, 700) << refused << " are refused";
  EXPECT_GT(refused, 20) << "the generator makes graphs that padding breaks, too";
}

}  // namespace
}  // namespace mlc::graph
