// Attention of real exports, cut to a few kB: how many kernels of attention each becomes, why the
// rest stays apart, and that nothing changes in value. exports/README.md says where they are from.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/rng.h"
#include "compiler/front/front.h"
#include "compiler/graph/evaluate/evaluate.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::front {
namespace {

using graph::Op;

struct Export {
  std::string name;
  int attentions = 0;
  std::string reason;  // of what stays apart; empty: nothing does
};

std::string Folder() { return std::string(MLC_SOURCE_DIR) + "/tests/unit/front/exports"; }

std::vector<Export> Exports() {
  std::vector<Export> exports;
  std::ifstream file(Folder() + "/expected.txt");
  for (std::string line; std::getline(file, line);) {
    Export entry;
    std::istringstream words(line);
    words >> entry.name >> entry.attentions >> std::ws;
    std::getline(words, entry.reason);
    if (!entry.name.empty()) exports.push_back(entry);
  }
  return exports;
}

std::ostream& operator<<(std::ostream& out, const Export& entry) { return out << entry.name; }

std::vector<graph::TensorDataRef> Inputs(const graph::Graph& graph) {
  Rng rng(5);
  std::vector<graph::TensorDataRef> inputs;
  for (const graph::ValueId id : graph.Inputs()) {
    const graph::TensorType& type = graph[id].type;
    std::vector<double> values(static_cast<size_t>(type.NumElements()));
    for (double& value : values) {
      if (IsFloat(type.dtype)) {
        value = 4 * rng.Uniform() - 2;
      } else {
        value = static_cast<double>(rng.Below(2));
      }
    }
    inputs.push_back(graph::WriteDoubles(type.dtype, type.dims, values));
  }
  return inputs;
}

void ExpectSame(const graph::Graph& before, const graph::Graph& after) {
  const std::vector<graph::TensorDataRef> inputs = Inputs(before);
  const auto x = graph::Evaluate(before, inputs);
  const auto y = graph::Evaluate(after, inputs);
  ASSERT_TRUE(x.ok()) << x.status().message();
  ASSERT_TRUE(y.ok()) << y.status().message();
  for (size_t i = 0; i < x->size(); ++i) {
    const double tolerance = SizeOf((*x)[i]->dtype) == 2 ? 5e-3 : 1e-4;
    const std::vector<double> p = graph::ReadDoubles(*(*x)[i]);
    const std::vector<double> q = graph::ReadDoubles(*(*y)[i]);
    ASSERT_EQ(p.size(), q.size());
    for (size_t k = 0; k < p.size(); ++k) {
      ASSERT_EQ(std::isnan(p[k]), std::isnan(q[k])) << "element " << k;
      if (std::isnan(p[k])) continue;
      ASSERT_NEAR(p[k], q[k], tolerance * (1 + std::abs(p[k]))) << "element " << k;
    }
  }
}

class AttentionExports : public ::testing::TestWithParam<Export> {};

TEST_P(AttentionExports, BecomesKernelsThatComputeTheSame) {
  const Export& entry = GetParam();
  const Result<Model> model = ReadModel(Folder() + "/" + entry.name + ".onnx", {});
  ASSERT_TRUE(model.ok()) << model.status().message();
  PassTrace trace;
  const Result<graph::Graph> simplified = SimplifyGraph(model->graph, {}, &trace);
  ASSERT_TRUE(simplified.ok()) << simplified.status().message();
  int attentions = 0, softmaxes = 0;
  for (graph::ValueId id = 0; id < simplified->size(); ++id) {
    attentions += (*simplified)[id].op == Op::kAttention ? 1 : 0;
    softmaxes += (*simplified)[id].op == Op::kSoftmax ? 1 : 0;
  }
  std::string reason;
  for (const std::string& note : trace.Notes()) reason = note.substr(note.find(": ") + 2);
  EXPECT_EQ(attentions, entry.attentions);
  EXPECT_EQ(reason, entry.reason);
  EXPECT_EQ(softmaxes > 0, !entry.reason.empty());
  ExpectSame(model->graph, *simplified);
}

// On a GPU, which computes masks of places.
TEST_P(AttentionExports, ComputesTheSameOnAGpu) {
  const Result<Model> model = ReadModel(Folder() + "/" + GetParam().name + ".onnx", {});
  ASSERT_TRUE(model.ok()) << model.status().message();
  target::Target gpu;
  gpu.device = target::GpuTarget{};
  const Result<graph::Graph> simplified = SimplifyGraph(model->graph, ForTarget({}, gpu));
  ASSERT_TRUE(simplified.ok()) << simplified.status().message();
  ExpectSame(model->graph, *simplified);
}

TEST_P(AttentionExports, IsOneTaskEach) {
  const Export& entry = GetParam();
  const Result<graph::Program> program =
      CompileFront(Folder() + "/" + entry.name + ".onnx", {}, {});
  ASSERT_TRUE(program.ok()) << program.status().message();
  int executions = 0;
  for (const graph::Task& task : program->tasks) {
    const graph::Graph& graph = task.workload.graph();
    for (graph::ValueId id = 0; id < graph.size(); ++id) {
      if (graph[id].op == Op::kAttention) executions += task.occurrences;
    }
  }
  EXPECT_EQ(executions, entry.attentions);
}

// Two norms, the joined projections, a rotary embedding each for queries and keys, attention, the
// projection back, the joined gates, their product, and the product down.
TEST(AttentionExportsTest, ABlockOfLlamaIsTenKernels) {
  const Result<graph::Program> program =
      CompileFront(Folder() + "/hf_llama_one.dynamo.onnx", {}, {});
  ASSERT_TRUE(program.ok()) << program.status().message();
  int executions = 0;
  for (const graph::Task& task : program->tasks) executions += task.occurrences;
  constexpr int kTableAndLastNorm = 2;
  EXPECT_EQ(executions - kTableAndLastNorm, 10);
}

// torch.nn.MultiheadAttention swaps batch and tokens; no kernel does.
TEST(AttentionExportsTest, BatchesOfMultiheadAttentionAreNotCopied) {
  for (const char* name : {"mha_00p.dynamo", "mha_11.dynamo", "decoder.dynamo"}) {
    const Result<graph::Program> program = CompileFront(Folder() + "/" + name + ".onnx", {}, {});
    ASSERT_TRUE(program.ok()) << program.status().message();
    for (const graph::Task& task : program->tasks) {
      EXPECT_EQ(task.workload.graph().ToText().find("copy("), std::string::npos) << name;
    }
  }
}

// Of heads whose norms have a scale (gemma3), by pairs (gptj), of a half of each head (gptj, phi).
TEST(AttentionExportsTest, RotaryEmbeddingsJoinNothing) {
  for (const char* name : {"hf_gemma3_sdpa.dynamo", "hf_gptj_eager.script", "hf_phi_sdpa.dynamo",
                           "hf_qwen3_sdpa.dynamo"}) {
    const Result<Model> model = ReadModel(Folder() + "/" + name + ".onnx", {});
    ASSERT_TRUE(model.ok()) << model.status().message();
    const Result<graph::Graph> simplified = SimplifyGraph(model->graph, {});
    ASSERT_TRUE(simplified.ok()) << simplified.status().message();
    for (graph::ValueId id = 0; id < simplified->size(); ++id) {
      EXPECT_NE((*simplified)[id].op, Op::kConcat) << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Exports, AttentionExports, ::testing::ValuesIn(Exports()));

TEST(AttentionExportsTest, EveryFileIsExpected) {
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(Folder())) {
    files += entry.path().extension() == ".onnx" ? 1 : 0;
  }
  EXPECT_EQ(files, Exports().size());
  EXPECT_GT(files, 0u);
}

}  // namespace
}  // namespace mlc::front
