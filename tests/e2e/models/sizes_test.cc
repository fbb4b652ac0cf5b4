// Libraries of several sizes by the programs: compiled once, and run at each size against the plain
// evaluation of the model at that size.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "tests/e2e/models/run_program.h"
#include "tests/unit/graph/onnx/imported.h"

namespace mlc::testing {
namespace {

using namespace graph::onnx::wire;  // NOLINT: the vocabulary of the model below
using graph::onnx::TempFolder;
using ::testing::HasSubstr;
using Json = nlohmann::json;
using Words = std::vector<std::string>;

constexpr char kCompile[] = MLC_BINARY_DIR "/bin/mlc-compile";
constexpr char kLog[] = MLC_BINARY_DIR "/bin/mlc-log";
constexpr char kRun[] = MLC_BINARY_DIR "/bin/mlc-run";
constexpr char kTune[] = MLC_BINARY_DIR "/bin/mlc-tune";

// The same numbers on every machine, in [-0.5, 0.5].
std::string Values(const std::string& name, const std::vector<int64_t>& dims) {
  const int64_t count =
      std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<int64_t>());
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((i * 2654435761u >> 7) % 1001) / 1001.0F - 0.5F;
  }
  return FloatTensor(name, dims, values);
}

// Scores of tokens against each other, as in attention, and a sum over them: the length is a
// dimension of rows, of columns and of a reduction. y has the batch as well.
std::string SizedModel() {
  GraphParts parts;
  parts.nodes = {
      Node("MatMul", {"x", "w"}, {"q"}),
      Node("Transpose", {"x"}, {"k"}, IntsAttr("perm", {0, 2, 1})),
      Node("MatMul", {"q", "k"}, {"s"}),
      Node("Softmax", {"s"}, {"p"}, IntAttr("axis", -1)),
      Node("MatMul", {"p", "x"}, {"mixed"}),
      Node("ReduceMean", {"mixed"}, {"mean"}, IntsAttr("axes", {1}) + IntAttr("keepdims", 0)),
      Node("Add", {"mean", "y"}, {"sum"})};
  parts.initializers = {Values("w", {32, 32})};
  parts.inputs = {ValueInfo("x", 1, Dim("batch") + Dim("length") + Dim(32)),
                  ValueInfo("y", 1, Dim("batch") + Dim(32))};
  parts.outputs = {FloatValue("mixed", {}), FloatValue("sum", {})};
  return Model(parts, 17);
}

class Sizes : public ::testing::Test {
 protected:
  void SetUp() override { model_ = folder_.Write("model.onnx", SizedModel()); }

  Finished Compile(Words arguments) const {
    arguments.insert(arguments.begin(), {kCompile, "--model", model_, "--target", "cpu",
                                         "--threads", "2", "--name", "m", "-o"});
    return RunProgram(arguments);
  }
  // Inputs of one size in a folder.
  std::string Inputs(int64_t batch, int64_t length) const {
    const std::string name = "in" + std::to_string(batch) + "x" + std::to_string(length);
    std::filesystem::create_directory(folder_.path(name));
    folder_.Write(name + "/input_0.pb", Values("x", {batch, length, 32}));
    folder_.Write(name + "/input_1.pb", Values("y", {batch, 32}));
    return folder_.path(name);
  }
  static Words Dims(int64_t batch, int64_t length) {
    return {"--dim", "batch=" + std::to_string(batch), "--dim", "length=" + std::to_string(length)};
  }
  // Inputs of one size with what the reference computes of them, in its folder `expected`.
  std::string Evaluated(int64_t batch, int64_t length) const {
    const std::string inputs = Inputs(batch, length);
    Words reference = {kRun,        "--reference",       model_, "--inputs", inputs,
                       "--outputs", inputs + "/expected"};
    const Words dims = Dims(batch, length);
    reference.insert(reference.end(), dims.begin(), dims.end());
    const Finished evaluated = RunProgram(reference);
    EXPECT_EQ(evaluated.exit_code, 0) << evaluated.output;
    return inputs;
  }
  static Words CheckOf(const std::string& library, const std::string& inputs) {
    return {kRun,     library, "--inputs",  inputs, "--check", inputs + "/expected",
            "--rtol", "1e-5",  "--threads", "2"};
  }
  static bool SameFiles(const std::string& a, const std::string& b) {
    std::ifstream x(a, std::ios::binary), y(b, std::ios::binary);
    return std::equal(std::istreambuf_iterator<char>(x), {}, std::istreambuf_iterator<char>(y), {});
  }
  Json ReportOf(const std::string& library) const {
    std::ifstream file(library + "/report.json");
    return Json::parse(file);
  }

