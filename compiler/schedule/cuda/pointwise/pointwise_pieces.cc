#include "compiler/schedule/cuda/pointwise/pointwise_pieces.h"

#include <algorithm>
#include <functional>

#include "base/ceil_div.h"
#include "compiler/schedule/cuda/tile/gpu_launch.h"
#include "compiler/schedule/fusion/fused_rows.h"

namespace mlc::schedule::gpu {

using graph::Op;
using graph::TensorType;
using graph::Value;
using graph::ValueId;
using ir::ExprRef;

namespace {

// Bytes of the widest operand or output that a thread's vector may span.
constexpr int kMaxVectorBytes = 64;
constexpr int kAccessBytes = 16;
// Of all pieces' tiles.
constexpr int64_t kMaxBlockBytes = 49152;

const TensorType& OutputType(const Piece& piece, size_t i = 0) {
  return piece.part.graph()[piece.part.outputs()[i]].type;
}

bool VectorisesAlong(const Piece& piece, int dim, int lanes) {
  return std::all_of(piece.part.outputs().begin(), piece.part.outputs().end(), [&](ValueId output) {
    return Fused::Vectorises(piece.part, output, dim, lanes);
  });
}

// True if vectors of `lanes` along `column` begin at multiples of their size in storage.
bool Aligned(const TensorType& type, int64_t offset, int column, int lanes) {
  const std::vector<int64_t> strides = type.EffectiveStrides();
  bool aligned = offset % lanes == 0;
  for (int d = 0; d < type.rank(); ++d) {
    const size_t k = static_cast<size_t>(d);
    if (d != column && type.dims[k] != 1) aligned = aligned && strides[k] % lanes == 0;
  }
  return aligned;
}

// Operands that are contiguous along `across`, of the outputs' own dims.
std::vector<ValueId> StagedOf(const Piece& piece, int across) {
  std::vector<ValueId> staged;
  const size_t inner = static_cast<size_t>(piece.order.back());
  for (ValueId id = 0; id < piece.part.graph().size(); ++id) {
    const Value& node = piece.part.graph()[id];
    if (node.op != Op::kView || node.type.dims != OutputType(piece).dims) continue;
    const std::vector<int64_t> strides = node.type.EffectiveStrides();
    if (strides[static_cast<size_t>(across)] == 1 && strides[inner] > 1) staged.push_back(id);
  }
  return staged;
}

// Elements between rows of a tile: an odd number of banks.
int64_t Pitch(int tile, DType dtype) { return tile + std::max(1, 4 / SizeOf(dtype)); }

class PieceEmitter {
 public:
  PieceEmitter(ir::KernelBuilder& builder, Fused& fused, const Piece& piece, const PiecePlan& plan)
      : builder_(builder), fused_(fused), piece_(piece), plan_(plan), type_(OutputType(piece)) {
    at_.assign(type_.dims.size(), ir::Int(0));
  }

  void Run(const ExprRef& block, const ExprRef& thread) {
    if (plan_.column < 0) {
      builder_.If(Less(thread, ir::Int(1)), [&] {
        fused_.StoreOutputs({at_, -1, 1, nullptr}, {});
      });
      return;
    }
    if (plan_.points == 0) return;
    const int64_t step = int64_t{plan_.threads} * plan_.unroll;
    const ExprRef first = block * step + thread;
    const auto all = [&](bool guarded) {
      builder_.Unrolled("j", plan_.unroll, [&](const ExprRef& j) {
        const ExprRef index = builder_.Let("n", first + j * int64_t{plan_.threads});
        if (!guarded) return Vector(index);
        builder_.If(Less(index, ir::Int(plan_.points)), [&] { Vector(index); });
      });
    };
    if (plan_.points % step == 0) return all(false);
    if (plan_.unroll == 1 || plan_.blocks == 1) return all(true);
    builder_.If(
        Less(block, ir::Int(plan_.blocks - 1)), [&] { all(false); }, [&] { all(true); });
  }

