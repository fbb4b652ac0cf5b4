#include "compiler/front/front.h"

#include <gtest/gtest.h>

#include <optional>

namespace mlc::front {
namespace {

constexpr char kText[] =
    "graph v1 {\n"
    "  %0 = input() : f32[2,4]\n"
    "  %1 = input() : f32[4,4]\n"
    "  %2 = matmul(%0, %1) : f32[2,4]\n"
    "  %3 = constant() {values=[0.0,0.0,0.0,0.0]} : f32[4]\n"
    "  %4 = max(%2, %3) : f32[2,4]\n"
    "  return %4\n"
    "}\n";

graph::Graph Parsed() {
  Result<graph::Graph> graph = graph::Graph::Parse(kText);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return graph.ok() ? *std::move(graph) : graph::Graph();
}

TEST(Front, CutsAGraphIntoTasks) {
  FrontOptions options;
  options.tolerance = 1e-3;
  PassTrace trace;
  const Result<graph::Program> program = BuildProgram(Parsed(), options, &trace);
  ASSERT_TRUE(program.ok()) << program.status().message();
  ASSERT_EQ(program->tasks.size(), 1u);
  EXPECT_EQ(program->tasks[0].workload.tolerance(), 1e-3);
  EXPECT_EQ(program->inputs.size(), 2u);
  EXPECT_EQ(program->arena_bytes, 0);
  std::vector<std::string> traced;
  for (const PassTrace::Entry& entry : trace.entries) traced.push_back(entry.pass);
  EXPECT_EQ(traced, PassNames());
}

// Products whose rows may be rounded have a tolerance for it, unless the user names one for all.
TEST(Front, RoundedRowsHaveATolerance) {
  constexpr char kRounded[] =
      "graph v1 { %0 = input() : f32[2,2] %1 = constant() {values=[33,67]} : u8[2,1] "
      "%2 = constant() {values=[1.0,10.0]} : f32[2,1] "
      "%3 = dequantize(%1, %2) {bits=4, block=2, depth=2, zero=1} : f32[2,2] "
      "%4 = matmul(%0, %3) {precision=i8} : f32[2,2] return %4 }";
  const Result<graph::Graph> graph = graph::Graph::Parse(kRounded);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const auto tolerance = [&](std::optional<double> named, const target::Target& target) {
    FrontOptions options = ForTarget({}, target);
    options.tolerance = named;
    const Result<graph::Program> program = BuildProgram(*graph, options);
    EXPECT_TRUE(program.ok()) << program.status().message();
    return program->tasks[0].workload.tolerance();
  };
  EXPECT_EQ(tolerance(std::nullopt, target::Target{}), 2e-2);
  EXPECT_EQ(tolerance(1e-3, target::Target{}), 1e-3);
  target::Target gpu;
  gpu.device = target::GpuTarget{};
  EXPECT_EQ(tolerance(std::nullopt, gpu), 1e-4);
}

// Weights of few bits are operands of the task where its kernels read them so, and numbers
// elsewhere or where the model computes in another precision.
TEST(Front, KeepsPackedWeightsForDevicesThatReadThem) {
  constexpr char kPacked[] =
      "graph v1 { %0 = input() : f32[2,2] %1 = constant() {values=[33,67]} : u8[2,1] "
      "%2 = constant() {values=[1.0,10.0]} : f32[2,1] "
      "%3 = dequantize(%1, %2) {bits=4, block=2, depth=2, zero=1} : f32[2,2] "
      "%4 = matmul(%0, %3) : f32[2,2] %5 = matmul(%4, %3) : f32[2,2] return %5 }";
  const Result<graph::Graph> graph = graph::Graph::Parse(kPacked);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const auto operands = [&](const FrontOptions& options) {
    const Result<graph::Program> program = BuildProgram(*graph, options);
    EXPECT_TRUE(program.ok()) << program.status().message();
    EXPECT_EQ(program->tasks.size(), 1u);
    EXPECT_EQ(program->steps.size(), 2u);
    return program->tasks[0].workload.operands().size();
  };
  const FrontOptions cpu = ForTarget({}, target::Target{});
  EXPECT_EQ(operands(cpu), 3u);
  target::Target gpu;
  gpu.device = target::GpuTarget{};
  EXPECT_EQ(operands(ForTarget({}, gpu)), 2u);
  FrontOptions precise = cpu;
  precise.precision = graph::Precision::kFp32;
  EXPECT_EQ(operands(precise), 2u);
}

TEST(Front, TakesAToleranceOfZeroByItsWord) {
  FrontOptions options;
  EXPECT_EQ(ToleranceOf(options), 1e-4);
  options.tolerance = 0;
  EXPECT_EQ(ToleranceOf(options), 0);
  const Result<graph::Program> program = BuildProgram(Parsed(), options);
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_EQ(program->tasks[0].workload.tolerance(), 0);
  EXPECT_TRUE(graph::Workload::Parse(program->tasks[0].workload.ToText()).ok());
}

TEST(Front, ShowsTheGraphAfterNamedPasses) {
  FrontOptions options;
  options.print_after = {"simplify", "lower_views"};
  std::vector<std::string> shown;
  options.print = [&](std::string_view pass, const graph::Graph& graph) {
    EXPECT_GT(graph.size(), 0);
    if (shown.empty() || shown.back() != pass) shown.emplace_back(pass);
  };
  ASSERT_TRUE(BuildProgram(Parsed(), options).ok());
  EXPECT_EQ(shown, (std::vector<std::string>{"simplify", "lower_views"}));
}

TEST(Front, ShowsEveryPassForAll) {
  FrontOptions options;
  options.print_after = {"all"};
  std::vector<std::string> shown;
  options.print = [&](std::string_view pass, const graph::Graph&) { shown.emplace_back(pass); };
  ASSERT_TRUE(BuildProgram(Parsed(), options).ok());
  EXPECT_EQ(shown, PassNames());
}

TEST(Front, RefusesUnknownPasses) {
  FrontOptions options;
  options.print_after = {"layouts"};
  const Result<graph::Program> printed = BuildProgram(Parsed(), options);
  ASSERT_FALSE(printed.ok());
  EXPECT_EQ(printed.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(printed.status().message().rfind("no pass is named 'layouts'; there are: ", 0), 0u);
  EXPECT_NE(printed.status().message().find("choose_layouts"), std::string::npos);
  options.print_after.clear();
  options.skip = {"nothing"};
  const Result<graph::Program> skipped = BuildProgram(Parsed(), options);
  ASSERT_FALSE(skipped.ok());
  EXPECT_EQ(skipped.status().code(), StatusCode::kInvalidArgument);
}

TEST(Front, AModelIsReadOnceAndCompiledOften) {
  const Model model{Parsed(), {}};
  const Result<graph::Program> first = CompileModel(model, {});
  const Result<graph::Program> second = CompileModel(model, {});
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->tasks[0].workload.ToText(), second->tasks[0].workload.ToText());
}

TEST(Front, ReportsAModelThatIsNotThere) {
  const Result<graph::Program> program =
      CompileFront(std::string(MLC_BINARY_DIR) + "/no-such-model.onnx", {}, {});
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace mlc::front