  TempFolder folder_;
  std::string model_;
};

TEST_F(Sizes, EachSizeRunsAsEvaluated) {
  const std::string library = folder_.path("library");
  const Finished compiled = Compile({library, "--dim", "batch=1,4", "--dim", "length=3..12:3"});
  ASSERT_EQ(compiled.exit_code, 0) << compiled.output;
  EXPECT_THAT(compiled.output, HasSubstr("batch=4, length=12: "));
  EXPECT_THAT(compiled.output, HasSubstr("all 8 sizes: "));
  for (const int64_t batch : {1, 4}) {
    for (const int64_t length : {12, 3, 9, 6}) {
      Words check = CheckOf(library, Evaluated(batch, length));
      const Finished by_inputs = RunProgram(check);
      EXPECT_EQ(by_inputs.exit_code, 0) << by_inputs.output;
      const Words dims = Dims(batch, length);
      check.insert(check.end(), dims.begin(), dims.end());
      EXPECT_EQ(RunProgram(check).exit_code, 0) << "with the sizes said";
    }
  }
}

TEST_F(Sizes, TheLibraryHasRawWeightsOnceAndOneArena) {
  const std::string all = folder_.path("all");
  ASSERT_EQ(Compile({all, "--dim", "batch=1,4", "--dim", "length=6"}).exit_code, 0);
  const Json report = ReportOf(all);
  EXPECT_EQ(report["dims"], Json({"batch"})) << "a dimension of one size is none of the library's";
  ASSERT_EQ(report["plans"].size(), 2u);
  int64_t most = 0;
  for (const Json& plan : report["plans"]) most = std::max<int64_t>(most, plan["arena_bytes"]);
  EXPECT_EQ(report["arena_bytes"], most);
  int64_t calls = 0, uses = 0;
  for (const Json& plan : report["plans"]) {
    calls += plan["kernel_calls"].get<int64_t>();
    for (const Json& count : plan["task_uses"]) uses += count.get<int64_t>();
  }
  EXPECT_EQ(calls, uses);
  EXPECT_EQ(report["plans"][1]["sizes"], Json({{"batch", 4}}));
}

// A length is reduced over, and is one of keys: masks make padded runs exact.
TEST_F(Sizes, EverySizeOfARangeRunsAsEvaluated) {
  const std::string library = folder_.path("ranged");
  const Finished compiled =
      Compile({library, "--dim", "batch=1..6@4", "--dim", "length=2..13@5,9"});
  ASSERT_EQ(compiled.exit_code, 0) << compiled.output;
  EXPECT_EQ(ReportOf(library)["plans"].size(), 6u) << "batch 4, 6; length 5, 9, 13";
  const std::pair<int64_t, int64_t> sizes[] = {{1, 2}, {5, 13}, {3, 5}, {2, 6},
                                               {4, 9}, {5, 10}, {1, 3}, {2, 12}};
  for (const auto& [batch, length] : sizes) {
    const Finished checked = RunProgram(CheckOf(library, Evaluated(batch, length)));
    EXPECT_EQ(checked.exit_code, 0) << batch << "x" << length << ": " << checked.output;
  }
  Words beyond = {kRun, library};
  const Words dims = Dims(2, 14);
  beyond.insert(beyond.end(), dims.begin(), dims.end());
  const Finished refused = RunProgram(beyond);
  EXPECT_EQ(refused.exit_code, 65);
  EXPECT_THAT(
      refused.output,
      HasSubstr("length = 14 is not a size of this library, which has 2 to 13: compile it"));
}