  void RunTiled(const std::vector<ir::BufferId>& tiles, const ExprRef& block,
                const ExprRef& thread) {
    const int64_t tile = plan_.tile;
    const size_t column = static_cast<size_t>(plan_.column);
    const size_t across = static_cast<size_t>(plan_.across);
    const int64_t across_tiles = CeilDiv(type_.dims[across], tile);
    const int64_t column_tiles = CeilDiv(plan_.columns, tile);
    const ExprRef a0 = builder_.Let("a0", ir::Mod(block, across_tiles) * tile);
    const ExprRef rest = builder_.Let("rest", ir::FloorDiv(block, across_tiles));
    const ExprRef c0 = builder_.Let("c0", ir::Mod(rest, column_tiles) * tile);
    SetRow(builder_, builder_.Let("row", ir::FloorDiv(rest, column_tiles)), plan_.outer, type_.dims,
           at_);
    // Vectors of `lanes` along one edge; neighbours in a warp follow it.
    const auto sweep = [&](int lanes, const std::function<void(ExprRef edge, ExprRef row)>& body) {
      const int64_t edge = tile / lanes;
      const int64_t total = edge * tile;
      builder_.Unrolled("q", CeilDiv(total, plan_.threads), [&](const ExprRef& q) {
        const ExprRef n = q * int64_t{plan_.threads} + thread;
        const auto one = [&] {
          body(builder_.Let("e", ir::Mod(n, edge)) * int64_t{lanes},
               builder_.Let("r", ir::FloorDiv(n, edge)));
        };
        if (total % plan_.threads == 0) return one();
        builder_.If(Less(n, ir::Int(total)), one);
      });
    };
    sweep(plan_.load_lanes, [&](const ExprRef& a, const ExprRef& c) {
      Inside(a0 + a, across, c0 + c, column, [&] { Stage(tiles, a, c); });
    });
    builder_.Barrier();
    sweep(plan_.lanes, [&](const ExprRef& c, const ExprRef& a) {
      Inside(a0 + a, across, c0 + c, column, [&] { Unstage(tiles, a, c); });
    });
  }

 private:
  void Vector(const ExprRef& index) {
    const int64_t vectors = CeilDiv(plan_.columns, plan_.lanes);
    const ExprRef v = vectors == plan_.points ? index : builder_.Let("v", ir::Mod(index, vectors));
    const ExprRef row =
        vectors == plan_.points ? ir::Int(0) : builder_.Let("row", ir::FloorDiv(index, vectors));
    SetRow(builder_, row, plan_.outer, type_.dims, at_);
    at_[static_cast<size_t>(plan_.column)] = v * int64_t{plan_.lanes};
    Point point{at_, plan_.lanes > 1 ? plan_.column : -1, plan_.lanes, nullptr};
    const int64_t tail = plan_.columns % plan_.lanes;
    if (tail == 0) return fused_.StoreOutputs(point, {});
    builder_.If(
        Less(v, ir::Int(vectors - 1)), [&] { fused_.StoreOutputs(point, {}); },
        [&] {
          point.active = ir::Int(tail);
          fused_.StoreOutputs(point, {});
        });
  }

  void Inside(const ExprRef& a, size_t across, const ExprRef& c, size_t column,
              const std::function<void()>& body) {
    at_[across] = a;
    at_[column] = c;
    ExprRef condition;
    const auto require = [&](const ExprRef& x, int64_t size) {
      if (size % plan_.tile == 0) return;
      const ExprRef inside = Less(x, ir::Int(size));
      condition = condition ? Do(ScalarOp::kAnd, condition, inside) : inside;
    };
    require(a, type_.dims[across]);
    require(c, plan_.columns);
    if (!condition) return body();
    builder_.If(condition, body);
  }

  void Stage(const std::vector<ir::BufferId>& tiles, const ExprRef& a, const ExprRef& c) {
    const int lanes = plan_.load_lanes;
    const Point point{at_, lanes > 1 ? plan_.across : -1, lanes, nullptr};
    for (size_t i = 0; i < tiles.size(); ++i) {
      const DType dtype = piece_.part.graph()[plan_.staged[i]].type.dtype;
      ExprRef value = fused_.Emit(plan_.staged[i], point);
      if (value->type.dtype != dtype) value = ir::MakeCast(dtype, value);
      builder_.Store(tiles[i], c * Pitch(plan_.tile, dtype) + a, value);
    }
  }

