#include "compiler/graph/onnx/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "compiler/graph/onnx/file.h"
#include "tests/unit/graph/onnx/imported.h"

namespace mlc::graph::onnx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using wire::GraphParts;

GraphParts AddOne() {
  GraphParts parts;
  parts.nodes = {wire::Node("Add", {"x", "one"}, {"y"})};
  parts.initializers = {wire::FloatTensor("one", {}, {1})};
  parts.inputs = {wire::FloatValue("x", {2})};
  parts.outputs = {wire::FloatValue("y", {2})};
  return parts;
}

TEST(Import, KeepsNamesAndTypesOfPorts) {
  const Result<Graph> graph = ImportBytes(wire::Model(AddOne()));
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  ASSERT_EQ(graph->Inputs().size(), 1u);
  EXPECT_EQ((*graph)[graph->Inputs()[0]].name, "x");
  EXPECT_THAT(graph->output_names(), ElementsAre("y"));
  EXPECT_THAT(EvaluateFirst(graph, {Floats({2}, {1, 2})}), ElementsAre(2, 3));
}

TEST(Import, LeavesWeightsInTheMapping) {
  const TempFolder folder;
  GraphParts parts = AddOne();
  parts.initializers = {wire::Tensor("one", 1, {2}, wire::Raw<float>({5, 7}))};
  // Padding before the graph moves the weights to every alignment: copies where it must be.
  for (size_t shift = 0; shift < 4; ++shift) {
    const std::string pad = wire::Bytes(6, std::string(shift, 'd'));
    const std::string path = folder.Write("m.onnx", pad + wire::Model(parts));
    EXPECT_THAT(EvaluateFirst(ImportOnnx(path, {}), {Floats({2}, {1, 2})}), ElementsAre(6, 9));
  }
}

// Bytes of the mapping around `address` that are in this process's memory.
int64_t ResidentBytes(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  const auto at = reinterpret_cast<uintptr_t>(address);
  std::string line;
  for (bool inside = false; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0, kilobytes = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
      inside = begin <= at && at < end;
    } else if (inside && std::sscanf(line.c_str(), "Rss: %lu", &kilobytes) == 1) {
      return static_cast<int64_t>(kilobytes) * 1024;
    }
  }
  return -1;
}

TEST(Import, TellsTheMappingsSoThatTheirPagesCanBeDropped) {
  const TempFolder folder;
  GraphParts parts = AddOne();
  parts.initializers = {
      wire::Tensor("one", 1, {2, 65536}, wire::Raw(std::vector<float>(131072, 3)))};
  parts.inputs = {wire::FloatValue("x", {2, 65536})};
  parts.outputs = {wire::FloatValue("y", {2, 65536})};
  const std::string path = folder.Write("m.onnx", wire::Model(parts));
  std::vector<std::shared_ptr<const MappedFile>> files;
  const Result<Graph> graph = ImportOnnx(path, {}, &files);
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  ASSERT_EQ(files.size(), 1u);
  const std::string_view bytes = files[0]->bytes();
  const std::string before(bytes);
  EXPECT_GE(ResidentBytes(bytes.data()), 131072 * 4);
  files[0]->DropPages();
  EXPECT_EQ(ResidentBytes(bytes.data()), 0);
  EXPECT_TRUE(bytes == before);
}

TEST(Import, NamesUnboundDimensionsAndTheFlag) {
  GraphParts parts = AddOne();
  parts.inputs = {wire::ValueInfo("x", 1, wire::Dim("N"))};
  const Result<Graph> unbound = ImportBytes(wire::Model(parts));
  EXPECT_EQ(unbound.status(),
            InvalidArgument("input 'x' has the symbolic dimension 'N': give its size with "
                            "--dim N=<size>"));
  ImportOptions options;
  options.dims["N"] = 3;
  const Result<Graph> bound = ImportBytes(wire::Model(parts), options);
  ASSERT_TRUE(bound.ok()) << bound.status().ToString();
  EXPECT_THAT((*bound)[bound->Inputs()[0]].type.dims, ElementsAre(3));
  options.dims["M"] = 3;
  const Status unknown = ImportBytes(wire::Model(parts), options).status();
  options.dims.erase("N");
  EXPECT_EQ(ImportBytes(wire::Model(parts), options).status(), unknown)
      << "the size that is missing has perhaps this name";
  options.dims["N"] = 3;
  EXPECT_EQ(ImportBytes(wire::Model(parts), options).status(),
            InvalidArgument("--dim M: the model has no symbolic dimension of this name, which "
                            "has 'N'"));
}

