#include "compiler/schedule/problem/pointwise_piece.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "compiler/schedule/problem/pointwise_flatten.h"

namespace mlc::schedule {

using graph::Graph;
using graph::Op;
using graph::TensorType;
using graph::Value;
using graph::ValueId;
using graph::Workload;

namespace {

// More pieces than this are not worth their code.
constexpr size_t kMaxPieces = 48;

// One region of an output before it becomes a workload of its own.
struct Region {
  ValueId root = 0;  // stored there; a constant root fills it
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;
  int64_t offset = 0;
};

// Each is false once there are more regions than are worth their code: what a node reads twice is
// cut twice, so a short chain of concatenations has more regions than memory holds.
bool CutRegion(const Graph& graph, const Region& region, std::vector<Region>& out);

bool CutConcat(const Graph& graph, const Region& region, std::vector<Region>& out) {
  const Value& node = graph[region.root];
  const size_t axis = static_cast<size_t>(node.Int("axis"));
  int64_t start = 0;
  for (ValueId operand : node.operands) {
    Region part{operand, graph[operand].type.dims, region.strides,
                region.offset + start * region.strides[axis]};
    start += part.dims[axis];
    if (!CutRegion(graph, part, out)) return false;
  }
  return true;
}

// The inside, and two slabs per padded dimension around what is already covered.
bool CutPad(const Graph& graph, const Region& region, std::vector<Region>& out) {
  const Value& node = graph[region.root];
  const std::vector<int64_t>& pads = node.Ints("pads");
  const size_t rank = region.dims.size();
  Region inside{node.operands[0], graph[node.operands[0]].type.dims, region.strides, region.offset};
  for (size_t d = 0; d < rank; ++d) inside.offset += pads[d] * region.strides[d];
  if (!CutRegion(graph, inside, out)) return false;
  Region slab{region.root, inside.dims, region.strides, inside.offset};
  for (size_t d = 0; d < rank; ++d) {
    slab.offset -= pads[d] * region.strides[d];
    for (const bool after : {false, true}) {
      Region side = slab;
      side.dims[d] = after ? pads[d + rank] : pads[d];
      if (side.dims[d] == 0) continue;
      if (after) side.offset += (pads[d] + inside.dims[d]) * region.strides[d];
      out.push_back(side);
    }
    slab.dims[d] = region.dims[d];
  }
  return out.size() <= kMaxPieces;
}

bool CutRegion(const Graph& graph, const Region& region, std::vector<Region>& out) {
  const Value& node = graph[region.root];
  if (node.op == Op::kConcat) return CutConcat(graph, region, out);
  if (node.op == Op::kPad && node.Word("mode") == "constant" &&
      std::all_of(node.Ints("pads").begin(), node.Ints("pads").end(),
                  [](int64_t pad) { return pad >= 0; })) {
    return CutPad(graph, region, out);
  }
  out.push_back(region);
  return out.size() <= kMaxPieces;
}

bool IsFill(const Graph& graph, const Region& region) {
  return graph[region.root].type.dims != region.dims;
}

// A pad node whose region is a slab: its value, spread over the region.
ValueId AddFill(Graph& graph, const Region& region) {
  const Value& pad = graph[region.root];
  const DType dtype = pad.type.dtype;
  const double value = pad.Float("value");
  Value expand;
  expand.op = Op::kExpand;
  expand.type = {dtype, region.dims, {}};
  expand.operands = {graph.Splat(dtype, value)};
  return graph.Add(std::move(expand));
}

std::vector<int> SourcesOf(const Workload& whole, const Workload& part,
                           const std::vector<ValueId>& renumbering) {
  std::vector<int> result(part.operands().size(), 0);
  for (size_t i = 0; i < whole.operands().size(); ++i) {
    const ValueId id = renumbering[static_cast<size_t>(whole.operands()[i])];
    if (id == graph::kNoValue) continue;
    const auto at = std::find(part.operands().begin(), part.operands().end(), id);
    MLC_CHECK(at != part.operands().end()) << "operand " << i << " lost by flattening";
    result[static_cast<size_t>(at - part.operands().begin())] = static_cast<int>(i);
  }
  return result;
}

Piece MakePiece(const Workload& workload, const std::vector<Region>& regions,
                std::vector<int> outputs) {
  Graph graph = workload.graph();
  graph.outputs().clear();
  std::vector<ValueId> roots;
  std::vector<std::vector<int64_t>> strides;
  Piece piece;
  for (const Region& region : regions) {
    roots.push_back(IsFill(graph, region) ? AddFill(graph, region) : region.root);
    strides.push_back(region.strides);
    piece.offsets.push_back(region.offset);
  }
  piece.outputs = std::move(outputs);
  std::vector<ValueId> renumbering;
  if (std::optional<Graph> flat = Flatten(graph, roots, strides)) {
    Result<Workload> part = Workload::Create(*std::move(flat), workload.tolerance(), &renumbering);
    if (part.ok()) {
      piece.part = *std::move(part);
      piece.affine = true;
    }
  }
  if (!piece.affine) {
    for (size_t i = 0; i < roots.size(); ++i) {
      Value copy;
      copy.op = Op::kCopy;
      copy.operands = {roots[i]};
      copy.type = graph[roots[i]].type;
      copy.type.strides = strides[i];
      graph.outputs().push_back(graph.Add(std::move(copy)));
    }
    Result<Workload> part = Workload::Create(graph, workload.tolerance(), &renumbering);
    MLC_CHECK(part.ok()) << part.status().message();
    piece.part = *std::move(part);
  }
  piece.operands = SourcesOf(workload, piece.part, renumbering);
  piece.order = OrderByStride(piece.part.graph()[piece.part.outputs()[0]].type);
  return piece;
}

}  // namespace

std::vector<int> OrderByStride(const TensorType& type) {
  const std::vector<int64_t> strides = type.EffectiveStrides();
  std::vector<int> order(strides.size());
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](int d) {
    const size_t i = static_cast<size_t>(d);
    return type.dims[i] == 1 ? std::numeric_limits<int64_t>::max() : strides[i];
  };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return key(a) > key(b); });
  return order;
}

