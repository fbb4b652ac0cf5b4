// The benchmark networks, from the ONNX file to the outputs of the library that mlc-compile writes,
// against the reference evaluator: reduced variants of the same structure, and the full-size ones
// where MLC_FULL_MODELS names a folder with them (their references take minutes).
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "base/rng.h"
#include "client/model/model_library.h"
#include "client/run/run_report.h"
#include "compiler/graph/evaluate/evaluate.h"
#include "compiler/graph/onnx/import.h"
#include "compiler/graph/tensor_io.h"
#include "compiler/target/target.h"
#include "tests/e2e/models/run_program.h"

namespace mlc::testing {
namespace {

namespace fs = std::filesystem;

constexpr int kRounds = 3;
const std::string kModels[] = {"resnet18",  "resnet50", "mobilenet_v2",
                               "bert_base", "gpt2",     "vit_b_16"};

graph::TensorDataRef RandomTensor(const graph::Value& input, Rng& rng) {
  const graph::TensorType& type = input.type;
  if (type.dtype == DType::kI64) {
    const uint64_t below = input.name.find("mask") != std::string::npos ? 2 : 1000;
    std::vector<int64_t> values(static_cast<size_t>(type.NumElements()));
    for (int64_t& value : values) value = static_cast<int64_t>(rng.Below(below));
    // No row may be masked out as a whole.
    if (below == 2) values[0] = 1;
    return graph::WriteInts(type.dtype, type.dims, values);
  }
  std::vector<double> values(static_cast<size_t>(type.NumElements()));
  for (double& value : values) value = 4 * rng.Uniform() - 2;
  return graph::WriteDoubles(type.dtype, type.dims, values);
}

struct Round {
  std::vector<graph::TensorDataRef> inputs;
  std::vector<graph::TensorDataRef> outputs;
};

// Inputs and expected outputs, made once a model.
const std::vector<Round>& RoundsOf(const std::string& path) {
  static std::map<std::string, std::vector<Round>> known;
  std::vector<Round>& rounds = known[path];
  if (!rounds.empty()) return rounds;
  const Result<graph::Graph> graph = graph::onnx::ImportOnnx(path, {});
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  if (!graph.ok()) return rounds;
  for (uint64_t seed = 1; seed <= kRounds; ++seed) {
    Rng rng(seed);
    Round round;
    for (const graph::ValueId id : graph->Inputs()) {
      round.inputs.push_back(RandomTensor((*graph)[id], rng));
    }
    Result<std::vector<graph::TensorDataRef>> outputs = graph::Evaluate(*graph, round.inputs);
    EXPECT_TRUE(outputs.ok()) << outputs.status().message();
    if (outputs.ok()) round.outputs = *std::move(outputs);
    rounds.push_back(std::move(round));
  }
  return rounds;
}

void CheckLibrary(const std::string& directory, const std::vector<Round>& rounds, int threads) {
  Result<std::unique_ptr<client::ModelLibrary>> opened =
      client::ModelLibrary::Open(directory, threads);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  client::ModelLibrary& library = **opened;
  for (size_t i = 0; i < rounds.size(); ++i) {
    ASSERT_TRUE(library.SetInputs(rounds[i].inputs).ok());
    ASSERT_TRUE(library.Run().ok());
    const std::vector<graph::TensorDataRef> outputs = library.Outputs();
    const auto checks = client::CheckOutputs(
        outputs, rounds[i].outputs, std::vector<std::string>(outputs.size(), "output"), 1e-4, 0);
    ASSERT_TRUE(checks.ok()) << checks.status().message();
    for (const client::OutputCheck& check : *checks) {
      EXPECT_TRUE(check.passed) << "input " << i << ", " << threads << " threads: largest relative "
                                << "difference " << check.max_relative;
    }
  }
}

void CheckModel(const std::string& model, const std::string& target) {
  const std::vector<Round>& rounds = RoundsOf(model);
  ASSERT_EQ(rounds.size(), size_t{kRounds});
  const std::string directory = ::testing::TempDir() + "mlc_" + fs::path(model).stem().string() +
                                "_" + std::to_string(::getpid());
  const Finished compiled = RunProgram({MLC_BINARY_DIR "/bin/mlc-compile", "--model", model, "-o",
                                        directory, "--target", target, "--name", "model"});
  ASSERT_EQ(compiled.exit_code, 0) << compiled.output;
  CheckLibrary(directory, rounds, 1);
  CheckLibrary(directory, rounds, 2);
  fs::remove_all(directory);
}

struct Case {
  std::string model;
  target::Isa isa;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const std::string& model : kModels) {
    for (const target::Isa isa : {target::Isa::kPlain, target::Isa::kAvx2, target::Isa::kAvx512}) {
      cases.push_back({model, isa});
    }
  }
  return cases;
}

std::string NameOf(const ::testing::TestParamInfo<Case>& info) {
  constexpr const char* kIsas[] = {"plain", "avx2", "avx512"};
  return info.param.model + "_" + kIsas[static_cast<size_t>(info.param.isa)];
}

// The text of this machine with another instruction set; empty if it cannot run that.
std::string TargetTextFor(target::Isa isa) {
  target::Target target = target::DetectHost(2);
  if (isa != target::Isa::kPlain && (target.cpu().arch != "x86_64" || isa > target.cpu().isa))
    return {};
  target.cpu().isa = isa;
  return target.ToText();
}

class ReducedModel : public ::testing::TestWithParam<Case> {};

TEST_P(ReducedModel, MatchesTheReference) {
  const std::string model = std::string(MLC_REDUCED_MODELS) + "/" + GetParam().model + ".onnx";
  if (!fs::exists(model)) {
    GTEST_SKIP() << "no reduced models: no Python with the packages onnx and numpy was found";
  }
  const std::string target = TargetTextFor(GetParam().isa);
  if (target.empty()) GTEST_SKIP() << "this machine lacks the instruction set";
  CheckModel(model, target);
}

INSTANTIATE_TEST_SUITE_P(Models, ReducedModel, ::testing::ValuesIn(Cases()), NameOf);

class FullModel : public ::testing::TestWithParam<std::string> {};

TEST_P(FullModel, MatchesTheReference) {
  const std::string model = std::string(MLC_FULL_MODELS) + "/" + GetParam() + ".onnx";
  if (!fs::exists(model)) GTEST_SKIP() << "MLC_FULL_MODELS names no folder with " << GetParam();
  CheckModel(model, target::DetectHost(2).ToText());
}

INSTANTIATE_TEST_SUITE_P(Models, FullModel, ::testing::ValuesIn(kModels),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace mlc::testing