  void Unstage(const std::vector<ir::BufferId>& tiles, const ExprRef& a, const ExprRef& c) {
    std::map<ValueId, ExprRef> bound;
    for (size_t i = 0; i < tiles.size(); ++i) {
      const DType dtype = piece_.part.graph()[plan_.staged[i]].type.dtype;
      const int64_t pitch = Pitch(plan_.tile, dtype);
      const ExprRef value =
          builder_.Load(tiles[i], c * pitch + a, plan_.lanes, plan_.lanes > 1 ? pitch : 1);
      const DType compute = ComputeType(dtype);
      bound[plan_.staged[i]] = compute == dtype ? value : ir::MakeCast(compute, value);
    }
    fused_.StoreOutputs({at_, plan_.lanes > 1 ? plan_.column : -1, plan_.lanes, nullptr}, bound);
  }

  ir::KernelBuilder& builder_;
  Fused& fused_;
  const Piece& piece_;
  const PiecePlan& plan_;
  const TensorType& type_;
  std::vector<ExprRef> at_;
};

void PlanTile(const Piece& piece, int tile, PiecePlan& plan) {
  const int across = AcrossOf(piece);
  if (tile == 0 || across < 0) return;
  const TensorType& type = OutputType(piece);
  const int64_t size = type.dims[static_cast<size_t>(across)];
  if (plan.columns % plan.lanes != 0 || tile % plan.lanes != 0) return;
  plan.staged = StagedOf(piece, across);
  if (plan.staged.empty()) return;
  plan.across = across;
  plan.tile = tile;
  plan.load_lanes = kAccessBytes;
  for (ValueId id : plan.staged) {
    const Value& view = piece.part.graph()[id];
    plan.load_lanes = std::min(plan.load_lanes, kAccessBytes / SizeOf(view.type.dtype));
    while (plan.load_lanes > 1 &&
           (size % plan.load_lanes != 0 ||
            !Aligned(view.type, view.Int("offset"), across, plan.load_lanes) ||
            !Fused::Vectorises(piece.part, id, across, plan.load_lanes))) {
      plan.load_lanes /= 2;
    }
    plan.block_bytes += tile * Pitch(tile, view.type.dtype) * SizeOf(view.type.dtype);
  }
  std::erase(plan.outer, across);
  plan.blocks = RowCount(plan.outer, type.dims) * CeilDiv(size, tile) * CeilDiv(plan.columns, tile);
}

std::vector<ir::BufferId> DeclareTiles(ir::KernelBuilder& builder, const Piece& piece,
                                       const PiecePlan& plan) {
  std::vector<ir::BufferId> tiles;
  for (ValueId id : plan.staged) {
    const DType dtype = piece.part.graph()[id].type.dtype;
    tiles.push_back(builder.SharedMemory("tile", dtype, plan.tile * Pitch(plan.tile, dtype)));
  }
  return tiles;
}

void EmitPiece(ir::KernelBuilder& builder, Fused& fused, const Piece& piece, const PiecePlan& plan,
               const std::vector<ir::BufferId>& tiles, const ExprRef& block,
               const ExprRef& thread) {
  PieceEmitter emitter(builder, fused, piece, plan);
  if (plan.tile > 0) {
    emitter.RunTiled(tiles, block, thread);
  } else {
    emitter.Run(block, thread);
  }
}

}  // namespace

int WidestLanes(const Piece& piece) {
  if (piece.order.empty()) return 1;
  int smallest = 8;
  int widest = 1;
  const auto count = [&](DType dtype) {
    smallest = std::min(smallest, SizeOf(dtype));
    widest = std::max(widest, SizeOf(ComputeType(dtype)));
  };
  for (size_t i = 0; i < piece.outputs.size(); ++i) count(OutputType(piece, i).dtype);
  for (ValueId id : piece.part.operands()) count(piece.part.graph()[id].type.dtype);
  const int column = piece.order.back();
  const int64_t columns = OutputType(piece).dims[static_cast<size_t>(column)];
  const bool one_row = columns == OutputType(piece).NumElements();
  const auto fits = [&](int lanes) {
    if (lanes > columns || (!one_row && columns % lanes != 0)) return false;
    for (size_t i = 0; i < piece.outputs.size(); ++i) {
      if (!Aligned(OutputType(piece, i), piece.offsets[i], column, lanes)) return false;
    }
    return VectorisesAlong(piece, column, lanes);
  };
  int lanes = std::min(kAccessBytes / smallest, kMaxVectorBytes / widest);
  while (lanes > 1 && !fits(lanes)) lanes /= 2;
  return lanes;
}

int AcrossOf(const Piece& piece) {
  if (!piece.affine || piece.order.size() < 2) return -1;
  const size_t inner = static_cast<size_t>(piece.order.back());
  for (ValueId id = 0; id < piece.part.graph().size(); ++id) {
    const Value& node = piece.part.graph()[id];
    if (node.op != Op::kView || node.type.dims != OutputType(piece).dims) continue;
    const std::vector<int64_t> strides = node.type.EffectiveStrides();
    if (strides[inner] <= 1 || node.type.dims[inner] == 1) continue;
    for (size_t d = 0; d < strides.size(); ++d) {
      if (strides[d] == 1 && node.type.dims[d] > 1) return static_cast<int>(d);
    }
  }
  return -1;
}

PiecePlan PlanPiece(const Piece& piece, const PieceKnobs& knobs) {
  PiecePlan plan;
  plan.threads = knobs.threads;
  if (piece.order.empty()) return plan;
  const TensorType& type = OutputType(piece);
  plan.column = piece.order.back();
  plan.columns = type.dims[static_cast<size_t>(plan.column)];
  plan.outer.assign(piece.order.begin(), piece.order.end() - 1);
  plan.lanes = std::min(WidestLanes(piece), knobs.lanes);
  plan.points = RowCount(plan.outer, type.dims) * CeilDiv(plan.columns, plan.lanes);
  plan.unroll =
      static_cast<int>(std::clamp<int64_t>(CeilDiv(plan.points, plan.threads), 1, knobs.unroll));
  plan.blocks = std::max<int64_t>(1, CeilDiv(plan.points, int64_t{plan.threads} * plan.unroll));
  if (plan.points > 0) PlanTile(piece, knobs.tile, plan);
  return plan;
}

PieceBlocks::PieceBlocks(ir::KernelBuilder& builder, const Fused& whole,
                         const std::vector<Piece>& pieces, const PieceKnobs& knobs)
    : builder_(builder), whole_(whole), pieces_(pieces) {
  int64_t block_bytes = 0;
  for (const Piece& piece : pieces) {
    plans_.push_back(PlanPiece(piece, knobs));
    if (block_bytes + plans_.back().block_bytes > kMaxBlockBytes) {
      PieceKnobs flat = knobs;
      flat.tile = 0;
      plans_.back() = PlanPiece(piece, flat);
    }
    block_bytes += plans_.back().block_bytes;
    blocks_ += plans_.back().blocks;
    tiles_.push_back(DeclareTiles(builder, piece, plans_.back()));
  }
}

void PieceBlocks::Emit(const ExprRef& block, const ExprRef& thread) {
  if (!pieces_.empty()) EmitFrom(0, 0, block, thread);
}

// A chain of conditions on the block's number; the last piece needs none.
void PieceBlocks::EmitFrom(size_t i, int64_t first, const ExprRef& block, const ExprRef& thread) {
  const auto body = [&] {
    Fused part(pieces_[i].part, builder_, whole_, pieces_[i].operands, pieces_[i].outputs,
               pieces_[i].offsets);
    EmitPiece(builder_, part, pieces_[i], plans_[i], tiles_[i], builder_.Let("k", block - first),
              thread);
  };
  if (i + 1 == pieces_.size()) return body();
  const int64_t end = first + plans_[i].blocks;
  builder_.If(Less(block, ir::Int(end)), body, [&] { EmitFrom(i + 1, end, block, thread); });
}

void EmitPieces(ir::KernelBuilder& builder, const Fused& whole, const std::vector<Piece>& pieces,
                const PieceKnobs& knobs) {
  PieceBlocks all(builder, whole, pieces, knobs);
  builder.Launch(std::max<int64_t>(1, all.blocks()), knobs.threads, 0,
                 [&](const ExprRef& block, const ExprRef& thread) {
                   BeginLaunch(builder);
                   all.Emit(block, thread);
                 });
}

}  // namespace mlc::schedule::gpu