Piece PieceOf(const Workload& workload, ValueId value, int output) {
  const ValueId stored = workload.outputs()[static_cast<size_t>(output)];
  const TensorType& type = workload.graph()[stored].type;
  return MakePiece(workload, {{value, type.dims, type.EffectiveStrides(), 0}}, {output});
}

std::vector<Piece> CutPieces(const Workload& workload) {
  const Graph& graph = workload.graph();
  std::vector<std::vector<Region>> cuts;
  size_t total = 0;
  bool together = true;
  for (ValueId output : workload.outputs()) {
    const TensorType& type = graph[output].type;
    cuts.emplace_back();
    const Region whole{output, type.dims, type.EffectiveStrides(), 0};
    if (!CutRegion(graph, whole, cuts.back())) cuts.back() = {whole};
    total += cuts.back().size();
    together =
        together && cuts.back().size() == 1 && type.dims == graph[workload.outputs()[0]].type.dims;
  }
  std::vector<Piece> pieces;
  if (together) {
    std::vector<Region> regions;
    std::vector<int> outputs;
    for (size_t i = 0; i < cuts.size(); ++i) {
      regions.push_back(cuts[i][0]);
      outputs.push_back(static_cast<int>(i));
    }
    pieces.push_back(MakePiece(workload, regions, outputs));
    return pieces;
  }
  pieces.reserve(total);
  for (size_t i = 0; i < cuts.size(); ++i) {
    for (const Region& region : cuts[i]) {
      if (std::find(region.dims.begin(), region.dims.end(), 0) != region.dims.end()) continue;
      pieces.push_back(MakePiece(workload, {region}, {static_cast<int>(i)}));
    }
  }
  return pieces;
}

}  // namespace mlc::schedule
