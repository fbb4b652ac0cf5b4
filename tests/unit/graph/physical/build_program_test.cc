#include "compiler/graph/physical/build_program.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/graph/physical/program_text.h"
#include "tests/unit/graph/physical/program_of.h"

namespace mlc::graph {
namespace {

using Dims = std::vector<int64_t>;

TEST(BuildProgram, ResidualAddJoinsTheLaterConvolution) {
  const Program program = ProgramOf(
      "graph v1 {\n"
      "  %0 = input() : f32[1,3,8,8]\n"
      "  %1 = input() : f32[16,3,3,3]\n"
      "  %2 = input() : f32[16,16,3,3]\n"
      "  %3 = constant() {value=0.0} : f32[]\n"
      "  %4 = conv(%0, %1) {pads=[1,1,1,1]} : f32[1,16,8,8]\n"
      "  %5 = max(%4, %3) : f32[1,16,8,8]\n"
      "  %6 = conv(%5, %2) {pads=[1,1,1,1]} : f32[1,16,8,8]\n"
      "  %7 = conv(%5, %2) {pads=[1,1,1,1]} : f32[1,16,8,8]\n"
      "  %8 = add(%6, %7) : f32[1,16,8,8]\n"
      "  %9 = max(%8, %3) : f32[1,16,8,8]\n"
      "  %10 = reduce(%9) {axes=[2,3], keepdims=0, kind=mean} : f32[1,16]\n"
      "  return %10\n"
      "}\n");
  EXPECT_EQ(StepsOf(program), "conv max; conv; conv add max; reduce");
  const Graph& second = program.tasks[1].workload.graph();
  EXPECT_EQ(second[program.tasks[1].workload.outputs()[0]].type.strides, (Dims{1024, 1, 128, 16}));
}

// Of a product, a sum with a value from elsewhere, and a norm of it.
constexpr char kResidualBlock[] =
    "graph v1 { %0 = input() : f32[4,8] %1 = input() : f32[8,8] %2 = input() : f32[8] "
    "%3 = matmul(%0, %1) : f32[4,8] %4 = add(%3, %2) : f32[4,8] %5 = add(%4, %0) : f32[4,8] "
    "%6 = layer_norm(%5) {axis=1} : f32[4,8] return %6 }";

TEST(BuildProgram, AResidualAddMayBeLeftToWhatFollows) {
  bool found = false;
  PhysicalOptions options;
  options.after_pass = [&](const PhysicalReport& report, const Graph&) {
    if (report.pass == kFuseResiduals) found = report.changed;
  };
  const Result<Program> fused = BuildPhysical(*Graph::Parse(kResidualBlock), options);
  ASSERT_TRUE(fused.ok()) << fused.status().message();
  EXPECT_EQ(StepsOf(*fused), "matmul add add; layer_norm");
  EXPECT_TRUE(found);
  options.fuse_residuals = false;
  const Result<Program> apart = BuildPhysical(*Graph::Parse(kResidualBlock), options);
  ASSERT_TRUE(apart.ok()) << apart.status().message();
  EXPECT_EQ(StepsOf(*apart), "matmul add; add layer_norm");
  EXPECT_FALSE(found);
}

// The second product adds what the first one wrote as codes, and decodes them itself.
TEST(BuildProgram, AResidualOfCodesIsDecodedByItsReader) {
  const Program program = ProgramOf(
      "graph v1 { %0 = input() : f32[4,8] %1 = input() : f32[8,8] %2 = input() : f32[8,8] "
      "%3 = constant() {value=0.5} : f32[] %4 = matmul(%0, %1) : f32[4,8] "
      "%5 = cast(%4) : u8[4,8] %6 = cast(%5) : f32[4,8] %7 = mul(%6, %3) : f32[4,8] "
      "%8 = matmul(%0, %2) : f32[4,8] %9 = add(%8, %7) : f32[4,8] "
      "%10 = layer_norm(%9) {axis=1} : f32[4,8] return %10 }");
  ASSERT_EQ(program.steps.size(), 3u) << StepsOf(program);
  EXPECT_EQ(OpsOf(program.tasks[0]), "matmul cast");
  const Workload& second = program.tasks[1].workload;
  const auto is_byte = [&](ValueId id) { return second.graph()[id].type.dtype == DType::kU8; };
  EXPECT_EQ(std::count_if(second.operands().begin(), second.operands().end(), is_byte), 1)
      << second.ToText();
}

TEST(BuildProgram, ANormOfCodesDecodesThem) {
  const Program program = ProgramOf(
      "graph v1 { %0 = input() : f32[4,8] %1 = input() : f32[8,8] "
      "%2 = constant() {value=0.5} : f32[] %3 = matmul(%0, %1) : f32[4,8] "
      "%4 = cast(%3) : u8[4,8] %5 = cast(%4) : f32[4,8] %6 = mul(%5, %2) : f32[4,8] "
      "%7 = layer_norm(%6) {axis=1} : f32[4,8] return %7 }");
  EXPECT_EQ(StepsOf(program), "matmul cast; cast mul layer_norm");
}

TEST(BuildProgram, ImageOfFewChannelsIsReadWhereItLies) {
  const Program program = ProgramOf(
      "graph v1 {\n"
      "  %0 = input() : f32[1,3,8,8]\n"
      "  %1 = input() : f32[16,3,3,3]\n"
      "  %2 = conv(%0, %1) {pads=[1,1,1,1]} : f32[1,16,8,8]\n"
      "  %3 = reduce(%2) {axes=[2,3], keepdims=0, kind=mean} : f32[1,16]\n"
      "  return %3\n"
      "}\n");
  EXPECT_EQ(StepsOf(program), "conv; reduce");
  EXPECT_EQ(program.steps[0].operands[0].kind, Placement::Kind::kModelInput);
}

TEST(BuildProgram, ManyChannelsAreMadeInnermostFirst) {
  const Program program = ProgramOf(
      "graph v1 {\n"
      "  %0 = input() : f32[1,8,8,8]\n"
      "  %1 = input() : f32[16,8,3,3]\n"
      "  %2 = conv(%0, %1) {pads=[1,1,1,1]} : f32[1,16,8,8]\n"
      "  return %2\n"
      "}\n");
  EXPECT_EQ(StepsOf(program), "copy; conv");
  const Workload& copy = program.tasks[0].workload;
  EXPECT_EQ(copy.graph()[copy.outputs()[0]].type.strides, (Dims{512, 1, 64, 8}));
  // Writing against the grain costs less than a copy of the output.
  EXPECT_EQ(program.steps[1].outputs[0].kind, Placement::Kind::kModelOutput);
}

TEST(BuildProgram, ResizesKeepChannelsInLanes) {
  const Result<Graph> graph = Graph::Parse(
      "graph v1 { %0 = input() : f32[1,16,8,8] %1 = input() : f32[16,16,1,1] "
      "%2 = conv(%0, %1) : f32[1,16,8,8] %3 = resize(%2) {mode=linear, scales=[1.0,1.0,4.0,4.0]} "
      ": f32[1,16,32,32] return %3 }");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  PhysicalOptions options;
  const Result<Program> vectors = BuildPhysical(*graph, options);
  ASSERT_TRUE(vectors.ok()) << vectors.status().message();
  EXPECT_EQ(StepsOf(*vectors), "copy; conv; resize; copy");
  options.rules.resizes_by_element = false;
  const Result<Program> elements = BuildPhysical(*graph, options);
  ASSERT_TRUE(elements.ok()) << elements.status().message();
  EXPECT_EQ(StepsOf(*elements), "copy; conv; resize");
}

TEST(BuildProgram, ConvolutionsOfImagesComputeWhatIsCheapOfThem) {
  std::string filters = "0.5";
  for (int i = 1; i < 8 * 2; ++i) filters += ",0.5";
  const Result<Graph> graph = Graph::Parse(
      "graph v1 { %0 = input() : f32[1,2,4,4] %1 = constant() {values=[" + filters +
      "]} : f16[8,2,1,1] %2 = cast(%0) : f16[1,2,4,4] %3 = conv(%2, %1) : f16[1,8,4,4] "
      "return %3 }");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  PhysicalOptions options;
  const Result<Program> apart = BuildPhysical(*graph, options);
  ASSERT_TRUE(apart.ok()) << apart.status().message();
  EXPECT_EQ(StepsOf(*apart), "cast; conv");
  options.rules.reads_images = true;
  const Result<Program> together = BuildPhysical(*graph, options);
  ASSERT_TRUE(together.ok()) << together.status().message();
  EXPECT_EQ(StepsOf(*together), "cast conv");
}

TEST(BuildProgram, NormsOfImagesKeepChannelsInnermost) {
  const Program program = ProgramOf(
      "graph v1 { %0 = input() : f32[1,3,8,8] %1 = input() : f32[16,3,3,3] "
      "%2 = input() : f32[16,1,1] %3 = input() : f32[16,16,3,3] "
      "%4 = conv(%0, %1) {pads=[1,1,1,1]} : f32[1,16,8,8] %5 = reshape(%4) : f32[1,4,4,8,8] "
      "%6 = layer_norm(%5, _, _) {axis=2, epsilon=0.1} : f32[1,4,4,8,8] "
      "%7 = reshape(%6) : f32[1,16,8,8] %8 = mul(%7, %2) : f32[1,16,8,8] "
      "%9 = conv(%8, %3) {pads=[1,1,1,1]} : f32[1,16,8,8] "
      "%10 = reduce(%9) {axes=[2,3], keepdims=0, kind=mean} : f32[1,16] return %10 }");
  EXPECT_EQ(StepsOf(program), "conv; layer_norm mul; conv; reduce");
}

TEST(BuildProgram, CopiedImagesHaveChannelsInnermostForTheirReaders) {
  const std::string shuffle =
      "graph v1 { %0 = input() : f32[1,3,8,8] %1 = input() : f32[32,3,3,3] "
      "%2 = conv(%0, %1) {pads=[1,1,1,1]} : f32[1,32,8,8] %3 = reshape(%2) : f32[1,2,2,8,8,8] "
      "%4 = transpose(%3) {perm=[0,3,4,1,5,2]} : f32[1,8,8,2,8,2] "
      "%5 = reshape(%4) : f32[1,8,16,16] ";
  const auto strides_of_copy = [](const Program& program) {
    const Workload& copy = program.tasks[1].workload;
    return copy.graph()[copy.outputs()[0]].type.strides;
  };
  const Program read = ProgramOf(shuffle +
                                 "%6 = input() : f32[5,8,3,3] %7 = conv(%5, %6) : f32[1,5,14,14] "
                                 "return %7 }");
  EXPECT_EQ(StepsOf(read), "conv; copy; conv");
  EXPECT_EQ(strides_of_copy(read), (Dims{2048, 1, 256, 128, 16, 8}));
  const Program result = ProgramOf(shuffle + "return %5 }");
  EXPECT_EQ(StepsOf(result), "conv; copy");
  EXPECT_EQ(strides_of_copy(result), Dims{});
}

TEST(BuildProgram, AttentionReadsAndWritesViews) {
  const Program program = ProgramOf(
      "graph v1 {\n"
      "  %0 = input() : f32[1,8,32]\n"
      "  %1 = input() : f32[32,96]\n"
      "  %2 = matmul(%0, %1) : f32[1,8,96]\n"
      "  %3 = slice(%2) {starts=[0,0,0]} : f32[1,8,32]\n"
      "  %4 = slice(%2) {starts=[0,0,32]} : f32[1,8,32]\n"
      "  %5 = slice(%2) {starts=[0,0,64]} : f32[1,8,32]\n"
      "  %6 = reshape(%3) : f32[1,8,4,8]\n"
      "  %7 = reshape(%4) : f32[1,8,4,8]\n"
      "  %8 = reshape(%5) : f32[1,8,4,8]\n"
      "  %9 = transpose(%6) {perm=[0,2,1,3]} : f32[1,4,8,8]\n"
      "  %10 = transpose(%7) {perm=[0,2,1,3]} : f32[1,4,8,8]\n"
      "  %11 = transpose(%8) {perm=[0,2,1,3]} : f32[1,4,8,8]\n"
      "  %12 = attention(%9, %10, %11) {scale=0.5} : f32[1,4,8,8]\n"
      "  %13 = transpose(%12) {perm=[0,2,1,3]} : f32[1,8,4,8]\n"
      "  %14 = reshape(%13) : f32[1,8,32]\n"
      "  %15 = input() : f32[32,32]\n"
      "  %16 = matmul(%14, %15) : f32[1,8,32]\n"
      "  %17 = add(%16, %0) : f32[1,8,32]\n"
      "  return %17\n"
      "}\n");
  EXPECT_EQ(StepsOf(program), "matmul; attention; matmul add");
  const Workload& attention = program.tasks[1].workload;
  EXPECT_EQ(attention.graph()[0].type.strides, (Dims{768, 8, 96, 1}));
  EXPECT_EQ(attention.graph()[attention.outputs()[0]].type.strides, (Dims{256, 8, 32, 1}));
  EXPECT_EQ(program.steps[1].operands[1].byte_offset - program.steps[1].operands[0].byte_offset,
            32 * 4);
}

TEST(BuildProgram, ConvolutionReadsTheHeadsOfAttentionAsChannels) {
  const Program program = ProgramOf(
      "graph v1 {\n"
      "  %0 = input() : f32[2,4,6,8]\n"
      "  %1 = input() : f32[16,32,1,1]\n"
      "  %2 = attention(%0, %0, %0) {scale=0.5} : f32[2,4,6,8]\n"
      "  %3 = transpose(%2) {perm=[0,1,3,2]} : f32[2,4,8,6]\n"
      "  %4 = reshape(%3) : f32[2,32,2,3]\n"
      "  %5 = conv(%4, %1) : f32[2,16,2,3]\n"
      "  %6 = reduce(%5) {axes=[2,3], kind=mean} : f32[2,16,1,1]\n"
      "  return %6\n"
      "}\n");
  EXPECT_EQ(StepsOf(program), "attention; conv; reduce");
  const Workload& attention = program.tasks[0].workload;
  EXPECT_EQ(attention.graph()[attention.outputs()[0]].type.strides, (Dims{192, 8, 32, 1}));
}

TEST(BuildProgram, ProductOfPixelsScalesAndAddsToTheImage) {
  const Program program = ProgramOf(
      "graph v1 {\n"
      "  %0 = input() : f32[2,8,3,4]\n"
      "  %1 = input() : f32[8,8,1,1]\n"
      "  %2 = conv(%0, %1) : f32[2,8,3,4]\n"
      "  %3 = transpose(%2) {perm=[0,2,3,1]} : f32[2,3,4,8]\n"
      "  %4 = reshape(%3) : f32[24,8]\n"
      "  %5 = input() : f32[8,8]\n"
      "  %6 = matmul(%4, %5) : f32[24,8]\n"
      "  %7 = reshape(%6) : f32[2,3,4,8]\n"
      "  %8 = transpose(%7) {perm=[0,3,1,2]} : f32[2,8,3,4]\n"
      "  %9 = input() : f32[8,1,1]\n"
      "  %10 = mul(%8, %9) : f32[2,8,3,4]\n"
      "  %11 = add(%2, %10) : f32[2,8,3,4]\n"
      "  %12 = reduce(%11) {axes=[2,3], kind=mean} : f32[2,8,1,1]\n"
      "  return %12\n"
      "}\n");
  EXPECT_EQ(StepsOf(program), "copy; conv; matmul mul add; reduce");
}

TEST(BuildProgram, ReshapeMovesBelowAnActivation) {
  const Program program = ProgramOf(
      "graph v1 {\n"
      "  %0 = input() : f32[1,8,32]\n"
      "  %1 = input() : f32[32,32]\n"
      "  %2 = input() : f32[32]\n"
      "  %3 = reshape(%0) : f32[8,32]\n"
      "  %4 = matmul(%3, %1) : f32[8,32]\n"
      "  %5 = reshape(%4) : f32[1,8,32]\n"
      "  %6 = add(%5, %2) : f32[1,8,32]\n"
      "  %7 = tanh(%6) : f32[1,8,32]\n"
      "  %8 = mul(%6, %7) : f32[1,8,32]\n"
      "  %9 = add(%0, %8) : f32[1,8,32]\n"
      "  return %9\n"
      "}\n");
  EXPECT_EQ(StepsOf(program), "matmul add tanh mul add");
  EXPECT_EQ(program.arena_bytes, 0);
}

TEST(BuildProgram, ValueReadTwiceIsASecondResult) {
  const Program program = ProgramOf(
      "graph v1 {\n"
      "  %0 = input() : f32[8,32]\n"
      "  %1 = input() : f32[32,32]\n"
      "  %2 = matmul(%0, %1) : f32[8,32]\n"
      "  %3 = tanh(%2) : f32[8,32]\n"
      "  %4 = matmul(%3, %1) : f32[8,32]\n"
      "  %5 = matmul(%2, %1) : f32[8,32]\n"
      "  return %4, %5\n"
      "}\n");
  EXPECT_EQ(StepsOf(program), "matmul tanh; matmul; matmul");
  EXPECT_EQ(program.steps[0].outputs.size(), 2u);
  EXPECT_EQ(program.tasks.size(), 2u);
  EXPECT_EQ(program.tasks[1].occurrences, 2);
}

TEST(BuildProgram, GatedValueWaitsForItsGate) {
  // The product depends on the convolution twice, once through other tasks: it cannot join it.
  const Program program = ProgramOf(
      "graph v1 {\n"
      "  %0 = input() : f32[1,3,8,8]\n"
      "  %1 = input() : f32[16,3,3,3]\n"
      "  %2 = conv(%0, %1) {pads=[1,1,1,1]} : f32[1,16,8,8]\n"
      "  %3 = reduce(%2) {axes=[2,3], keepdims=1, kind=mean} : f32[1,16,1,1]\n"
      "  %4 = sigmoid(%3) : f32[1,16,1,1]\n"
      "  %5 = mul(%2, %4) : f32[1,16,8,8]\n"
      "  return %5\n"
      "}\n");
  EXPECT_EQ(StepsOf(program), "conv; reduce sigmoid; mul");
}

TEST(BuildProgram, RowKernelTakesItsPrologue) {
  const Program program = ProgramOf(
      "graph v1 {\n"
      "  %0 = input() : f32[8,32]\n"
      "  %1 = input() : f32[8,32]\n"
      "  %2 = add(%0, %1) : f32[8,32]\n"
      "  %3 = softmax(%2) {axis=1} : f32[8,32]\n"
      "  return %3\n"
      "}\n");
  EXPECT_EQ(StepsOf(program), "add softmax");
}

TEST(BuildProgram, SplatsAreNoOperands) {
  const Program program = ProgramOf(
      "graph v1 {\n"
      "  %0 = input() : f32[8,4]\n"
      "  %1 = constant() {values=[2.0,2.0,2.0,2.0]} : f32[4]\n"
      "  %2 = mul(%0, %1) : f32[8,4]\n"
      "  return %2\n"
      "}\n");
  ASSERT_EQ(program.tasks.size(), 1u);
  EXPECT_TRUE(program.constants.empty());
  EXPECT_NE(program.tasks[0].workload.ToText().find("constant() {value=2.0} : f32[]"),
            std::string::npos);
}

TEST(BuildProgram, OutputsThatNoKernelWritesAreCopied) {
  const Program program = ProgramOf(
      "graph v1 {\n"
      "  %0 = input() : f32[2,3]\n"
      "  %1 = transpose(%0) {perm=[1,0]} : f32[3,2]\n"
      "  return %1, %0\n"
      "}\n");
  EXPECT_EQ(ToText(program),
            "program v1 arena=0 unshared=0\n"
            "input 0 : f32[2,3]\n"
            "output 0 : f32[3,2]\n"
            "output 1 : f32[2,3]\n"
            "task 0 x1 workload v1 tolerance=1e-04 {\n"
            "  %0 = input() : f32[3,2]{1,3}\n"
            "  %1 = copy(%0) : f32[3,2]\n"
            "  return %1\n"
            "}\n"
            "task 1 x1 workload v1 tolerance=1e-04 {\n"
            "  %0 = input() : f32[2,3]\n"
            "  %1 = copy(%0) : f32[2,3]\n"
            "  return %1\n"
            "}\n"
            "step 0 task 0 (input 0) -> (output 0)\n"
            "step 1 task 1 (input 0) -> (output 1)\n");
}

TEST(BuildProgram, ConcatenatedValuesAreWrittenInPlace) {
  const Program program = ProgramOf(
      "graph v1 {\n"
      "  %0 = input() : f32[1,3,8,8]\n"
      "  %1 = input() : f32[16,3,1,1]\n"
      "  %2 = input() : f32[8,3,1,1]\n"
      "  %3 = conv(%0, %1) : f32[1,16,8,8]\n"
      "  %4 = conv(%0, %2) : f32[1,8,8,8]\n"
      "  %5 = concat(%3, %4) {axis=1} : f32[1,24,8,8]\n"
      "  %6 = reduce(%5) {axes=[2,3], keepdims=0, kind=mean} : f32[1,24]\n"
      "  return %6\n"
      "}\n");
  EXPECT_EQ(StepsOf(program), "conv; conv; reduce");
  EXPECT_EQ(program.arena_bytes, 24 * 64 * 4);
  const Placement whole = program.steps[2].operands[0];
  EXPECT_EQ(program.steps[0].outputs[0].byte_offset, whole.byte_offset);
  EXPECT_EQ(program.steps[1].outputs[0].byte_offset, whole.byte_offset + 16 * 4);
  const Workload& second = program.tasks[1].workload;
  EXPECT_EQ(second.graph()[second.outputs()[0]].type.strides[3], 24);
}

// A mask of places is a part of the attention that alone reads it; others are read.
TEST(BuildProgram, AttentionComputesMasksOfItsOwn) {
  const std::string heads = "f32[1,2,8,4]";
  const auto steps = [&](const std::string& number, bool is_shared) {
    return StepsOf(ProgramOf(
        "graph v1 { %0 = input() : " + heads + " %1 = input() : " + heads + " %2 = " + number +
        " : f32[8,8] %3 = trilu(%2) {k=1, upper=1} : f32[8,8] %4 = attention(%0, %1, %1, %3) "
        "{scale=0.5} : " +
        heads + (is_shared ? " %5 = attention(%1, %0, %0, %3) " : " %5 = attention(%1, %0, %0) ") +
        "{scale=0.5} : " + heads + " return %4, %5 }"));
  };
  EXPECT_EQ(steps("constant() {value=-inf}", false), "trilu attention; attention");
  EXPECT_EQ(steps("constant() {value=-inf}", true), "trilu; attention; attention");
  EXPECT_EQ(steps("input()", false), "trilu; attention; attention");
}

TEST(BuildProgram, RefusesWhatIsNoModelGraph) {
  Result<Graph> graph =
      Graph::Parse("graph v1 { %0 = weight() : f32[2] %1 = tanh(%0) : f32[2] return %1 }");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const Result<Program> program = BuildPhysical(*std::move(graph), {});
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(program.status().message(), "%0 = weight does not belong into a model's graph");
}

TEST(BuildProgram, PassesAreShownInOrder) {
  Result<Graph> graph = Graph::Parse(
      "graph v1 { %0 = input() : f32[2] %1 = tanh(%0) : f32[2] "
      "return %1 }");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  std::string seen;
  PhysicalOptions options;
  options.after_pass = [&](const PhysicalReport& report, const Graph&) {
    seen += std::string(report.pass) + " ";
  };
  ASSERT_TRUE(BuildPhysical(*std::move(graph), options).ok());
  EXPECT_EQ(seen,
            "sink_views choose_layouts place_concats lower_views align_views fuse_residuals ");
}

}  // namespace
}  // namespace mlc::graph
