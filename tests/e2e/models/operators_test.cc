// Small models of one pattern each, compiled by mlc-compile and run by mlc-run against the plain
// evaluation of the same file: what must hold from the wire format to the generated code.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/e2e/models/run_program.h"
#include "tests/unit/graph/onnx/imported.h"

namespace mlc::testing {
namespace {

using namespace graph::onnx::wire;  // NOLINT: the vocabulary of every row below
using graph::onnx::TempFolder;
using Strings = std::vector<std::string>;

constexpr char kCompile[] = MLC_BINARY_DIR "/bin/mlc-compile";
constexpr char kRun[] = MLC_BINARY_DIR "/bin/mlc-run";

// The same numbers on every machine, in [-0.5, 0.5].
std::string Weights(const std::string& name, const std::vector<int64_t>& dims) {
  const int64_t count =
      std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<int64_t>());
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((i * 2654435761u >> 7) % 1001) / 1001.0F - 0.5F;
  }
  return FloatTensor(name, dims, values);
}

struct Case {
  const char* name;
  std::vector<int64_t> x;  // dims of the only input
  GraphParts parts;
  int64_t opset = 18;
};

Case Make(const char* name, Strings nodes, Strings initializers, const std::vector<int64_t>& x,
          Strings outputs = {"y"}, int64_t opset = 18) {
  Case made{name, x, {std::move(nodes), std::move(initializers), {FloatValue("x", x)}, {}}, opset};
  for (const std::string& output : outputs) made.parts.outputs.push_back(FloatValue(output, {}));
  return made;
}

// A convolution that writes the second half of the channels, 12 floats off a vector's boundary,
// and the shuffle that follows it.
Case ShuffledHalves() {
  return Make(
      "shuffled_halves",
      {Node("Conv", {"x", "w"}, {"a"}), Node("Conv", {"x", "v"}, {"c"}),
       Node("Relu", {"a"}, {"ra"}), Node("Relu", {"c"}, {"rc"}),
       Node("Concat", {"ra", "rc"}, {"j"}, IntAttr("axis", 1)), Node("Conv", {"j", "u"}, {"y"})},
      {Weights("w", {58, 16, 1, 1}), Weights("v", {58, 16, 1, 1}), Weights("u", {24, 116, 1, 1})},
      {1, 16, 14, 14});
}

Case InDoubles() {
  const std::string f64 = IntAttr("to", 11);
  return Make(
      "in_doubles",
      {Node("Cast", {"x"}, {"xd"}, f64), Node("Cast", {"w"}, {"wd"}, f64),
       Node("Cast", {"k"}, {"kd"}, f64),
       Node("Conv", {"xd", "wd"}, {"c"},
            IntsAttr("strides", {2, 1}) + IntsAttr("pads", {1, 0, 1, 1}) + IntAttr("group", 2)),
       Node("MatMul", {"c", "kd"}, {"m"}), Node("Cast", {"m"}, {"y"}, IntAttr("to", 1))},
      {Weights("w", {6, 2, 3, 2}), Weights("k", {9, 5})}, {2, 4, 8, 9});
}

Case InIntegers() {
  return Make("in_integers",
              {Node("Mul", {"x", "ten"}, {"t"}), Node("Cast", {"t"}, {"i"}, IntAttr("to", 6)),
               Node("Transpose", {"i"}, {"it"}), Node("MatMul", {"i", "it"}, {"m"}),
               Node("Cast", {"m"}, {"y"}, IntAttr("to", 1))},
              {FloatTensor("ten", {}, {10})}, {5, 7});
}

Case QuantisedDynamically() {
  std::string bytes(600 * 3, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 37);
  return Make("quantised_dynamically",
              {Node("DynamicQuantizeLinear", {"x"}, {"q", "s", "z"}),
               Node("MatMulInteger", {"q", "w", "z"}, {"m"}),
               Node("Cast", {"m"}, {"f"}, IntAttr("to", 1)), Node("Mul", {"f", "s"}, {"y"})},
              {Tensor("w", 3, {600, 3}, bytes)}, {4, 600});
}

