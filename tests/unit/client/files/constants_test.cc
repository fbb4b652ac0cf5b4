#include "client/model/constants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "compiler/graph/tensor_io.h"
#include "tests/unit/graph/onnx/model_writer.h"

namespace mlc::client {
namespace {

namespace fs = std::filesystem;
namespace wire = graph::onnx::wire;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ConstantFlag : public ::testing::Test {
 protected:
  ConstantFlag() {
    wire::GraphParts parts;
    parts.nodes = {wire::Node("Reshape", {"x", "shape"}, {"y"})};
    parts.inputs = {wire::FloatValue("x", {6}),
                    wire::ValueInfo("shape", 7, wire::Dim(2)),
                    wire::ValueInfo("flag", 9, wire::Dim(1)),
                    wire::ValueInfo("small", 3, wire::Dim("n")),
                    wire::ValueInfo("many", 7, wire::Dim("n") + wire::Dim("m")),
                    wire::FloatValue("scalar", {}),
                    wire::ValueInfo("a=b", 7, wire::Dim(1))};
    parts.outputs = {wire::FloatValue("y", {})};
    std::ofstream(model_) << wire::Model(parts);
  }
  ~ConstantFlag() override { fs::remove(model_); }

  std::string ErrorOf(const std::vector<std::string>& arguments) const {
    return ReadConstants(model_, arguments).status().message();
  }

  const fs::path model_ =
      fs::path(::testing::TempDir()) / ("mlc-constants-" + std::to_string(getpid()) + ".onnx");
};

TEST_F(ConstantFlag, TakesTheTypeAndShapeThatTheModelDeclares) {
  const Result<Constants> constants =
      ReadConstants(model_, {"shape=2,-1", "flag=true", "small=1,2,-3", "scalar=2.5"});
  ASSERT_TRUE(constants.ok()) << constants.status().message();
  ASSERT_EQ(constants->size(), 4u);
  EXPECT_EQ(constants->at("shape")->dtype, DType::kI64);
  EXPECT_THAT(graph::ReadInts(*constants->at("shape")), ElementsAre(2, -1));
  EXPECT_THAT(graph::ReadInts(*constants->at("flag")), ElementsAre(1));
  EXPECT_EQ(constants->at("small")->dtype, DType::kI8);
  EXPECT_THAT(constants->at("small")->dims, ElementsAre(3));
  EXPECT_TRUE(constants->at("scalar")->dims.empty());
  EXPECT_THAT(graph::ReadDoubles(*constants->at("scalar")), ElementsAre(2.5));
}

TEST_F(ConstantFlag, TakesNoNumbersForAnEmptyShape) {
  const Result<Constants> constants = ReadConstants(model_, {"small="});
  ASSERT_TRUE(constants.ok()) << constants.status().message();
  EXPECT_THAT(constants->at("small")->dims, ElementsAre(0));
}

TEST_F(ConstantFlag, NamesAndPathsMayContainEqualSigns) {
  const Result<Constants> constants = ReadConstants(model_, {"a=b=4"});
  ASSERT_TRUE(constants.ok()) << constants.status().message();
  EXPECT_THAT(graph::ReadInts(*constants->at("a=b")), ElementsAre(4));
  EXPECT_THAT(ErrorOf({"shape=no/a=b/file.npy"}),
              AllOf(HasSubstr("--constant shape"), HasSubstr("no/a=b/file.npy")));
}

TEST_F(ConstantFlag, SaysWhatIsWrong) {
  EXPECT_THAT(ErrorOf({"shape"}), HasSubstr("--constant takes NAME=VALUES"));
  EXPECT_THAT(ErrorOf({"=1"}), HasSubstr("--constant takes NAME=VALUES"));
  EXPECT_THAT(
      ErrorOf({"axes=1"}),
      HasSubstr("the model has no such input, but x, shape, flag, small, many, scalar, a=b"));
  EXPECT_THAT(ErrorOf({"shape=2,3", "shape=3,2"}), HasSubstr("--constant shape is given twice"));
  EXPECT_THAT(ErrorOf({"shape=2,x"}), HasSubstr("'x' is no number of type i64"));
  EXPECT_THAT(ErrorOf({"shape=2,"}), HasSubstr("'' is no number of type i64"));
  EXPECT_THAT(ErrorOf({"small=300"}), HasSubstr("'300' is no number of type i8"));
  EXPECT_THAT(ErrorOf({"shape=1,2,3"}), HasSubstr("it has 3 numbers, its shape needs 2"));
  EXPECT_THAT(ErrorOf({"many=1,2"}), HasSubstr("several dimensions of any size: give a file"));
  EXPECT_THAT(ErrorOf({"x=nowhere.npy"}), HasSubstr("nowhere.npy"));
}

}  // namespace
}  // namespace mlc::client