// Tokens are outermost in memory, so kernels of larger classes serve smaller ones. The target is
// fixed, since the analytic model decides.
TEST_F(Sizes, ClassesOfARangeShareKernels) {
  GraphParts parts;
  parts.nodes = {Node("MatMul", {"x", "w"}, {"h"}), Node("Tanh", {"h"}, {"t"}),
                 Node("MatMul", {"t", "v"}, {"y"})};
  parts.initializers = {Values("w", {64, 128}), Values("v", {128, 64})};
  parts.inputs = {ValueInfo("x", 1, Dim(1) + Dim("length") + Dim(64))};
  parts.outputs = {FloatValue("y", {})};
  const std::string model = folder_.Write("tokens.onnx", Model(parts, 17));
  const auto report_of = [&](const std::string& lengths) {
    const std::string library = folder_.path("tokens" + lengths);
    const Finished compiled =
        RunProgram({kCompile, "--model", model, "--target",
                    "target v1 cpu arch=x86_64 isa=avx2 threads=2 l1=32768 l2=524288 l3=33554432",
                    "--dim", "length=" + lengths, "--name", "m", "-o", library});
    EXPECT_EQ(compiled.exit_code, 0) << compiled.output;
    return ReportOf(library);
  };
  const Json ranged = report_of("2..96"), exact = report_of("96");
  EXPECT_EQ(ranged["plans"].size(), 12u);
  EXPECT_LE(ranged["tasks"].size(), 2 * exact["tasks"].size()) << ranged["tasks"].dump(1);
  EXPECT_LE(ranged["code_bytes"].get<int64_t>(), 2 * exact["code_bytes"].get<int64_t>());
}

// A part of a table whose length varies is computed when the model is read, or is not, by its size:
// at all sizes as at the largest.
TEST_F(Sizes, LargeKnownValuesAreTheSameNodesAtAllSizes) {
  GraphParts parts;
  parts.nodes = {Node("Shape", {"x"}, {"shape"}), Node("Gather", {"shape", "one"}, {"length"}),
                 Node("Slice", {"table", "zero", "length", "zero"}, {"part"}),
                 Node("Add", {"x", "part"}, {"sum"})};
  parts.initializers = {Values("table", {600, 512}), IntTensor("one", {1}), IntTensor("zero", {0})};
  parts.inputs = {ValueInfo("x", 1, Dim(1) + Dim("length") + Dim(512))};
  parts.outputs = {FloatValue("sum", {})};
  const std::string model = folder_.Write("table.onnx", Model(parts, 17));
  const std::string library = folder_.path("table");
  const Finished compiled =
      RunProgram({kCompile, "--model", model, "--target", "cpu", "--threads", "1", "--dim",
                  "length=505..518@518", "--name", "m", "-o", library});
  ASSERT_EQ(compiled.exit_code, 0) << compiled.output;
  for (const int64_t length : {505, 512, 513, 518}) {
    const std::string inputs = folder_.path("table" + std::to_string(length));
    std::filesystem::create_directory(inputs);
    folder_.Write("table" + std::to_string(length) + "/input_0.pb", Values("x", {1, length, 512}));
    const Finished evaluated =
        RunProgram({kRun, "--reference", model, "--inputs", inputs, "--outputs",
                    inputs + "/expected", "--dim", "length=" + std::to_string(length)});
    ASSERT_EQ(evaluated.exit_code, 0) << evaluated.output;
    const Finished checked = RunProgram(CheckOf(library, inputs));
    EXPECT_EQ(checked.exit_code, 0) << length << ": " << checked.output;
  }
}

// Rows behind one another in one axis: padding would lie between them.
TEST_F(Sizes, ARangeThatPaddingWouldBreakIsRefused) {
  GraphParts parts;
  parts.nodes = {Node("Reshape", {"x", "shape"}, {"joined"})};
  parts.initializers = {IntTensor("shape", {-1})};
  parts.inputs = {ValueInfo("x", 1, Dim("batch") + Dim("length"))};
  parts.outputs = {FloatValue("joined", {})};
  const std::string model = folder_.Write("joined.onnx", Model(parts, 17));
  const Finished refused =
      RunProgram({kCompile, "--model", model, "--target", "cpu", "--dim", "batch=4", "--dim",
                  "length=3..8", "-o", folder_.path("joined")});
  EXPECT_EQ(refused.exit_code, 65) << refused.output;
  EXPECT_THAT(refused.output, HasSubstr("length=5 cannot run padded to length=6: node 'joined' "
                                        "(reshape): it joins an axis whose length varies"));
  EXPECT_THAT(refused.output, HasSubstr("give a list of sizes"));
}