// Codes of i8, each another.
std::string Codes(const std::string& name, const std::vector<int64_t>& dims) {
  const int64_t count =
      std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<int64_t>());
  std::string bytes(static_cast<size_t>(count), '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 37 + i / 256);
  return Tensor(name, 3, dims, bytes);
}

// Layers between quantised activations, of u8 with a zero point of 128 or of i8, and weights.
Case Quantised(const char* name, const Strings& layers, const Strings& weights,
               const std::vector<int64_t>& x, int32_t type) {
  Strings nodes = {Node("QuantizeLinear", {"x", "s", "z"}, {"q"}),
                   Node("DequantizeLinear", {"q", "s", "z"}, {"d"})};
  nodes.insert(nodes.end(), layers.begin(), layers.end());
  Strings initializers = weights;
  initializers.push_back(FloatTensor("s", {}, {0.0625}));
  initializers.push_back(Tensor("z", type, {}, std::string(1, type == 2 ? '\x80' : '\3')));
  return Make(name, nodes, initializers, x);
}

Case QuantisedProducts(int32_t type) {
  return Quantised(type == 2 ? "products_of_u8" : "products_of_i8",
                   {Node("DequantizeLinear", {"w", "ws", "wz"}, {"wd"}, IntAttr("axis", 1)),
                    Node("MatMul", {"d", "wd"}, {"m"}), Node("Add", {"m", "b"}, {"y"})},
                   {Codes("w", {64, 35}), Weights("ws", {35}), Weights("b", {35}),
                    Tensor("wz", 3, {35}, std::string(35, '\0'))},
                   {2, 5, 64}, type);
}

Case QuantisedConvolutions(int32_t type) {
  return Quantised(type == 2 ? "convolutions_of_u8" : "convolutions_of_i8",
                   {Node("DequantizeLinear", {"w", "ws"}, {"wd"}, IntAttr("axis", 0)),
                    Node("Conv", {"d", "wd", "b"}, {"c"},
                         IntsAttr("pads", {1, 0, 1, 1}) + IntsAttr("strides", {1, 2})),
                    Node("Relu", {"c"}, {"y"})},
                   {Codes("w", {20, 8, 3, 2}), Weights("ws", {20}), Weights("b", {20})},
                   {2, 8, 9, 7}, type);
}

Case Recurrent(const char* name, const char* op, int64_t gates) {
  return Make(name,
              {Node(op, {"x", "w", "r", "b"}, {"y", "h"},
                    IntAttr("hidden_size", 6) + TextAttr("direction", "bidirectional"))},
              {Weights("w", {2, gates * 6, 5}), Weights("r", {2, gates * 6, 6}),
               Weights("b", {2, gates * 12})},
              {4, 3, 5}, {"y", "h"}, 14);
}

Case Largest(const char* name, const std::vector<int64_t>& dims, int64_t k) {
  return Make(name, {Node("TopK", {"x", "k"}, {"y", "i"}, IntAttr("axis", 1))},
              {IntTensor("k", {k})}, dims, {"y", "i"});
}

Case Sampled() {
  return Make("sampled",
              {Node("Slice", {"x", "zero", "two", "one"}, {"s"}),
               Node("Transpose", {"s"}, {"g"}, IntsAttr("perm", {0, 2, 3, 1})),
               Node("GridSample", {"x", "g"}, {"y"}, TextAttr("padding_mode", "reflection"))},
              {IntTensor("zero", {0}), IntTensor("two", {2}), IntTensor("one", {1})}, {2, 3, 6, 7},
              {"y"}, 20);
}