TEST(Import, BindsInputsAsConstants) {
  GraphParts parts;
  parts.nodes = {wire::Node("Reshape", {"x", "shape"}, {"y"})};
  parts.inputs = {wire::FloatValue("x", {6}), wire::ValueInfo("shape", 7, wire::Dim(2))};
  parts.outputs = {wire::FloatValue("y", {})};
  const Result<Graph> free = ImportBytes(wire::Model(parts));
  EXPECT_EQ(free.status().code(), StatusCode::kUnimplemented);
  EXPECT_THAT(free.status().message(), HasSubstr("node of 'y' (Reshape): operand 1 depends on"));
  ImportOptions options;
  options.bound_inputs["shape"] = WriteInts(DType::kI64, {2}, std::vector<int64_t>{2, -1});
  const Result<Graph> bound = ImportBytes(wire::Model(parts), options);
  ASSERT_TRUE(bound.ok()) << bound.status().ToString();
  EXPECT_THAT((*bound)[bound->outputs()[0]].type.dims, ElementsAre(2, 3));
  EXPECT_EQ(bound->Inputs().size(), 1u);
}

TEST(Import, FoldsShapeArithmetic) {
  GraphParts parts;
  parts.nodes = {wire::Node("Shape", {"x"}, {"s"}), wire::Node("Gather", {"s", "first"}, {"n"}),
                 wire::Node("Concat", {"n", "rest"}, {"shape"}, wire::IntAttr("axis", 0)),
                 wire::Node("Reshape", {"x", "shape"}, {"y"})};
  parts.initializers = {wire::IntTensor("first", {0}), wire::IntTensor("rest", {-1})};
  parts.inputs = {wire::FloatValue("x", {2, 3, 4})};
  parts.outputs = {wire::FloatValue("y", {})};
  const Result<Graph> graph = ImportBytes(wire::Model(parts));
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(graph->size(), 2) << graph->ToText();
  EXPECT_THAT((*graph)[graph->outputs()[0]].type.dims, ElementsAre(2, 12));
}

TEST(Import, ListsEveryUnsupportedOperatorAtOnce) {
  GraphParts parts = AddOne();
  parts.nodes.push_back(wire::Node("NoSuch", {"x"}, {"a"}));
  parts.nodes.push_back(wire::Node("NoSuch", {"x"}, {"b"}));
  parts.nodes.push_back(wire::Node("Odd", {"x"}, {"c"}, "", "my.domain"));
  EXPECT_EQ(ImportBytes(wire::Model(parts)).status(),
            Unimplemented("unsupported operators: NoSuch (nodes a, b), my.domain:Odd (node c)"));
  const TempFolder folder;
  const auto list = ListUnsupportedOperators(folder.Write("m.onnx", wire::Model(parts)));
  ASSERT_TRUE(list.ok());
  ASSERT_EQ(list->size(), 2u);
  EXPECT_EQ(list->front().count, 2);
}

std::string Function(const std::string& name, const std::vector<std::string>& nodes) {
  std::string bytes = wire::Bytes(1, name) + wire::Bytes(10, "f") + wire::Bytes(4, "a") +
                      wire::Bytes(5, "b") + wire::Bytes(9, wire::Opset("", 18));
  for (const std::string& node : nodes) bytes += wire::Bytes(7, node);
  return wire::Bytes(25, bytes);
}

