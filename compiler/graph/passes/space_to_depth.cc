#include "compiler/graph/passes/space_to_depth.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/ceil_div.h"
#include "compiler/graph/passes/rewrite.h"

namespace mlc::graph {

namespace {

using Dims = std::vector<int64_t>;

constexpr int64_t kCopyBytes = 16;
// More channels than this come from a convolution, whose result a copy would cost more.
constexpr int64_t kMaxChannels = 16;
constexpr int64_t kPair = 2;

bool All(const Dims& values, int64_t wanted) {
  return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == wanted; });
}

int64_t Product(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

// The convolution of other operands with a kernel that moves otherwise.
ValueId Convolved(Graph& graph, const Value& conv, ValueId image, const TensorDataRef& weights,
                  Dims strides, Dims pads) {
  Value node = conv;
  node.operands[0] = image;
  node.operands[1] = graph.Constant(weights, graph[conv.operands[1]].name);
  node.attrs["strides"] = std::move(strides);
  node.attrs["pads"] = std::move(pads);
  return AddNode(graph, std::move(node));
}

// `move` applied to x; to what x casts, if it is a cast.
template <typename Move>
ValueId BeforeCast(Graph& graph, ValueId x, const Move& move) {
  if (!IsOp(graph, x, Op::kCast)) return move(x);
  Value cast = graph[x];
  cast.operands = {move(cast.operands[0])};
  return AddNode(graph, std::move(cast));
}

// How a kernel moves along pairs of columns.
struct Pairs {
  int64_t shift = 0;  // zeros before the kernel
  int64_t taps = 0;   // pairs of the kernel
  int64_t before = 0, after = 0;
};

std::optional<Pairs> PairsOf(const Graph& graph, const Value& conv) {
  const TensorType& x = graph[conv.operands[0]].type;
  const int64_t columns = x.dims.back(), kernel = graph[conv.operands[1]].type.dims.back();
  const int64_t stride = conv.Ints("strides").back();
  const int64_t wide = kCopyBytes / SizeOf(x.dtype) / kPair;
  if (SizeOf(x.dtype) != 2 || x.dims[1] > wide || x.dims[1] < wide - 1) return std::nullopt;
  if (stride % kPair != 0 || columns % kPair != 0 || kernel < kPair) return std::nullopt;
  const Dims& pads = conv.Ints("pads");
  const int64_t before = pads[pads.size() / 2 - 1];
  Pairs pairs;
  pairs.before = CeilDiv(before, kPair);
  pairs.shift = kPair * pairs.before - before;
  pairs.taps = CeilDiv(kernel + pairs.shift, kPair);
  // What the last result reads; what it does not read must not make one more result.
  const int64_t end = (conv.type.dims.back() - 1) * (stride / kPair) + pairs.taps;
  pairs.after = std::max<int64_t>(0, end - columns / kPair - pairs.before);
  const int64_t unread = columns / kPair + pairs.before + pairs.after - end;
  if (unread >= stride / kPair) return std::nullopt;
  return pairs;
}

// [O,C,h,w] as [O,2*channels,h,taps]: column 2a+b-shift is tap a of channels b*channels and on.
TensorDataRef WeightsOfPairs(const TensorData& weights, const Pairs& pairs, int64_t channels) {
  const Dims& dims = weights.dims;
  const auto size = static_cast<size_t>(SizeOf(weights.dtype));
  const int64_t columns = dims.back();
  const int64_t rows = Product(dims) / (dims[0] * dims[1] * columns);
  Dims to = dims;
  to[1] = kPair * channels;
  to.back() = pairs.taps;
  std::vector<std::byte> bytes(static_cast<size_t>(Product(to)) * size);
  for (int64_t from = 0; from < Product(dims); ++from) {
    const int64_t column = from % columns + pairs.shift;
    const int64_t row = from / columns % rows;
    const int64_t channel = from / (columns * rows) % dims[1] + column % kPair * channels;
    const int64_t output = from / (columns * rows * dims[1]);
    const int64_t at = ((output * to[1] + channel) * rows + row) * pairs.taps + column / kPair;
    std::memcpy(bytes.data() + static_cast<size_t>(at) * size,
                weights.bytes.data() + static_cast<size_t>(from) * size, size);
  }
  return MakeTensorData(weights.dtype, std::move(to), std::move(bytes));
}

ValueId OfPairs(Graph& graph, const Value& conv, const Pairs& pairs) {
  const TensorType type = graph[conv.operands[0]].type;
  const int64_t channels = kCopyBytes / SizeOf(type.dtype) / kPair;
  const TensorDataRef weights = WeightsOfPairs(*graph[conv.operands[1]].data, pairs, channels);
  Dims split = type.dims;
  split[1] = channels;
  split.back() /= kPair;
  Dims joined = split;
  joined[1] = kPair * channels;
  split.push_back(kPair);
  Dims perm(split.size() - 1);
  std::iota(perm.begin(), perm.end(), 0);
  perm.insert(perm.begin() + 1, static_cast<int64_t>(split.size()) - 1);
  const ValueId padded = PaddedImage(graph, conv.operands[0], channels);
  const ValueId moved = AddTranspose(graph, AddReshape(graph, padded, split), perm);
  Dims strides = conv.Ints("strides"), pads = conv.Ints("pads");
  strides.back() /= kPair;
  pads[pads.size() / 2 - 1] = pairs.before;
  pads.back() = pairs.after;
  return Convolved(graph, conv, AddReshape(graph, moved, joined), weights, std::move(strides),
                   std::move(pads));
}

ValueId AddPad(Graph& graph, ValueId x, int64_t channels) {
  const TensorType& type = graph[x].type;
  if (type.dims[1] == channels) return x;
  Dims pads(2 * type.dims.size(), 0);
  pads[type.dims.size() + 1] = channels - type.dims[1];
  Value pad;
  pad.op = Op::kPad;
  pad.operands = {x};
  pad.attrs["pads"] = std::move(pads);
  return AddNode(graph, std::move(pad));
}

}  // namespace

ValueId PaddedImage(Graph& graph, ValueId x, int64_t channels) {
  return BeforeCast(graph, x, [&](ValueId image) { return AddPad(graph, image, channels); });
}

std::optional<ValueId> SpaceToDepth(Graph& graph, const Value& conv) {
  const TensorType& x = graph[conv.operands[0]].type;
  const bool small = x.NumElements() > 0 && x.dims[1] <= kMaxChannels && IsFloat(x.dtype);
  if (!small || conv.Int("group") != 1 || !All(conv.Ints("dilations"), 1)) return std::nullopt;
  const TensorDataRef& weights = graph[conv.operands[1]].data;
  if (!weights || weights->bytes.empty()) return std::nullopt;
  const std::optional<Pairs> pairs = PairsOf(graph, conv);
  if (!pairs) return std::nullopt;
  return OfPairs(graph, conv, *pairs);
}

}  // namespace mlc::graph