Case Looped() {
  GraphParts body;
  body.nodes = {Node("Mul", {"state", "w"}, {"next"}), Node("Identity", {"cond"}, {"on"}),
                Node("ReduceSum", {"next"}, {"sum"}, IntAttr("keepdims", 0))};
  body.inputs = {ValueInfo("i", 7, ""), ValueInfo("cond", 9, ""), FloatValue("state", {4, 5})};
  body.outputs = {ValueInfo("on", 9, ""), FloatValue("next", {4, 5}), FloatValue("sum", {})};
  return Make(
      "looped", {Node("Loop", {"n", "", "x"}, {"y", "sums"}, GraphAttr("body", body.Write()))},
      {Tensor("n", 7, {}, Raw(std::vector<int64_t>{5})), Weights("w", {5})}, {4, 5}, {"y", "sums"});
}

Case WithoutElements() {
  return Make("without_elements",
              {Node("ConstantOfShape", {"s"}, {"none"}),
               Node("Concat", {"x", "none"}, {"j"}, IntAttr("axis", 0)),
               Node("Relu", {"none"}, {"z"}), Node("Neg", {"j"}, {"y"})},
              {IntTensor("s", {0, 3})}, {2, 3}, {"y", "z"});
}

Case Cubic() {
  return Make("cubic", {Node("Resize", {"x", "", "", "size"}, {"y"}, TextAttr("mode", "cubic"))},
              {IntTensor("size", {1, 2, 13, 6})}, {1, 2, 8, 9});
}

Case Folded() {
  return Make("folded",
              {Node("Col2Im", {"x", "image", "block"}, {"y"},
                    IntsAttr("strides", {2, 1}) + IntsAttr("pads", {0, 1, 1, 0}))},
              {IntTensor("image", {5, 4}), IntTensor("block", {2, 3})}, {2, 18, 9});
}

Case Angles() {
  return Make("angles",
              {Node("Tanh", {"x"}, {"t"}), Node("Atan", {"x"}, {"a"}), Node("Asin", {"t"}, {"b"}),
               Node("Acos", {"t"}, {"c"}), Node("Asinh", {"x"}, {"d"}),
               Node("Sum", {"a", "b", "c", "d"}, {"y"})},
              {}, {9, 33});
}

std::vector<Case> Cases() {
  return {ShuffledHalves(),
          InDoubles(),
          InIntegers(),
          QuantisedDynamically(),
          QuantisedProducts(2),
          QuantisedProducts(3),
          QuantisedConvolutions(2),
          QuantisedConvolutions(3),
          Recurrent("rnn", "RNN", 1),
          Recurrent("gru", "GRU", 3),
          Recurrent("lstm", "LSTM", 4),
          Largest("largest", {3, 50, 2}, 7),
          Largest("largest_in_blocks", {1, 4000}, 3),
          Sampled(),
          Looped(),
          WithoutElements(),
          Cubic(),
          Folded(),
          Angles()};
}

void PrintTo(const Case& row, std::ostream* out) { *out << row.name; }

class Operators : public ::testing::TestWithParam<Case> {};

TEST_P(Operators, RunAsEvaluated) {
  const TempFolder folder;
  const std::string model = folder.Write("model.onnx", Model(GetParam().parts, GetParam().opset));
  const std::string library = folder.path("library");
  const std::string inputs = folder.path("inputs");
  const std::string expected = folder.path("expected");
  std::filesystem::create_directory(inputs);
  folder.Write("inputs/input_0.pb", Weights("x", GetParam().x));
  const Finished compiled =
      RunProgram({kCompile, "--model", model, "-o", library, "--name", "m", "--threads", "2"});
  ASSERT_EQ(compiled.exit_code, 0) << compiled.output;
  const Finished evaluated =
      RunProgram({kRun, "--reference", model, "--inputs", inputs, "--outputs", expected});
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.output;
  const Finished checked = RunProgram(
      {kRun, library, "--inputs", inputs, "--check", expected, "--rtol", "1e-5", "--threads", "2"});
  EXPECT_EQ(checked.exit_code, 0) << checked.output;
}

INSTANTIATE_TEST_SUITE_P(All, Operators, ::testing::ValuesIn(Cases()),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace mlc::testing
