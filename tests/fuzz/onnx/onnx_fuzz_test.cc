// Damaged models: bytes of valid files flipped, cut, repeated and exchanged. Every one must import
// or be refused in one line; the seed makes a failure repeatable. MLC_ONNX_TESTS, if set, adds the
// test data's models to the seeds.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/rng.h"
#include "tests/unit/graph/onnx/imported.h"

namespace mlc::graph::onnx {
namespace {

namespace fs = std::filesystem;

wire::GraphParts Seed(const std::string& node, const std::vector<std::string>& initializers) {
  wire::GraphParts parts;
  parts.nodes = {node, wire::Node("Relu", {"y"}, {"z"})};
  parts.initializers = initializers;
  parts.inputs = {wire::FloatValue("x", {1, 2, 4, 4})};
  parts.outputs = {wire::FloatValue("z", {})};
  return parts;
}

std::string Scalar(const std::string& name, int64_t value) {
  return wire::Tensor(name, 7, {}, wire::Raw(std::vector<int64_t>{value}));
}

// Halves of x, one of them twice, side by side.
std::string SequenceSeed() {
  using wire::Node;
  wire::GraphParts parts =
      Seed(Node("ConcatFromSequence", {"t"}, {"y"}, wire::IntAttr("axis", 2)), {Scalar("two", 2)});
  parts.initializers.push_back(Scalar("last", -1));
  parts.nodes.insert(
      parts.nodes.begin(),
      {Node("SplitToSequence", {"x", "two"}, {"s"}, wire::IntAttr("axis", 2)),
       Node("SequenceAt", {"s", "last"}, {"a"}), Node("SequenceInsert", {"s", "a", "last"}, {"u"}),
       Node("SequenceErase", {"u", "last"}, {"t"}), Node("SequenceLength", {"t"}, {"n"})});
  return wire::Model(parts, 17);
}

// x doubles until a run decides that it is enough.
std::string LoopSeed() {
  using wire::Node;
  wire::GraphParts body;
  body.nodes = {Node("Add", {"a", "a"}, {"b"}),
                Node("ReduceMax", {"b"}, {"m"}, wire::IntAttr("keepdims", 0)),
                Node("Less", {"m", "most"}, {"on"}), Node("Identity", {"b"}, {"c"})};
  body.inputs = {wire::ValueInfo("i", 7, ""), wire::ValueInfo("g", 9, ""),
                 wire::FloatValue("a", {1, 2, 4, 4})};
  body.outputs = {wire::ValueInfo("on", 9, ""), wire::FloatValue("b", {1, 2, 4, 4}),
                  wire::FloatValue("c", {1, 2, 4, 4})};
  wire::GraphParts parts =
      Seed(Node("Loop", {"five", "", "x"}, {"last", "y"}, wire::GraphAttr("body", body.Write())),
           {Scalar("five", 5), wire::FloatTensor("most", {}, {100})});
  return wire::Model(parts, 17);
}

std::vector<std::string> OwnSeeds() {
  using wire::Node;
  const std::string w = wire::FloatTensor("w", {2, 2, 1, 1}, {1, 2, 3, 4});
  const std::string conv = wire::IntsAttr("strides", {1, 1}) +
                           wire::IntsAttr("pads", {0, 0, 0, 0}) + wire::IntAttr("group", 1);
  const std::string pool = wire::IntsAttr("kernel_shape", {2, 2}) + wire::IntAttr("ceil_mode", 1);
  const std::string equation = wire::TextAttr("equation", "abcd,efgh->af");
  return {
      wire::Model(Seed(Node("Conv", {"x", "w"}, {"y"}, conv), {w})),
      wire::Model(Seed(Node("ConvTranspose", {"x", "w"}, {"y"}, conv), {w})),
      wire::Model(Seed(Node("AveragePool", {"x"}, {"y"}, pool), {})),
      wire::Model(Seed(Node("Einsum", {"x", "w"}, {"y"}, equation), {w})),
      wire::Model(Seed(Node("Reshape", {"x", "s"}, {"y"}), {wire::IntTensor("s", {2, -1})})),
      wire::Model(Seed(Node("Slice", {"x", "s", "s"}, {"y"}), {wire::IntTensor("s", {0, 1})})),
      wire::Model(Seed(Node("Resize", {"x", "", "s"}, {"y"}, wire::TextAttr("mode", "linear")),
                       {wire::FloatTensor("s", {4}, {1, 1, 2, 2})})),
      wire::Model(Seed(Node("Split", {"x"}, {"y", "b"}, wire::IntAttr("axis", 2)), {}), 13),
      wire::Model(Seed(Node("Softmax", {"x"}, {"y"}, wire::IntAttr("axis", 1)), {}), 11),
      wire::Model(Seed(Node("NonZero", {"x"}, {"y"}), {})),
      wire::Model(Seed(Node("Unique", {"x"}, {"y"}, wire::IntAttr("axis", 1)), {})),
      wire::Model(Seed(Node("DepthToSpace", {"x"}, {"y"}, wire::IntAttr("blocksize", 1)), {})),
      SequenceSeed(),
      LoopSeed(),
  };
}

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds = OwnSeeds();
  const char* const root = std::getenv("MLC_ONNX_TESTS");
  if (root == nullptr) return seeds;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().filename() != "model.onnx" || entry.file_size() > 4096) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return seeds;
}

