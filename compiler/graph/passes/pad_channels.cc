#include "compiler/graph/passes/pad_channels.h"

#include <cstring>
#include <optional>
#include <vector>

#include "compiler/graph/image_convolution.h"
#include "compiler/graph/passes/rewrite.h"
#include "compiler/graph/passes/space_to_depth.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph {

namespace {

constexpr int64_t kCopyBytes = 16;
// More channels than this come from a convolution, whose result a copy would cost more.
constexpr int64_t kMaxChannels = 16;
constexpr int64_t kMaxGrowth = 3;

// The channels to pad to; those there are when nothing is to be done.
int64_t PaddedChannels(const Graph& graph, const Value& node) {
  const TensorType& x = graph[node.operands[0]].type;
  const int64_t channels = x.dims[1];
  const int64_t whole = kCopyBytes / SizeOf(x.dtype);
  const int64_t padded = (channels + whole - 1) / whole * whole;
  const bool worthwhile = channels > 0 && channels <= kMaxChannels && node.Int("group") == 1 &&
                          padded < kMaxGrowth * channels && graph[node.operands[1]].data;
  return worthwhile ? padded : channels;
}

bool ReadsImage(const Graph& graph, const Value& node) {
  const Value& filters = graph[node.operands[1]];
  return filters.data && IsImageConvolution(node, graph[node.operands[0]].type, filters.type);
}

// [O,C,k...] with zeros behind each C.
TensorDataRef PaddedWeights(const TensorData& weights, int64_t channels) {
  std::vector<int64_t> dims = weights.dims;
  const auto outputs = static_cast<size_t>(dims[0]);
  if (outputs == 0) return nullptr;
  const size_t row = weights.bytes.size() / outputs;
  const size_t padded_row = row / static_cast<size_t>(dims[1]) * static_cast<size_t>(channels);
  dims[1] = channels;
  std::vector<std::byte> bytes(outputs * padded_row);
  for (size_t o = 0; o < outputs; ++o) {
    std::memcpy(bytes.data() + o * padded_row, weights.bytes.data() + o * row, row);
  }
  return MakeTensorData(weights.dtype, std::move(dims), std::move(bytes));
}

}  // namespace

Result<bool> PadChannels(Graph& graph, bool reads_images) {
  return Rewriter::Run(graph, [&](Rewriter& rewriter, const Value& node) {
    Graph& out = rewriter.out();
    if (node.op != Op::kConv || (reads_images && ReadsImage(out, node))) return out.Add(node);
    if (const std::optional<ValueId> folded = SpaceToDepth(out, node)) return *folded;
    const int64_t channels = PaddedChannels(out, node);
    if (channels == out[node.operands[0]].type.dims[1]) return out.Add(node);
    const TensorDataRef weights = PaddedWeights(*out[node.operands[1]].data, channels);
    if (!weights) return out.Add(node);
    Value padded = node;
    padded.operands = {PaddedImage(out, node.operands[0], channels),
                       out.Constant(weights, out[node.operands[1]].name)};
    return AddNode(out, std::move(padded));
  });
}

}  // namespace mlc::graph
