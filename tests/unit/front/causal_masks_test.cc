// Causal masks of models: on GPUs, attention makes them itself, so that kernels which skip what
// they hide take them.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "compiler/front/front.h"
#include "compiler/graph/tensor_io.h"
#include "compiler/schedule/space/family.h"

namespace mlc::front {
namespace {

using graph::Op;
using graph::ValueId;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

target::Target Hopper() {
  return *target::Target::Parse(
      "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560 fma_gflops=60000 "
      "tensor_gflops=1000000 copy_gbps=4200");
}

constexpr int kLayers = 3;

// Layers of attention that share a mask of numbers: queries are the last of the keys.
graph::Graph Layers(int64_t batch, int64_t queries, int64_t keys, double hidden) {
  graph::Graph graph;
  const auto input = [&](int64_t length) {
    return graph.Input({DType::kF32, {batch, 2, length, 64}, {}});
  };
  std::vector<double> values;
  for (int64_t i = 0; i < queries * keys; ++i) {
    values.push_back(i % keys - i / keys > keys - queries ? hidden : 0);
  }
  const ValueId mask =
      graph.Constant(graph::WriteDoubles(DType::kF32, {1, 1, queries, keys}, values));
  const ValueId k = input(keys), v = input(keys);
  ValueId x = input(queries);
  for (int i = 0; i < kLayers; ++i) {
    graph::Value attention;
    attention.op = Op::kAttention;
    attention.type = graph[x].type;
    attention.operands = {x, k, v, mask};
    attention.attrs["scale"] = 0.125;
    x = graph.Add(std::move(attention));
  }
  graph.outputs() = {x};
  return graph;
}

struct Found {
  int causal = 0, other = 0, taken = 0;  // executions of attention; by warps with roles
};

Found FindAttention(const graph::Program& program, const target::Target& target) {
  Found found;
  for (const graph::Task& task : program.tasks) {
    const graph::Graph& graph = task.workload.graph();
    bool attends = false, makes = false;
    for (ValueId id = 0; id < graph.size(); ++id) {
      attends = attends || graph[id].op == Op::kAttention;
      makes = makes || graph[id].op == Op::kTrilu;
    }
    if (!attends) continue;
    (makes ? found.causal : found.other) += task.occurrences;
    const auto families = schedule::FamiliesFor(task.workload, target);
    const auto is_role = [](const auto* family) { return family->name() == "role_attention"; };
    if (std::ranges::any_of(families, is_role)) found.taken += task.occurrences;
  }
  return found;
}

Found FoundOf(graph::Graph graph, const FrontOptions& options, const target::Target& target) {
  const Result<graph::Program> program = BuildProgram(std::move(graph), ForTarget(options, target));
  EXPECT_TRUE(program.ok()) << program.status().message();
  return program.ok() ? FindAttention(*program, target) : Found();
}

TEST(CausalMasks, WarpsWithRolesTakeThem) {
  FrontOptions options;
  options.precision = graph::Precision::kFp16;
  for (const double hidden : {-kInfinity, -3.4028234663852886e38, -65504.0}) {
    for (const int64_t batch : {1, 3}) {
      for (const int64_t queries : {96, 200}) {
        const Found found = FoundOf(Layers(batch, queries, 200, hidden), options, Hopper());
        EXPECT_EQ(found.causal, kLayers) << hidden << " " << batch << " " << queries;
        // The last one writes numbers of the model's type.
        EXPECT_EQ(found.taken, kLayers - 1);
      }
    }
  }
}

TEST(CausalMasks, OthersAreRead) {
  FrontOptions options;
  options.precision = graph::Precision::kFp16;
  const Found low = FoundOf(Layers(1, 128, 128, -100), options, Hopper());
  EXPECT_EQ(low.causal, 0);
  EXPECT_EQ(low.other, kLayers);
  const Found on_cpu = FoundOf(Layers(1, 128, 128, -kInfinity), {}, target::Target{});
  EXPECT_EQ(on_cpu.causal, 0);
  EXPECT_EQ(on_cpu.other, kLayers);
  options.skip = {"causal_masks"};
  EXPECT_EQ(FoundOf(Layers(1, 128, 128, -kInfinity), options, Hopper()).causal, 0);
}

// As exporters write them (exports/README.md), where no input hides keys, too.
TEST(CausalMasks, ThoseOfExportersAreKnown) {
  const std::string folder = std::string(MLC_SOURCE_DIR) + "/tests/unit/front/exports/";
  for (const char* name : {"hf_llama_one.dynamo", "mha_11.dynamo", "sdpa18_causal.dynamo",
                           "sdpa18_causal.script", "sdpa23_causal.dynamo"}) {
    const Result<graph::Program> program =
        CompileFront(folder + name + ".onnx", {}, ForTarget({}, Hopper()));
    ASSERT_TRUE(program.ok()) << program.status().message();
    const Found found = FindAttention(*program, Hopper());
    EXPECT_EQ(found.causal, 1) << name;
    EXPECT_EQ(found.other, 0) << name;
  }
}

}  // namespace
}  // namespace mlc::front