// One to four damages.
std::string Damage(std::string bytes, const std::vector<std::string>& seeds, Rng& rng) {
  for (uint64_t left = 1 + rng.Below(4); left > 0 && !bytes.empty(); --left) {
    const size_t at = rng.Below(bytes.size());
    const size_t length = 1 + rng.Below(std::min<size_t>(bytes.size() - at, 16));
    switch (rng.Below(6)) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << rng.Below(8)));
        break;
      case 1:
        bytes[at] = static_cast<char>(rng.Next());
        break;
      case 2:
        bytes.erase(at, length);
        break;
      case 3:
        bytes.insert(at, bytes.substr(at, length));
        break;
      case 4:
        bytes.replace(at, length, length, static_cast<char>(rng.Below(2) == 0 ? 0xff : 0x7f));
        break;
      default: {
        const std::string& other = seeds[rng.Below(seeds.size())];
        const size_t from = rng.Below(other.size());
        bytes.replace(at, length, other.substr(from, length));
      }
    }
  }
  return bytes;
}

TEST(OnnxFuzz, DamagedModelsAreRefusedInOneLine) {
  const std::vector<std::string> seeds = Seeds();
  const TempFolder folder;
  Rng rng(20240607);
  constexpr int kIterations = 6000;
  ImportOptions options;
  options.bounded_shapes = true;
  int imported = 0;
  for (int i = 0; i < kIterations; ++i) {
    SCOPED_TRACE(i);
    const std::string bytes = Damage(seeds[rng.Below(seeds.size())], seeds, rng);
    const Result<Graph> graph = ImportOnnx(folder.Write("model.onnx", bytes), options);
    imported += graph.ok() ? 1 : 0;
    if (graph.ok()) continue;
    EXPECT_FALSE(graph.status().message().empty());
    EXPECT_EQ(graph.status().message().find('\n'), std::string::npos);
    EXPECT_NE(graph.status().code(), StatusCode::kInternal) << graph.status().ToString();
  }
  // Both kinds must occur, or the damages are too strong or too weak.
  EXPECT_GT(imported, kIterations / 75);
  EXPECT_LT(imported, kIterations);
}

TEST(OnnxFuzz, SeedsAreValid) {
  const TempFolder folder;
  ImportOptions options;
  options.bounded_shapes = true;
  for (const std::string& seed : OwnSeeds()) {
    const Result<Graph> graph = ImportOnnx(folder.Write("model.onnx", seed), options);
    EXPECT_TRUE(graph.ok()) << graph.status().ToString();
  }
}

}  // namespace
}  // namespace mlc::graph::onnx
