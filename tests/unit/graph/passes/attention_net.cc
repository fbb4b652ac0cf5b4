#include "tests/unit/graph/passes/attention_net.h"

#include <cmath>

#include "compiler/graph/evaluate/evaluate.h"
#include "compiler/graph/passes/pipeline.h"
#include "compiler/graph/passes/precision.h"

namespace mlc::graph {

namespace {

int64_t SizeOf(const Dims& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

}  // namespace

int CountOf(const Graph& graph, Op op) {
  int count = 0;
  for (ValueId id = 0; id < graph.size(); ++id) count += graph[id].op == op ? 1 : 0;
  return count;
}

// `after` computes what the net's graph does.
void ExpectSame(const Net& net, const Graph& after, double tolerance) {
  const Result<std::vector<TensorDataRef>> x = Evaluate(net.graph, net.sources);
  const Result<std::vector<TensorDataRef>> y = Evaluate(after, net.sources);
  ASSERT_TRUE(x.ok()) << x.status().message();
  ASSERT_TRUE(y.ok()) << y.status().message();
  ASSERT_EQ(x->front()->dims, y->front()->dims);
  const std::vector<double> p = ReadDoubles(*x->front()), q = ReadDoubles(*y->front());
  for (size_t i = 0; i < p.size(); ++i) {
    ASSERT_EQ(std::isnan(p[i]), std::isnan(q[i])) << "element " << i;
    if (std::isnan(p[i])) continue;
    ASSERT_NEAR(p[i], q[i], tolerance) << "element " << i;
  }
}

std::ostream& operator<<(std::ostream& out, const Form& form) { return out << form.name; }

std::vector<double> Net::Random(const Dims& dims) {
  std::vector<double> values(static_cast<size_t>(SizeOf(dims)));
  for (double& value : values) value = 4 * rng_.Uniform() - 2;
  return values;
}

std::vector<double> Net::Shown(const Dims& dims, int64_t hidden) {
  std::vector<double> values(static_cast<size_t>(SizeOf(dims)));
  const int64_t keys = dims.back();
  const int64_t rows = dims.size() > 1 ? dims[dims.size() - 2] : 1;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    values[i] = at / keys % rows != hidden && (at % keys == 0 || rng_.Below(3) > 0) ? 1 : 0;
  }
  return values;
}

ValueId Net::Cast(ValueId x, DType to) {
  Value node;
  node.op = Op::kCast;
  node.operands = {x};
  node.type.dtype = to;
  return AddNode(graph, std::move(node));
}

ValueId Net::Softmax(ValueId x, int64_t axis) {
  Value node;
  node.op = Op::kSoftmax;
  node.operands = {x};
  node.attrs["axis"] = axis < 0 ? graph[x].type.rank() + axis : axis;
  return AddNode(graph, std::move(node));
}

ValueId Net::Reduce(const std::string& kind, ValueId x, bool keep) {
  Value node;
  node.op = Op::kReduce;
  node.operands = {x};
  node.attrs["kind"] = kind;
  node.attrs["axes"] = Dims{graph[x].type.rank() - 1};
  node.attrs["keepdims"] = int64_t{keep};
  return AddNode(graph, std::move(node));
}

ValueId Net::Tile(ValueId x, const Dims& repeats) {
  Value node;
  node.op = Op::kTile;
  node.operands = {x};
  node.attrs["repeats"] = repeats;
  return AddNode(graph, std::move(node));
}

ValueId Net::Gather(ValueId x, ValueId indices, int64_t axis) {
  Value node;
  node.op = Op::kGather;
  node.operands = {x, indices};
  node.attrs["axis"] = axis;
  return AddNode(graph, std::move(node));
}

ValueId Net::Part(ValueId x, int64_t axis, int64_t start, int64_t size) {
  Value node;
  node.op = Op::kSlice;
  node.operands = {x};
  node.type = {dtype, graph[x].type.dims, {}};
  Dims starts(node.type.dims.size(), 0);
  starts[static_cast<size_t>(axis)] = start;
  node.attrs["starts"] = starts;
  node.attrs["steps"] = Dims(starts.size(), 1);
  node.type.dims[static_cast<size_t>(axis)] = size;
  return AddNode(graph, std::move(node));
}

ValueId Net::Expand(ValueId x, const Dims& dims) {
  Value node;
  node.op = Op::kExpand;
  node.operands = {x};
  node.type = {graph[x].type.dtype, dims, {}};
  return AddNode(graph, std::move(node));
}

ValueId Net::MatMul(ValueId a, ValueId b) {
  Value node;
  node.op = Op::kMatMul;
  node.operands = {a, b};
  return AddNode(graph, std::move(node));
}

ValueId Net::Causal(int64_t queries, int64_t keys) {
  std::vector<double> values;
  for (int64_t s = 0; s < queries; ++s) {
    for (int64_t t = 0; t < keys; ++t) values.push_back(t <= s ? 1 : 0);
  }
  return graph.Constant(WriteDoubles(DType::kBool, {queries, keys}, values));
}

void CheckForm(const Form& form) {
  Net net(form.dtype);
  net.graph.outputs() = {form.build(net)};
  Graph graph = net.graph;
  const Result<std::vector<PassReport>> reports = RunPasses(graph);
  ASSERT_TRUE(reports.ok()) << reports.status().message();
  std::string notes;
  for (const PassReport& report : *reports) {
    for (const std::string& note : report.notes) notes += note;
  }
  const bool fused = form.reason == nullptr;
  EXPECT_EQ(CountOf(graph, Op::kAttention), fused ? 1 : 0) << graph.ToText();
  EXPECT_EQ(CountOf(graph, Op::kSoftmax), fused ? 0 : 1);
  EXPECT_EQ(notes, fused ? "" : std::string("attention is not fused: ") + form.reason);
  ExpectSame(net, graph,
             form.dtype == DType::kF16    ? 0.01
             : form.dtype == DType::kBF16 ? 0.08
                                          : 1e-5);
}

void CheckNarrow(const Form& form) {
  if (!form.narrow) GTEST_SKIP() << "rows see no key, and numbers within a narrow range hide less";
  Net net(form.dtype);
  net.graph.outputs() = {form.build(net)};
  for (const Precision precision : {Precision::kFp16, Precision::kBf16}) {
    Graph graph = net.graph;
    ASSERT_TRUE(RunPasses(graph).ok());
    ASSERT_TRUE(ConvertPrecision(graph, precision).ok());
    ExpectSame(net, graph, precision == Precision::kFp16 ? 0.01 : 0.08);
  }
}

}  // namespace mlc::graph
