// Surveys: everything that cannot be lowered at once, and what is supported instead.
#include "compiler/graph/onnx/survey.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/graph/onnx/supported_forms.h"
#include "tests/unit/graph/onnx/imported.h"
#include "tests/unit/graph/onnx/model_writer.h"

namespace mlc::graph::onnx {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using wire::GraphParts;

Result<ModelSurvey> SurveyBytes(const std::string& bytes, const ImportOptions& options = {}) {
  const TempFolder folder;
  return SurveyOnnx(folder.Write("model.onnx", bytes), options);
}

ModelSurvey SurveyOf(const GraphParts& parts, const ImportOptions& options = {}) {
  const Result<ModelSurvey> survey = SurveyBytes(wire::Model(parts), options);
  EXPECT_TRUE(survey.ok()) << survey.status().ToString();
  return survey.ok() ? *survey : ModelSurvey();
}

auto IsObstacle(const std::string& what, const std::vector<std::string>& names,
                const std::string& why, const std::string& instead) {
  return AllOf(Field(&Obstacle::what, what), Field(&Obstacle::names, names),
               Field(&Obstacle::why, HasSubstr(why)),
               Field(&Obstacle::instead, HasSubstr(instead)));
}

constexpr int32_t kComplex64 = 14;

TEST(Survey, AModelThatCanBeLoweredHasNoObstacles) {
  GraphParts parts;
  parts.nodes = {wire::Node("Relu", {"x"}, {"a"}), wire::Node("Relu", {"a"}, {"b"}),
                 wire::Node("Add", {"a", "b"}, {"y"})};
  parts.inputs = {wire::FloatValue("x", {2})};
  parts.outputs = {wire::FloatValue("y", {2})};
  const ModelSurvey survey = SurveyOf(parts);
  EXPECT_THAT(survey.obstacles, IsEmpty());
  EXPECT_EQ(survey.unchecked, 0);
  EXPECT_EQ(survey.opset, 18);
  EXPECT_THAT(survey.operators, ElementsAre(Pair("Add", 1), Pair("Relu", 2)));
}

// The length of all keys, which exporters give a name that nothing explains.
TEST(Survey, ASizeThatFollowsFromOthersIsNoObstacle) {
  GraphParts parts;
  parts.nodes = {wire::Node("Concat", {"past_keys", "x"}, {"keys"}, wire::IntAttr("axis", 0)),
                 wire::Node("Add", {"keys", "mask"}, {"y"})};
  parts.inputs = {wire::ValueInfo("past_keys", 1, wire::Dim("past")),
                  wire::ValueInfo("x", 1, wire::Dim("sequence")),
                  wire::ValueInfo("mask", 1, wire::Dim("s12"))};
  parts.outputs = {wire::ValueInfo("y", 1, wire::Dim("s12"))};
  ImportOptions options;
  options.dims = {{"past", 3}, {"sequence", 2}};
  EXPECT_THAT(SurveyOf(parts, options).obstacles, IsEmpty());
}

TEST(Survey, FindsObstaclesOfEveryKindAtOnce) {
  GraphParts parts;
  parts.nodes = {wire::Node("NoSuch", {"x"}, {"a"}),
                 wire::Node("MatMulBnb4", {"x", "w"}, {"b"}, "", "com.microsoft"),
                 wire::Node("MatMulBnb4", {"x", "w"}, {"c"}, "", "com.microsoft"),
                 // Of a supported operator: a type, and an operand that has to be known.
                 wire::Node("Cast", {"x"}, {"d"}, wire::IntAttr("to", 8)),
                 wire::Node("Reshape", {"x", "shape"}, {"e"}), wire::Node("Relu", {"x"}, {"y"})};
  parts.inputs = {wire::FloatValue("x", {2, 3}), wire::ValueInfo("shape", 7, wire::Dim(2)),
                  wire::ValueInfo("ids", kComplex64, wire::Dim(2)),
                  wire::ValueInfo("free", 1, wire::Dim("batch")),
                  wire::ValueInfo("more", 1, wire::Dim("batch"))};
  parts.initializers = {wire::Tensor("w", kComplex64, {1}, std::string(8, '\0'))};
  parts.outputs = {wire::FloatValue("y", {2, 3})};
  const ModelSurvey survey = SurveyOf(parts);
  EXPECT_THAT(
      survey.obstacles,
      ElementsAre(
          IsObstacle("input", {"ids"}, "not supported", "tensors of floats"),
          IsObstacle("input", {"free", "more"}, "dimension 'batch'", "--dim batch=<size>"),
          IsObstacle("constant", {"w"}, "not supported", "tensors of floats"),
          IsObstacle("NoSuch", {"a"}, "the operator is not supported", "operators.md"),
          IsObstacle("com.microsoft:MatMulBnb4", {"b", "c"}, "the operator is not supported",
                     "`DequantizeLinear` in blocks, then `MatMul`"),
          IsObstacle("Cast", {"d"}, "not supported", "operands: 1 at most"),
          IsObstacle("Reshape", {"e"}, "depends on the model's inputs", "make it constant")));
  EXPECT_EQ(survey.unchecked, 0);
}

TEST(Survey, LooksBehindAnObstacleWithTheTypeThatTheFileDeclares) {
  GraphParts parts;
  parts.nodes = {wire::Node("NoSuch", {"x"}, {"a"}),
                 wire::Node("Relu", {"a"}, {"b"}),
                 wire::Node("Cast", {"b"}, {"c"}, wire::IntAttr("to", 8)),
                 wire::Node("NoSuch", {"x"}, {"h"}),
                 wire::Node("Relu", {"h"}, {"i"}),
                 wire::Node("Cast", {"i"}, {"y"}, wire::IntAttr("to", 8))};
  parts.inputs = {wire::FloatValue("x", {2})};
  parts.outputs = {wire::FloatValue("y", {2}), wire::FloatValue("c", {2})};
  const std::string values = wire::Bytes(13, wire::FloatValue("a", {2}));
  const std::string bytes = wire::Number(1, 8) + wire::Bytes(7, parts.Write() + values) +
                            wire::Bytes(8, wire::Opset("", 18));
  const Result<ModelSurvey> survey = SurveyBytes(bytes);
  ASSERT_TRUE(survey.ok()) << survey.status().ToString();
  EXPECT_THAT(survey->obstacles,
              ElementsAre(IsObstacle("NoSuch", {"a", "h"}, "not supported", ""),
                          IsObstacle("Cast", {"c"}, "not supported", "operands: 1 at most")));
  EXPECT_EQ(survey->unchecked, 2) << "nothing says what h is";
}

// A size that is not given is taken as 1; errors that this may cause are not the model's.
TEST(Survey, AnAssumedSizeCausesNoErrors) {
  GraphParts parts;
  parts.nodes = {wire::Node("Add", {"x", "three"}, {"a"}),
                 wire::Node("Reshape", {"x", "shape"}, {"y"})};
  parts.initializers = {wire::FloatTensor("three", {3}, {1, 2, 3}),
                        wire::IntTensor("shape", {3, 2})};
  parts.inputs = {wire::ValueInfo("x", 1, wire::Dim("n"))};
  parts.outputs = {wire::FloatValue("y", {3, 2})};
  const ModelSurvey survey = SurveyOf(parts);
  EXPECT_THAT(survey.obstacles, ElementsAre(IsObstacle("input", {"x"}, "'n'", "--dim n=<size>")));
  EXPECT_EQ(survey.unchecked, 1) << "the reshape";
  ImportOptions options;
  options.dims["n"] = 6;
  EXPECT_THAT(SurveyOf(parts, options).obstacles, ElementsAre(IsObstacle("Add", {"a"}, "", "Add")));
  options.dims["m"] = 6;
  EXPECT_EQ(SurveyBytes(wire::Model(parts), options).status(),
            InvalidArgument("--dim m: the model has no symbolic dimension of this name, which "
                            "has 'n'"));
}

TEST(Survey, ANewOperatorSetIsAnObstacleBesideOthers) {
  GraphParts parts;
  parts.nodes = {wire::Node("NoSuch", {"x"}, {"y"})};
  parts.inputs = {wire::FloatValue("x", {2})};
  parts.outputs = {wire::FloatValue("y", {2})};
  const Result<ModelSurvey> survey = SurveyBytes(wire::Model(parts, 99));
  ASSERT_TRUE(survey.ok()) << survey.status().ToString();
  EXPECT_THAT(survey->obstacles,
              ElementsAre(IsObstacle("operator set", {}, "operator set 99", "1 to 28"),
                          IsObstacle("NoSuch", {"y"}, "", "")));
}

TEST(Survey, LooksIntoBranches) {
  GraphParts branch;
  branch.nodes = {wire::Node("Cast", {"x"}, {"r"}, wire::IntAttr("to", 8))};
  branch.outputs = {wire::FloatValue("r", {2})};
  GraphParts parts;
  parts.nodes = {wire::Node("If", {"c"}, {"y"},
                            wire::GraphAttr("then_branch", branch.Write()) +
                                wire::GraphAttr("else_branch", branch.Write())),
                 wire::Node("Cast", {"x"}, {"z"}, wire::IntAttr("to", 8))};
  parts.inputs = {wire::FloatValue("x", {2}), wire::ValueInfo("c", 9, wire::Dim(1))};
  parts.outputs = {wire::FloatValue("z", {2})};
  const ModelSurvey survey = SurveyOf(parts);
  ASSERT_EQ(survey.obstacles.size(), 1u);
  EXPECT_EQ(survey.obstacles[0].what, "Cast");
  EXPECT_THAT(survey.obstacles[0].names, ElementsAre("r", "z"));
}

TEST(Survey, ABrokenFileIsAnError) {
  EXPECT_EQ(SurveyBytes("nonsense").status().code(), StatusCode::kInvalidArgument);
  GraphParts parts;
  parts.inputs = {wire::FloatValue("x", {2})};
  parts.outputs = {wire::FloatValue("y", {2})};
  EXPECT_EQ(SurveyBytes(wire::Model(parts)).status(), InvalidArgument("output 'y' is not defined"));
}

// No page tells people to replace an operator that would do, or by one that would not.
TEST(SupportedForms, ReplacementsAreOfUnsupportedOperatorsBySupportedOnes) {
  for (const Replacement& row : Replacements()) {
    EXPECT_EQ(FindOperator(row.domain, row.op_type), nullptr) << row.op_type;
    const std::string words(row.instead);
    for (size_t at = words.find('`'); at != std::string::npos; at = words.find('`', at + 1)) {
      const size_t end = words.find('`', at + 1);
      ASSERT_NE(end, std::string::npos) << words;
      EXPECT_NE(FindOperator("", words.substr(at + 1, end - at - 1)), nullptr) << words;
      at = end;
    }
  }
}

TEST(SupportedForms, AnOperatorOfTheSameNameIsTheNearest) {
  EXPECT_EQ(InsteadOf("com.microsoft", "Relu"), "`Relu` of ai.onnx");
  EXPECT_EQ(InsteadOf("", "FastGelu"), "`FastGelu` of com.microsoft");
  EXPECT_THAT(InsteadOf("my.domain", "Odd"), HasSubstr("operators.md"));
  EXPECT_THAT(
      SupportedForm(*FindOperator("", "TopK")),
      HasSubstr("TopK with these limits: axes of at most 2^20 elements, 2^13 if k is no constant "
                "(operands: 2 at most,"));
}

}  // namespace
}  // namespace mlc::graph::onnx
