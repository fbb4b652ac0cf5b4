#include "compiler/schedule/cuda/tensor/tensor_operand.h"

#include <algorithm>

namespace mlc::schedule {

using ir::ExprRef;
using ir::Int;

TensorOperand::TensorOperand(const GpuContraction& g, const TensorPlan& plan,
                             const TensorTile& tile, int64_t base, ir::BufferId global,
                             ir::BufferId tiles, ir::KernelBuilder& b)
    : g_(g), plan_(plan), tile_(tile), base_(base), global_(global), tiles_(tiles), b_(b) {
  const bool row = tile.side == Side::kRow;
  // They copy no elements, and multiply no fragments of columns.
  if (plan.warpgroups && !(row && plan.splits_rows())) return;
  const DType dtype = row ? g.p.row_dtype : g.p.column_dtype;
  const int extent = row ? plan.warp_rows() : plan.warp_columns();
  tiles_of_warp_ = row ? extent / 16 : extent / 8;
  int lanes = tile.chunk();
  if (tile.narrow()) {
    fragments_ = extent / 16;
  } else if (row) {
    fragments_ = tiles_of_warp_ * 2;
    lanes = 4;
  } else {
    // One fragment holds both halves of a unit unless it is gathered by the element.
    const bool across = tile.mode == TileMode::kAcross;
    fragments_ = across ? tiles_of_warp_ * 2 : tiles_of_warp_;
    lanes = across ? 2 : 4;
  }
  high_ = b.Registers(row ? "a" : "b", dtype, lanes, plan.sets() * fragments_);
  if (plan.math == TensorMath::kTf32x3 && !plan.warpgroups) {
    low_ = b.Registers(row ? "a_low" : "b_low", plan.dtype, lanes, fragments_);
  }
  if (Fetches()) {
    const int64_t count = std::max<int64_t>(1, int64_t{tile.extent} * tile.bk / plan.threads());
    fetched_ = b.Registers("fetched", dtype, 1, count);
  }
}

ExprRef TensorOperand::Clamped(const ExprRef& x) const {
  return Limit() % tile_.extent == 0 ? x : ir::Min(x, Int(Limit() - 1));
}

void TensorOperand::PlaceCopies(const ExprRef& thread, const ExprRef& first, const ExprRef& offset,
                                const ExprRef& panel) {
  thread_ = thread;
  offset_ = offset;
  parts_.clear();
  switch (tile_.mode) {
    case TileMode::kPacked:
      return PlacePacked(panel);
    case TileMode::kAlongK:
      return PlaceAlongK(first);
    case TileMode::kAcross:
      return PlaceAcross(first);
    case TileMode::kElements:
      return PlaceElements(first);
  }
}

void TensorOperand::PlacePacked(const ExprRef& panel) {
  const int64_t tile = tile_.elements;
  offset_ = b_.Let("panel", panel * (plan_.k_steps * tile) + thread_ * tile_.chunk());
  const int64_t total = tile / tile_.chunk();
  for (int64_t at = 0; at < total; at += plan_.threads()) {
    Part part;
    part.to = thread_ * tile_.chunk() + at * tile_.chunk();
    part.from.offset = Int(at * tile_.chunk());
    if (at + plan_.threads() > total) part.active = Less(thread_, total - at);
    parts_.push_back(part);
  }
}

namespace {

// Where run `run` of row x lies in the row.
ExprRef InRow(ir::KernelBuilder& b, const TensorTile& tile, const ExprRef& x, const ExprRef& run) {
  const int64_t chunk = tile.chunk(), runs = chunk / tile.run;
  const ExprRef piece = runs == 1 ? run : ir::FloorDiv(run, runs);
  const ExprRef at = Swizzled(b, x, piece, tile.bk / chunk) * chunk;
  return runs == 1 ? at : at + ir::Mod(run, runs) * tile.run;
}

}  // namespace

void TensorOperand::PlaceAlongK(const ExprRef& first) {
  const int64_t per_row = tile_.bk / tile_.run;
  const int64_t step = plan_.threads() / per_row;
  const ExprRef column = b_.Let("chunk_k", ir::Mod(thread_, per_row));
  const ExprRef row = b_.Let("chunk_x", ir::FloorDiv(thread_, per_row));
  depth_at_ = b_.Let("k_in", column * tile_.run);
  for (int64_t at = 0; at < tile_.extent; at += step) {
    Part part;
    const ExprRef x = row + at;
    part.from = PlaceCross(b_, g_, tile_.side, b_.Let("x", Clamped(first + x)));
    part.to = b_.Let("to", x * tile_.bk + InRow(b_, tile_, x, column));
    if (at + step > tile_.extent) part.active = Less(row, tile_.extent - at);
    parts_.push_back(part);
  }
}

void TensorOperand::PlaceAcross(const ExprRef& first) {
  const int chunk = tile_.chunk();
  const int64_t per_row = tile_.extent / chunk;
  const int64_t total = per_row * tile_.bk;
  for (int64_t at = 0; at < total; at += plan_.threads()) {
    Part part;
    const ExprRef index = thread_ + at;
    const ExprRef column = b_.Let("chunk_x", ir::Mod(index, per_row));
    part.k = b_.Let("k_in", ir::FloorDiv(index, per_row));
    const ExprRef x = b_.Let("x", first + column * chunk);
    part.from.offset = x;
    if (Limit() % chunk != 0) {
      part.mask = b_.Let("inside", ir::Max(Int(0), ir::Min(Int(chunk), Int(Limit()) - x)));
    } else if (Limit() % tile_.extent != 0) {
      part.mask = b_.Let("inside", LanesIf(Less(x, Limit()), chunk));
    }
    part.to = b_.Let("to", tile_.bytes == 2
                               ? part.k * tile_.extent + Swizzled(b_, part.k, column, per_row) * 8
                               : part.k * tile_.pitch() + column * chunk);
    if (at + plan_.threads() > total) part.active = Less(thread_, total - at);
    parts_.push_back(part);
  }
}

// Neighbouring threads take neighbouring rows or columns.
void TensorOperand::PlaceElements(const ExprRef& first) {
  const int threads = plan_.threads();
  const int64_t wide = std::min(threads, tile_.extent);
  const int64_t k_step = std::max(1, threads / tile_.extent);
  const int64_t chunk = tile_.chunk();
  const ExprRef x_in = b_.Let("x_in", ir::Mod(thread_, wide));
  const ExprRef k_in = b_.Let("k_in", ir::FloorDiv(thread_, wide));
  std::vector<CrossPlace> places;
  for (int64_t at = 0; at < tile_.extent; at += wide) {
    places.push_back(PlaceCross(b_, g_, tile_.side, b_.Let("x", Clamped(first + x_in + at))));
  }
  for (int64_t k_at = 0; k_at < tile_.bk; k_at += k_step) {
    const ExprRef k = b_.Let("k_at", k_in + k_at);
    for (int64_t at = 0; at < tile_.extent; at += wide) {
      Part part;
      part.from = places[static_cast<size_t>(at / wide)];
      part.k = k;
      const ExprRef x = x_in + at;
      part.to = b_.Let(
          "to", tile_.bytes == 2
                    ? k * tile_.extent + Swizzled(b_, k, ir::FloorDiv(x, 8), tile_.extent / 8) * 8 +
                          ir::Mod(x, 8)
                    : x * tile_.bk +
                          Swizzled(b_, x, ir::FloorDiv(k, chunk), tile_.bk / chunk) * chunk +
                          ir::Mod(k, chunk));
      if (k_step > tile_.bk) part.active = Less(k_in, tile_.bk);
      parts_.push_back(part);
    }
  }
}

void TensorOperand::Copy(const ExprRef& step, const ExprRef& stage) {
  if (Fetches()) return;
  const int chunk = tile_.chunk();
  const ExprRef to = stage + base_;
  const auto when = [&](const ExprRef& active, const std::function<void()>& body) {
    if (active) {
      b_.If(active, body);
    } else {
      body();
    }
  };
  switch (tile_.mode) {
    case TileMode::kPacked: {
      const ExprRef from = b_.Let("from", offset_ + step * tile_.elements);
      for (const Part& part : parts_) {
        when(part.active,
             [&] { b_.CopyAsync(tiles_, to + part.to, global_, from + part.from.offset, chunk); });
      }
      return;
    }
    case TileMode::kAlongK:
      return CopyAlongK(step, to);
    case TileMode::kAcross:
      return CopyAcross(step, to);
    case TileMode::kElements:
      ForElements(step, [&](size_t i, const ExprRef& from, const ExprRef& inside) {
        when(parts_[i].active, [&] {
          b_.CopyAsync(tiles_, to + parts_[i].to, global_, from, 1,
                       inside ? LanesIf(inside, 1) : nullptr);
        });
      });
  }
}

void TensorOperand::CopyAlongK(const ExprRef& step, const ExprRef& to) {
  const int chunk = tile_.run;
  const ExprRef k = b_.Let("k", step * int64_t{tile_.bk} + depth_at_);
  const DepthPlace depth = PlaceDepth(b_, g_, k);
  const ExprRef from = b_.Let("from", offset_ + DepthOffset(g_, tile_.side, depth));
  // A run may begin inside and end outside only where k is all of one tap.
  const bool ragged = g_.k % chunk != 0;
  const ExprRef in_depth = ragged || g_.k % tile_.bk == 0 ? nullptr : Less(k, g_.k);
  const ExprRef reach =
      ragged ? b_.Let("reach", ir::Max(Int(0), ir::Min(Int(chunk), Int(g_.k) - k))) : Int(chunk);
  for (const Part& part : parts_) {
    const ExprRef inside = And(in_depth, TapInside(g_, tile_.side, part.from, depth));
    ExprRef mask = ragged ? reach : nullptr;
    if (inside) mask = ir::MakeApply(ScalarOp::kSelect, {inside, reach, Int(0)});
    const auto copy = [&] {
      b_.CopyAsync(tiles_, to + part.to, global_, from + part.from.offset, chunk, mask);
    };
    if (part.active) {
      b_.If(part.active, copy);
    } else {
      copy();
    }
  }
}

void TensorOperand::CopyAcross(const ExprRef& step, const ExprRef& to) {
  const int64_t stride = tile_.side == Side::kRow ? g_.p.row_k_stride : g_.p.column_k_stride;
  for (const Part& part : parts_) {
    const ExprRef k = step * int64_t{tile_.bk} + part.k;
    ExprRef mask = part.mask;
    if (g_.k % tile_.bk != 0) {
      const ExprRef all = mask ? mask : Int(tile_.chunk());
      mask = ir::MakeApply(ScalarOp::kSelect, {Less(k, g_.k), all, Int(0)});
    }
    const auto copy = [&] {
      b_.CopyAsync(tiles_, to + part.to, global_, offset_ + part.from.offset + k * stride,
                   tile_.chunk(), mask);
    };
    if (part.active) {
      b_.If(part.active, copy);
    } else {
      copy();
    }
  }
}

void TensorOperand::ForElements(
    const ExprRef& step, const std::function<void(size_t, const ExprRef&, const ExprRef&)>& body) {
  ExprRef last;
  DepthPlace depth;
  ExprRef from, in_depth;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    if (part.k != last) {
      last = part.k;
      const ExprRef k = b_.Let("k", step * int64_t{tile_.bk} + part.k);
      depth = PlaceDepth(b_, g_, k);
      from = b_.Let("from", offset_ + DepthOffset(g_, tile_.side, depth));
      in_depth = g_.k % tile_.bk == 0 ? nullptr : Less(k, g_.k);
    }
    body(i, from + part.from.offset, And(in_depth, TapInside(g_, tile_.side, part.from, depth)));
  }
}

void TensorOperand::Fetch(const ExprRef& step) {
  ForElements(step, [&](size_t i, const ExprRef& from, const ExprRef& inside) {
    const ExprRef in = And(parts_[i].active, inside);
    b_.Set(fetched_, Int(static_cast<int64_t>(i)),
           b_.Load(global_, from, 1, 1, in ? LanesIf(in, 1) : nullptr));
  });
}

void TensorOperand::Deposit(const ExprRef& stage) {
  const auto all = [&] {
    for (size_t i = 0; i < parts_.size(); ++i) {
      b_.Store(tiles_, stage + base_ + parts_[i].to,
               b_.Get(fetched_, Int(static_cast<int64_t>(i))));
    }
  };
  if (parts_[0].active) {
    b_.If(parts_[0].active, all);
  } else {
    all();
  }
}

}  // namespace mlc::schedule
