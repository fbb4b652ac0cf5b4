// A graph of attention as tests write it, with what its sources hold: short words for nodes, types
// inferred; and the checks of one form of it. Not thread-safe.
#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/passes/rewrite.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph {

using Dims = std::vector<int64_t>;

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kLowest = -3.4028234663852886e38;

class Net {
 public:
  explicit Net(DType dtype = DType::kF32) : dtype(dtype) {}

  ValueId Input(const Dims& dims) { return Source(dtype, dims, Random(dims)); }
  // True but for a third of the elements, and false in all of row `hidden` (-1: no row).
  ValueId BoolInput(const Dims& dims, int64_t hidden) {
    return Source(DType::kBool, dims, Shown(dims, hidden));
  }
  ValueId BoolConstant(const Dims& dims, int64_t hidden) {
    return graph.Constant(WriteDoubles(DType::kBool, dims, Shown(dims, hidden)));
  }
  ValueId Constant(const Dims& dims, const std::vector<double>& values) {
    return graph.Constant(WriteDoubles(dtype, dims, values));
  }
  ValueId Indices(const std::vector<double>& values) {
    return graph.Constant(WriteDoubles(DType::kI64, {static_cast<int64_t>(values.size())}, values));
  }
  // True where a key is no later than its query.
  ValueId Causal(int64_t queries, int64_t keys);

  ValueId Number(double value) { return graph.Splat(dtype, value); }
  ValueId Add(ValueId a, ValueId b) { return AddPointwise(graph, ScalarOp::kAdd, {a, b}); }
  ValueId Sub(ValueId a, ValueId b) { return AddPointwise(graph, ScalarOp::kSub, {a, b}); }
  ValueId Mul(ValueId a, ValueId b) { return AddPointwise(graph, ScalarOp::kMul, {a, b}); }
  ValueId Div(ValueId a, ValueId b) { return AddPointwise(graph, ScalarOp::kDiv, {a, b}); }
  ValueId Max(ValueId a, ValueId b) { return AddPointwise(graph, ScalarOp::kMax, {a, b}); }
  ValueId Times(ValueId a, double number) { return Mul(a, Number(number)); }
  ValueId Not(ValueId a) { return AddPointwise(graph, ScalarOp::kNot, {a}); }
  ValueId And(ValueId a, ValueId b) { return AddPointwise(graph, ScalarOp::kAnd, {a, b}); }
  ValueId Tanh(ValueId a) { return AddPointwise(graph, ScalarOp::kTanh, {a}); }
  ValueId Exp(ValueId a) { return AddPointwise(graph, ScalarOp::kExp, {a}); }
  ValueId Where(ValueId condition, ValueId a, ValueId b) {
    return AddPointwise(graph, ScalarOp::kSelect, {condition, a, b});
  }
  // Where(IsNaN(x), 0, x)
  ValueId NanToZero(ValueId x) {
    return Where(AddPointwise(graph, ScalarOp::kIsNan, {x}), Number(0), x);
  }
  ValueId Cast(ValueId x, DType to);
  ValueId MatMul(ValueId a, ValueId b);
  ValueId Softmax(ValueId x, int64_t axis = -1);
  ValueId Reduce(const std::string& kind, ValueId x, bool keep);
  ValueId Transpose(ValueId x, const Dims& perm) { return AddTranspose(graph, x, perm); }
  ValueId Reshape(ValueId x, const Dims& dims) { return AddReshape(graph, x, dims); }
  ValueId Expand(ValueId x, const Dims& dims);
  ValueId Tile(ValueId x, const Dims& repeats);
  ValueId Gather(ValueId x, ValueId indices, int64_t axis);
  ValueId Part(ValueId x, int64_t axis, int64_t start, int64_t size);

  DType dtype;
  Graph graph;
  std::vector<TensorDataRef> sources;

 private:
  ValueId Source(DType type, const Dims& dims, const std::vector<double>& values) {
    sources.push_back(WriteDoubles(type, dims, values));
    return graph.Input({type, dims, {}});
  }
  std::vector<double> Random(const Dims& dims);
  std::vector<double> Shown(const Dims& dims, int64_t hidden);

  Rng rng_{11};
};

int CountOf(const Graph& graph, Op op);
// The graph computes what the net does, on the net's sources.
void ExpectSame(const Net& net, const Graph& after, double tolerance);

struct Form {
  const char* name;
  ValueId (*build)(Net&);  // gives the result
  const char* reason;      // why it stays; null: it becomes one attention node
  bool narrow = true;      // each row sees a key, or becomes zero: narrow masks hide less
  DType dtype = DType::kF32;
};
std::ostream& operator<<(std::ostream& out, const Form& form);

// The form becomes one node and computes the same, or stays for its reason.
void CheckForm(const Form& form);
// It computes the same after conversion to types of 16 bits.
void CheckNarrow(const Form& form);

}  // namespace mlc::graph
