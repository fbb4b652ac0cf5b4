#include "compiler/schedule/cuda/tensor/byte_output.h"

#include <map>

namespace mlc::schedule {

using ir::ExprRef;
using ir::Int;

namespace {

constexpr int kHalves = 2;  // of a fragment: rows t / 4, and 8 below
constexpr int kHalfRows = 8;

}  // namespace

ByteOutput::ByteOutput(const graph::Workload& workload, const GpuContraction& g,
                       const TensorPlan& plan, ir::BufferId tiles, TileOutput& output, Fused& fused,
                       ir::KernelBuilder& b)
    : workload_(workload), g_(g), plan_(plan), output_(output), fused_(fused), b_(b) {
  const DType dtype = workload.graph()[workload.outputs()[0]].type.dtype;
  const int64_t size = plan.bm * plan.result_pitch();
  results_ = plan.guest ? b.SharedMemory("results", dtype, size)
                        : b.SharedMemory("results", dtype, size, tiles);
  column_ = b.Registers("column", dtype, 2, int64_t{kHalves} * plan.row_tiles());
  fold_ = b.Thread("results_of", plan.sum_dtype(), 4);
}

void ByteOutput::ForPieces(const TileOutput::Place& place,
                           const std::function<void(const Piece&)>& body) {
  const int64_t per_row = plan_.bn / kBytesOfPiece, total = per_row * plan_.bm;
  const int64_t threads = plan_.threads();
  b_.Unrolled("piece", (total + threads - 1) / threads, [&](const ExprRef& number) {
    const ExprRef index = b_.Let("index", number * threads + place.thread);
    const ExprRef row = b_.Let("row_in", ir::FloorDiv(index, per_row));
    const ExprRef column = b_.Let("column_in", ir::Mod(index, per_row) * kBytesOfPiece);
    const auto one = [&] {
      ExprRef inside = output_.RowInside(place, row, plan_.bm);
      if (g_.n % plan_.bn != 0) inside = And(inside, Less(place.n + column, g_.n));
      body({b_.Let("at", row * plan_.result_pitch() + column),
            output_.PointAt(place, row, column, kBytesOfPiece), inside});
    };
    if (total % threads != 0) {
      b_.If(Less(index, total), one);
    } else {
      one();
    }
  });
}

void ByteOutput::Fetch(const TileOutput::Place& place) {
  if (!plan_.guest) return;
  const int guest = *g_.results.guest;
  const graph::ValueId id = workload_.operands()[static_cast<size_t>(guest)];
  const graph::TensorType& type = workload_.graph()[id].type;
  ForPieces(place, [&](const Piece& piece) {
    b_.CopyAsync(results_, piece.at, fused_.OperandBuffer(guest),
                 fused_.Offset(type, piece.point.at), kBytesOfPiece,
                 piece.inside ? LanesIf(piece.inside, kBytesOfPiece) : nullptr);
  });
}

// All of a column's results are ready before one is stored, so that what the column needs is loaded
// once. Rows outside are computed too, and not stored: of zeros, where there is a guest.
void ByteOutput::Fill(ir::BufferId sums, const TileOutput::Place& place, const Warp& warp) {
  const graph::ValueId output = workload_.outputs()[0];
  const DType dtype = workload_.graph()[output].type.dtype;
  const ExprRef first_row = b_.Let("fragment_row", warp.row + ir::FloorDiv(warp.lane, 4));
  const ExprRef first_column = b_.Let("fragment_column", warp.column + ir::Mod(warp.lane, 4) * 2);
  const ExprRef first = b_.Let("results_at", first_row * plan_.result_pitch() + first_column);
  const auto at = [&](int tile, int half, int j) {
    return first + ((int64_t{16} * tile + kHalfRows * half) * plan_.result_pitch() + 8 * j);
  };
  const auto fill = [&](int j) {
    for (int tile = 0; tile < plan_.row_tiles(); ++tile) {
      b_.Store(fold_, Int(0), b_.Get(sums, Int(tile * plan_.column_tiles() + j)));
      for (int half = 0; half < kHalves; ++half) {
        std::map<graph::ValueId, ExprRef> given = {{g_.p.anchor, b_.Load(fold_, Int(half * 2), 2)}};
        if (plan_.guest) {
          const auto guest = static_cast<size_t>(*g_.results.guest);
          given[workload_.operands()[guest]] = b_.Load(results_, at(tile, half, j), 2);
        }
        const ExprRef in_tile = first_row + (int64_t{16} * tile + kHalfRows * half);
        const Point point = output_.PointAt(place, in_tile, first_column + int64_t{8} * j, 2);
        b_.Set(column_, Int(tile * kHalves + half),
               ir::MakeCast(dtype, fused_.Emit(output, point, given)));
      }
    }
    for (int i = 0; i < plan_.row_tiles() * kHalves; ++i) {
      b_.Store(results_, at(i / kHalves, i % kHalves, j), b_.Get(column_, Int(i)));
    }
  };
  for (int j = 0; j < plan_.column_tiles(); ++j) {
    if (g_.n % plan_.bn == 0) {
      fill(j);
    } else {
      b_.If(Less(place.n + first_column + int64_t{8} * j, g_.n), [&] { fill(j); });
    }
  }
}

void ByteOutput::Finish(ir::BufferId sums, const TileOutput::Place& place, const Warp& warp) {
  Fill(sums, place, warp);
  b_.Barrier();
  ForPieces(place, [&](const Piece& piece) {
    const auto store = [&] {
      fused_.Store(0, piece.point, b_.Load(results_, piece.at, kBytesOfPiece));
    };
    if (piece.inside) {
      b_.If(piece.inside, store);
    } else {
      store();
    }
  });
}

}  // namespace mlc::schedule