TEST_F(Sizes, OneSizeMakesTheSameLibraryAsBefore) {
  const std::string one = folder_.path("one"), ranged = folder_.path("ranged");
  ASSERT_EQ(Compile({one, "--dim", "batch=4", "--dim", "length=6"}).exit_code, 0);
  ASSERT_EQ(Compile({ranged, "--dim", "batch=4..4", "--dim", "length=6..8:3"}).exit_code, 0);
  std::ifstream a(one + "/libm.so", std::ios::binary), b(ranged + "/libm.so", std::ios::binary);
  EXPECT_TRUE(
      std::equal(std::istreambuf_iterator<char>(a), {}, std::istreambuf_iterator<char>(b), {}));
  EXPECT_FALSE(std::filesystem::exists(ranged + "/mlc_sizes.h"));
}

TEST_F(Sizes, RunSaysWhichSizesThereAre) {
  const std::string library = folder_.path("library");
  ASSERT_EQ(Compile({library, "--dim", "batch=1,4", "--dim", "length=3,6"}).exit_code, 0);
  const std::pair<Words, const char*> wrong[] = {
      {Dims(2, 3), "batch = 2 is not a size of this library, which has 1, 4"},
      {Dims(4, 5), "length = 5 is not a size of this library, which has 3, 6"},
      {{"--dim", "batch=4"}, "give a size of each of: batch, length"},
      {{"--dim", "rows=4"}, "the library has no dimension 'rows', it has batch, length"},
      {{"--dim", "batch=-1"}, "--dim takes NAME=N"},
      {{"--dim", "batch=1,4", "--dim", "length=3", "--inputs", "x"}, "give one size of each"},
      {{"--inputs", Inputs(2, 3)}, "input 0 is f32[2,3,32], the model takes "}};
  for (const auto& [arguments, text] : wrong) {
    Words command = {kRun, library};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const Finished refused = RunProgram(command);
    EXPECT_EQ(refused.exit_code, 65) << refused.output;
    EXPECT_THAT(refused.output, HasSubstr(text));
  }
  const Finished each = RunProgram({kRun, library, "--dim", "batch=1,4", "--dim", "length=6",
                                    "--profile", "--json", "--threads", "1"});
  ASSERT_EQ(each.exit_code, 0) << each.output;
  const Json runs = Json::parse(each.output);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[1]["sizes"], Json({{"batch", 4}, {"length", 6}}));
  EXPECT_FALSE(runs[1]["profile"].empty());
}

TEST_F(Sizes, CompileRefusesWhatALibraryCannotHave) {
  const std::pair<Words, const char*> wrong[] = {
      {{"--dim", "batch=1..100:1", "--dim", "length=3"}, "at most 64"},
      {{"--dim", "batch=1..9:1", "--dim", "length=1..8:1"}, "asks for 72 combinations of sizes"},
      {{"--dim", "batch=2..1", "--dim", "length=3"}, "the range ends below its first size"},
      {{"--dim", "batch=1,2"}, "with batch=2: "},
      {{"--dim", "batch=1,2", "--dim", "length=3", "--emit", "tasks"}, "show one size"}};
  for (const auto& [arguments, text] : wrong) {
    Words command = {folder_.path("x")};
    if (text == std::string("show one size")) {
      command = {kCompile, "--model", model_, "--target", "cpu"};
    }
    command.insert(command.end(), arguments.begin(), arguments.end());
    const Finished refused = command.front() == kCompile ? RunProgram(command) : Compile(command);
    EXPECT_EQ(refused.exit_code, 65) << refused.output;
    EXPECT_THAT(refused.output, HasSubstr(text));
  }
  EXPECT_FALSE(std::filesystem::exists(folder_.path("x")));
}