TEST(Import, InlinesFunctionsWithTheirAttributes) {
  GraphParts parts = AddOne();
  parts.nodes = {wire::Node("Leaky", {"x"}, {"y"}, wire::FloatAttr("slope", 0.5F), "f")};
  const std::string function = Function(
      "Leaky", {wire::Node("LeakyRelu", {"a"}, {"b"}, wire::RefAttr("alpha", "slope", 1))});
  const Result<Graph> graph = ImportBytes(wire::Model(parts, 18, function));
  EXPECT_THAT(EvaluateFirst(graph, {Floats({2}, {-4, 4})}), ElementsAre(-2, 4));
}

TEST(Import, RefusesFunctionsThatCallThemselves) {
  GraphParts parts = AddOne();
  parts.nodes = {wire::Node("F", {"x"}, {"y"}, "", "f")};
  const std::string functions = Function("F", {wire::Node("G", {"a"}, {"b"}, "", "f")}) +
                                Function("G", {wire::Node("F", {"a"}, {"b"}, "", "f")});
  EXPECT_EQ(ImportBytes(wire::Model(parts, 18, functions)).status(),
            InvalidArgument("node of 'b' (F): the function calls itself"));
}

TEST(Import, RefusesFunctionsThatExpandTooFar) {
  GraphParts parts = AddOne();
  parts.nodes = {wire::Node("F0", {"x"}, {"y"}, "", "f")};
  std::string functions;
  for (int i = 0; i < 24; ++i) {
    const std::string next = "F" + std::to_string(i + 1);
    functions += Function("F" + std::to_string(i), {wire::Node(next, {"a"}, {"c"}, "", "f"),
                                                    wire::Node(next, {"c"}, {"b"}, "", "f")});
  }
  functions += Function("F24", {wire::Node("Relu", {"a"}, {"b"})});
  EXPECT_EQ(ImportBytes(wire::Model(parts, 18, functions)).status(),
            InvalidArgument("the model expands to more than 400000 nodes"));
}

GraphParts BranchOf(const std::string& op) {
  GraphParts parts;
  parts.nodes = {wire::Node(op, {"x"}, {"r"})};
  parts.outputs = {wire::FloatValue("r", {2})};
  return parts;
}

TEST(Import, TakesOrSelectsBranches) {
  const std::string branches = wire::GraphAttr("then_branch", BranchOf("Neg").Write()) +
                               wire::GraphAttr("else_branch", BranchOf("Abs").Write());
  GraphParts parts = AddOne();
  parts.nodes = {wire::Node("If", {"one"}, {"y"}, branches)};
  parts.initializers = {wire::Tensor("one", 9, {}, std::string(1, '\1'))};
  EXPECT_THAT(EvaluateFirst(ImportBytes(wire::Model(parts)), {Floats({2}, {-1, 2})}),
              ElementsAre(1, -2));
  parts.initializers.clear();
  parts.inputs.push_back(wire::ValueInfo("one", 9, ""));
  const TensorDataRef no = WriteInts(DType::kBool, {}, std::vector<int64_t>{0});
  EXPECT_THAT(EvaluateFirst(ImportBytes(wire::Model(parts)), {Floats({2}, {-1, 2}), no}),
              ElementsAre(1, 2));
}

TEST(Import, ErrorsNameTheNodeInOneLine) {
  GraphParts parts = AddOne();
  parts.nodes = {wire::Node("Add", {"x", "ghost\n*/"}, {"y"})};
  EXPECT_EQ(ImportBytes(wire::Model(parts)).status(),
            InvalidArgument("node of 'y' (Add) reads 'ghost?*/', which is not defined before it"));
  parts = AddOne();
  parts.nodes.push_back(parts.nodes[0]);
  EXPECT_EQ(ImportBytes(wire::Model(parts)).status(),
            InvalidArgument("node of 'y' (Add): value 'y' is defined twice"));
  parts = AddOne();
  EXPECT_EQ(ImportBytes(wire::Model(parts, 99)).status().code(), StatusCode::kUnimplemented);
  EXPECT_EQ(ImportOnnx("/nonexistent/model.onnx", {}).status().code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace mlc::graph::onnx
