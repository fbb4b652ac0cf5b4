#include "compiler/schedule/cuda/simt/simt_operand.h"

#include <algorithm>

namespace mlc::schedule {

using ir::ExprRef;
using ir::Int;

namespace {

int64_t Ceil(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

SimtOperand::SimtOperand(const GpuContraction& g, const SimtPlan& plan, Side side, bool packed,
                         int64_t base, ir::BufferId global, ir::BufferId tiles,
                         ir::KernelBuilder& b)
    : g_(g),
      plan_(plan),
      side_(side),
      packed_(packed),
      base_(base),
      global_(global),
      tiles_(tiles),
      b_(b) {
  if (packed) return;
  const int along = ContiguousAlongK(g, side, 4);
  const int across = ContiguousAcross(g, side, 4);
  along_k_ = along > 1 && along >= across;
  lanes_ = std::max(along, across);
  // A run of a partial step or of a partial row would need both masks.
  while (lanes_ > 1 && (along_k_ ? g.k : limit()) % lanes_ != 0) lanes_ /= 2;
  if (lanes_ == 1) along_k_ = (side == Side::kRow ? g.p.row_k_stride : g.p.column_k_stride) == 1;
  DType dtype = side == Side::kRow ? g.p.row_dtype : g.p.column_dtype;
  if (side == Side::kRow && g.p.blocks.block > 0) dtype = DType::kF32;
  const int64_t runs = int64_t{extent()} * plan.bk / lanes_;
  fetched_ = b.Registers("fetched", dtype, lanes_, Ceil(runs, plan.threads()));
}

void SimtOperand::Place(const ExprRef& thread, const ExprRef& first, const ExprRef& offset,
                        const ExprRef& panel) {
  thread_ = thread;
  offset_ = offset;
  parts_.clear();
  const int threads = plan_.threads();
  const int64_t pitch = plan_.pitch(side_);
  const int64_t runs = int64_t{extent()} * plan_.bk / (packed_ ? 4 : lanes_);
  if (packed_) offset_ = b_.Let("panel", panel * (plan_.k_steps * plan_.bk * plan_.bn));
  const int64_t per_row = (packed_    ? plan_.bn / 4
                           : along_k_ ? plan_.bk / lanes_
                                      : extent() / lanes_);
  for (int64_t at = 0; at < runs; at += threads) {
    Part part;
    const ExprRef index = b_.Let("run", thread + at);
    const ExprRef inner = b_.Let("run_in", ir::Mod(index, per_row));
    const ExprRef outer = b_.Let("run_of", ir::FloorDiv(index, per_row));
    if (at + threads > runs) part.active = Less(thread, runs - at);
    if (packed_) {
      part.from.offset = b_.Let("from", index * 4);
      part.to = b_.Let("to", outer * pitch + inner * 4);
    } else if (along_k_) {
      part.k = b_.Let("k_in", inner * lanes_);
      const ExprRef x = first + outer;
      const bool ragged = limit() % extent() != 0;
      part.x = b_.Let("x", ragged ? ir::Min(x, Int(limit() - 1)) : x);
      part.from = PlaceCross(b_, g_, side_, part.x);
      part.to = b_.Let("to", part.k * pitch + outer);
    } else {
      part.k = outer;
      const ExprRef x = b_.Let("x", first + inner * lanes_);
      const bool ragged = limit() % extent() != 0;
      // Past the end, another run is read instead; its products are not used.
      part.x = b_.Let("x", ragged ? ir::Min(x, Int(limit() - lanes_)) : x);
      part.from = PlaceCross(b_, g_, side_, part.x);
      part.to = b_.Let("to", outer * pitch + inner * lanes_);
    }
    parts_.push_back(part);
  }
}

void SimtOperand::Fetch(const ExprRef& step, const ExprRef& stage) {
  const auto when = [&](const ExprRef& active, const std::function<void()>& body) {
    if (active) {
      b_.If(active, body);
    } else {
      body();
    }
  };
  if (packed_) {
    const ExprRef from = b_.Let("from", offset_ + step * (int64_t{plan_.bk} * plan_.bn));
    for (const Part& part : parts_) {
      when(part.active, [&] {
        b_.CopyAsync(tiles_, stage + base_ + part.to, global_, from + part.from.offset, 4);
      });
    }
    return;
  }
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    const ExprRef k = b_.Let("k", step * int64_t{plan_.bk} + part.k);
    const DepthPlace depth = PlaceDepth(b_, g_, k);
    ExprRef inside = part.active;
    if (g_.k % plan_.bk != 0) inside = And(inside, Less(k, g_.k));
    inside = And(inside, TapInside(g_, side_, part.from, depth));
    const ExprRef at = offset_ + part.from.offset + DepthOffset(g_, side_, depth);
    const ExprRef mask = inside ? LanesIf(inside, lanes_) : nullptr;
    ExprRef value = b_.Load(global_, at, lanes_, 1, mask);
    if (scales_) {
      // A run along k lies in one block.
      const int64_t along = g_.p.blocks.along;
      const ExprRef block = ir::Min(ir::FloorDiv(k, g_.p.blocks.block), Int(along - 1));
      const ExprRef from = b_.Let("scale_at", part.x * along + block);
      const ExprRef scale = along_k_ ? ir::MakeBroadcast(b_.Load(*scales_, from), lanes_)
                                     : b_.Load(*scales_, from, lanes_, along);
      value = ir::MakeApply(ScalarOp::kMul, {ir::MakeCast(DType::kF32, value), scale});
    }
    b_.Set(fetched_, Int(static_cast<int64_t>(i)), value);
  }
}

void SimtOperand::Deposit(const ExprRef& stage) {
  if (packed_) return;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    const auto store = [&] {
      b_.Store(tiles_, stage + base_ + part.to,
               ir::MakeCast(DType::kF32, b_.Get(fetched_, Int(static_cast<int64_t>(i)))),
               along_k_ && lanes_ > 1 ? plan_.pitch(side_) : 1);
    };
    if (part.active) {
      b_.If(part.active, store);
    } else {
      store();
    }
  }
}

}  // namespace mlc::schedule