// One job tunes the tasks of all classes, and every size runs on what it found.
TEST_F(Sizes, OneRunTunesARange) {
  const std::string log = folder_.path("range.db"), library = folder_.path("tuned_range");
  const Words dims = {"--dim", "batch=1..4@2", "--dim", "length=6"};
  const auto with = [&](Words command) {
    const Words common = {"--model", model_, "--target", "cpu", "--threads", "1"};
    command.insert(command.end(), common.begin(), common.end());
    command.insert(command.end(), dims.begin(), dims.end());
    const Finished finished = RunProgram(command);
    EXPECT_EQ(finished.exit_code, 0) << command.front() << ": " << finished.output;
    return finished;
  };
  const Json plan = Json::parse(with({kTune, "--dry-run", "--json"}).output);
  EXPECT_EQ(plan["sizes"].size(), 2u);
  const std::string trials = std::to_string(2 * plan["tasks"].size());
  with({kTune, "--log", log, "--trials", trials, "--quiet"});
  with({kCompile, "--log", log, "--name", "m", "--require-tuned", "-o", library});
  const Json report = ReportOf(library);
  ASSERT_EQ(report["plans"].size(), 2u) << "batch up to 2, up to 4";
  for (const Json& of_class : report["plans"]) {
    EXPECT_GT(of_class["expected_ms"], 0);
    for (size_t task = 0; task < report["tasks"].size(); ++task) {
      if (of_class["task_uses"][task] > 0) {
        EXPECT_TRUE(report["tasks"][task]["tuned"]) << report["tasks"][task].dump();
      }
    }
  }
  const Finished best = RunProgram({kLog, "best", log, "--model", model_, "--dim", "batch=1..4@2",
                                    "--dim", "length=6", "--json"});
  EXPECT_EQ(best.exit_code, 0) << best.output;
  for (const int64_t batch : {1, 2, 3, 4}) {
    const Finished checked = RunProgram(CheckOf(library, Evaluated(batch, 6)));
    EXPECT_EQ(checked.exit_code, 0) << batch << ": " << checked.output;
  }
  const std::string locked = folder_.path("locked_range");
  with({kCompile, "--locked", library + "/m.lock", "--name", "m", "-o", locked});
  EXPECT_TRUE(SameFiles(library + "/libm.so", locked + "/libm.so"));
}

// One job tunes the tasks of all sizes; the library of all of them then needs no default config.
TEST_F(Sizes, OneRunTunesAllSizes) {
  const std::string log = folder_.path("tuning.db");
  const Words dims = {"--dim", "batch=1,4", "--dim", "length=3,6"};
  Words dry = {kTune,      "--dry-run", "--json",    "--model", model_,
               "--target", "cpu",       "--threads", "1"};
  dry.insert(dry.end(), dims.begin(), dims.end());
  const Finished said = RunProgram(dry);
  ASSERT_EQ(said.exit_code, 0) << said.output;
  const Json plan = Json::parse(said.output);
  EXPECT_EQ(plan["sizes"].size(), 4u);
  Words tune = {kTune,
                "--model",
                model_,
                "--log",
                log,
                "--target",
                "cpu",
                "--threads",
                "1",
                "--trials",
                std::to_string(2 * plan["tasks"].size()),
                "--quiet"};
  tune.insert(tune.end(), dims.begin(), dims.end());
  const Finished tuned = RunProgram(tune);
  ASSERT_EQ(tuned.exit_code, 0) << tuned.output;
  Words compile = {kCompile, "--model",
                   model_,   "--log",
                   log,      "--target",
                   "cpu",    "--threads",
                   "1",      "--name",
                   "m",      "--require-tuned",
                   "-o",     folder_.path("tuned")};
  compile.insert(compile.end(), dims.begin(), dims.end());
  const Finished compiled = RunProgram(compile);
  ASSERT_EQ(compiled.exit_code, 0) << compiled.output;
  EXPECT_EQ(ReportOf(folder_.path("tuned"))["tasks"].size(), plan["tasks"].size());
  const std::string lock = folder_.path("tuned/m.lock");
  Words again = {kCompile,
                 "--model",
                 model_,
                 "--locked",
                 lock,
                 "--target",
                 "cpu",
                 "--threads",
                 "1",
                 "--name",
                 "m",
                 "-o",
                 folder_.path("locked")};
  again.insert(again.end(), dims.begin(), dims.end());
  const Finished locked = RunProgram(again);
  ASSERT_EQ(locked.exit_code, 0) << locked.output;
  std::ifstream a(folder_.path("tuned/libm.so"), std::ios::binary);
  std::ifstream b(folder_.path("locked/libm.so"), std::ios::binary);
  EXPECT_TRUE(
      std::equal(std::istreambuf_iterator<char>(a), {}, std::istreambuf_iterator<char>(b), {}));
}

}  // namespace
}  // namespace mlc::testing
