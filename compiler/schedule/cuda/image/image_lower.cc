#include "compiler/schedule/cuda/image/image_lower.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "base/ceil_div.h"
#include "compiler/schedule/cuda/image/image_pack.h"
#include "compiler/schedule/cuda/tile/gpu_launch.h"
#include "compiler/schedule/cuda/tile/gpu_tile.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule {

namespace {

using ir::ExprRef;
using ir::FloorDiv;
using ir::Int;
using ir::Mod;

// Loads of a thread that are under way together.
constexpr int64_t kAtOnce = 4;
constexpr int kVector = 8;  // filters that a thread holds side by side

ExprRef Within(const ExprRef& x, int64_t size) {
  return And(ir::MakeApply(ScalarOp::kLessEqual, {Int(0), x}), Less(x, size));
}

class ImageLowering {
 public:
  ImageLowering(const graph::Workload& workload, const ImageProblem& p, const ImagePlan& plan)
      : workload_(workload),
        p_(p),
        plan_(plan),
        b_("image_convolution"),
        fused_(workload, b_, {p.filter_operand}) {}

  LoweredKernel Run(int per_sm);

 private:
  // A thread's part of the image's tile: neighbouring pixels of a row.
  struct Part {
    ExprRef to;      // in the tile
    ExprRef exists;  // null if it does
  };

  void Declare();
  void EmitBlock(const ExprRef& block, const ExprRef& thread);
  void PlaceBlock(const ExprRef& block);
  void CopyFilters(const ExprRef& thread);
  void CopyImage(const ExprRef& thread);
  Part Fetch(const ExprRef& index, int64_t slot);
  ExprRef Pixels(int64_t channel, const ExprRef& y, const ExprRef& x, const ExprRef& active);
  void Deposit(const Part& part, int64_t slot);
  void PlaceWarp(const ExprRef& thread);
  void MultiplyAll();
  void LoadRowsOf(int64_t step, int64_t row);
  void StoreAll();
  void StoreVector(int row, int group, int half);
  void StorePoint(const std::vector<ExprRef>& at, int lanes, const ExprRef& value);
  int64_t PartElements() const { return p_.pixels * p_.stored; }

  const graph::Workload& workload_;
  const ImageProblem& p_;
  const ImagePlan& plan_;
  ir::KernelBuilder b_;
  Fused fused_;
  ir::BufferId packed_ = 0, filters_ = 0, tile_ = 0;             // memory
  ir::BufferId pixels_ = 0, piece_ = 0, sums_ = 0, turned_ = 0;  // of a thread
  ir::BufferId a_ = 0, f_ = 0, c_ = 0;                           // registers
  ExprRef image_, y_, x_, n_;                                    // of the block's first result
  ExprRef panel_;                                                // of filters
  ExprRef warp_x_, warp_y_, warp_n_, row_in_, quad_, lane_, rows_at_, filters_at_;
};

LoweredKernel ImageLowering::Run(int per_sm) {
  if (gpu::AllNarrow(workload_)) b_.Approximate();
  std::vector<Binding> bindings = fused_.bindings();
  packed_ = b_.In("packed", p_.dtype, plan_.tiles_n * plan_.filter_elements(p_));
  bindings.push_back({Binding::Kind::kPrepared, 0});
  Declare();
  b_.Launch(plan_.blocks(p_), plan_.threads(), per_sm,
            [&](const ExprRef& block, const ExprRef& thread) { EmitBlock(block, thread); });
  LoweredKernel lowered{b_.Finish(), bindings, {}};
  lowered.preparations.push_back(PackImageFilters(workload_, p_, plan_));
  return lowered;
}

void ImageLowering::Declare() {
  const bool narrow = p_.narrow();
  filters_ = b_.SharedMemory("filters", p_.dtype, plan_.filter_elements(p_));
  tile_ = b_.SharedMemory("tile", p_.dtype, plan_.tile_elements());
  pixels_ = b_.Thread("pixels", DType::kF32, kAtOnce * PartElements());
  piece_ = b_.Thread("piece", p_.dtype, narrow ? 8 : 4);
  sums_ = b_.Thread("sums", DType::kF32, 4);
  turned_ = b_.Thread("turned", DType::kF32, 2 * kVector);
  a_ = b_.Registers("a", p_.dtype, narrow ? 8 : 4, plan_.rows);
  f_ = b_.Registers("f", p_.dtype, narrow ? 8 : 4, plan_.column_tiles() / 2);
  c_ = b_.Registers("c", DType::kF32, 4, int64_t{plan_.rows} * plan_.column_tiles());
}

// Filters are constant: they are on their way while earlier launches end.
void ImageLowering::EmitBlock(const ExprRef& block, const ExprRef& thread) {
  PlaceBlock(block);
  CopyFilters(thread);
  b_.AwaitInputs();
  b_.ReleaseDependents();
  CopyImage(thread);
  PlaceWarp(thread);
  b_.WaitCopies(0);
  b_.Barrier();
  MultiplyAll();
  StoreAll();
}

void ImageLowering::PlaceBlock(const ExprRef& block) {
  ExprRef rest = block;
  const auto take = [&](const char* name, int64_t count) {
    const ExprRef at = b_.Let(name, Mod(rest, count));
    rest = FloorDiv(rest, count);
    return at;
  };
  panel_ = take("panel", plan_.tiles_n);
  n_ = panel_ * int64_t{plan_.bn};
  x_ = b_.Let("x_first", take("tile_x", plan_.tiles_x) * int64_t{plan_.tw()});
  y_ = b_.Let("y_first", take("tile_y", plan_.tiles_y) * int64_t{plan_.th()});
  image_ = b_.Let("image", rest);
}

void ImageLowering::CopyFilters(const ExprRef& thread) {
  const int lanes = 16 / SizeOf(p_.dtype);
  const int64_t pieces = plan_.filter_elements(p_) / lanes;
  const ExprRef from = b_.Let("from", panel_ * plan_.filter_elements(p_));
  for (int64_t at = 0; at < pieces; at += plan_.threads()) {
    const ExprRef to = (thread + at) * int64_t{lanes};
    const auto copy = [&] { b_.CopyAsync(filters_, to, packed_, from + to, lanes); };
    if (at + plan_.threads() > pieces) {
      b_.If(Less(thread, pieces - at), copy);
    } else {
      copy();
    }
  }
  b_.CommitCopies();
}

void ImageLowering::CopyImage(const ExprRef& thread) {
  const int64_t total = plan_.rows_in * plan_.vectors;
  const int64_t rounds = CeilDiv(total, plan_.threads() * kAtOnce);
  b_.Unrolled("round", rounds, [&](const ExprRef& round) {
    std::vector<Part> parts;
    for (int64_t slot = 0; slot < kAtOnce; ++slot) {
      const ExprRef index = round * (plan_.threads() * kAtOnce) + slot * plan_.threads() + thread;
      parts.push_back(Fetch(b_.Let("index", index), slot));
    }
    // Else the compiler stores the first slot before it loads the second.
    b_.WarpBarrier();
    for (int64_t slot = 0; slot < kAtOnce; ++slot) {
      Deposit(parts[static_cast<size_t>(slot)], slot);
    }
  });
}

// Loads without a branch, so that those of all slots are under way together.
ImageLowering::Part ImageLowering::Fetch(const ExprRef& index, int64_t slot) {
  const ExprRef row = b_.Let("row", FloorDiv(index, plan_.vectors));
  const ExprRef vector = b_.Let("vector", Mod(index, plan_.vectors));
  Part part{b_.Let("to", row * plan_.pitch + vector * PartElements()), nullptr};
  if (plan_.rows_in * plan_.vectors % (plan_.threads() * kAtOnce) != 0) {
    part.exists = Less(row, plan_.rows_in);
  }
  const ExprRef y = b_.Let("y", y_ * p_.y.stride - p_.y.pad + row);
  const ExprRef x = b_.Let("x", x_ * p_.x.stride - (p_.x.pad + p_.Shift()) + vector * p_.pixels);
  const ExprRef inside = And(And(Within(y, p_.y.in), Within(x, p_.x.in)), part.exists);
  const ExprRef active = b_.Let("active", LanesIf(inside, p_.pixels));
  for (int64_t c = 0; c < p_.stored; ++c) {
    const ExprRef value =
        c < p_.channels ? Pixels(c, y, x, active) : ir::Float(DType::kF32, 0, p_.pixels);
    b_.Store(pixels_, Int(slot * PartElements() + c), value, p_.stored);
  }
  return part;
}

// Zeros unless `active`. A vector has a mask; a single pixel is read where one is.
ExprRef ImageLowering::Pixels(int64_t channel, const ExprRef& y, const ExprRef& x,
                              const ExprRef& active) {
  const bool one = p_.pixels == 1;
  Point point{{image_, Int(channel), y, x}, one ? -1 : 3, p_.pixels, one ? nullptr : active};
  if (one) {
    point.at[2] = ir::Max(Int(0), ir::Min(y, Int(p_.y.in - 1)));
    point.at[3] = ir::Max(Int(0), ir::Min(x, Int(p_.x.in - 1)));
  }
  const ExprRef value = fused_.Emit(p_.image, point);
  if (!one && p_.zero_outside) return value;
  const ExprRef inside = ir::MakeApply(ScalarOp::kLess, {Int(0), active});
  return ir::MakeApply(ScalarOp::kSelect, {ir::MakeBroadcast(inside, p_.pixels), value,
                                           ir::Float(DType::kF32, 0, p_.pixels)});
}

void ImageLowering::Deposit(const Part& part, int64_t slot) {
  const int64_t most = p_.narrow() ? 8 : 4;
  const int64_t lanes = std::gcd(PartElements(), most);
  const auto all = [&] {
    for (int64_t at = 0; at < PartElements(); at += lanes) {
      ExprRef value = b_.Load(pixels_, Int(slot * PartElements() + at), static_cast<int>(lanes));
      if (!p_.narrow()) value = ir::MakeApply(ScalarOp::kRoundTf32, {value});
      b_.Store(tile_, part.to + at, p_.narrow() ? ir::MakeCast(p_.dtype, value) : value);
    }
  };
  if (part.exists) {
    b_.If(part.exists, all);
  } else {
    all();
  }
}

void ImageLowering::PlaceWarp(const ExprRef& thread) {
  const ExprRef warp = b_.Let("warp", FloorDiv(thread, 32));
  lane_ = b_.Let("lane", Mod(thread, 32));
  quad_ = b_.Let("quad", Mod(lane_, 4));
  row_in_ = b_.Let("row_in", FloorDiv(lane_, 4));
  warp_x_ = b_.Let("warp_x", Mod(warp, plan_.across));
  warp_y_ = b_.Let("warp_y", Mod(FloorDiv(warp, plan_.across), plan_.down));
  warp_n_ = b_.Let("warp_n", FloorDiv(warp, int64_t{plan_.across} * plan_.down));
  const ExprRef pixel = (warp_x_ * 16 + row_in_) * p_.x.stride;
  rows_at_ =
      b_.Let("rows_at", warp_y_ * (plan_.rows * p_.y.stride * plan_.pitch) + pixel * p_.stored +
                            quad_ * (p_.narrow() ? 2 : 1) + (p_.Shift() * p_.stored - p_.Lead()));
  const int64_t piece = 16 / SizeOf(p_.dtype);
  filters_at_ = b_.Let("filters_at", (warp_n_ * (plan_.column_tiles() / 2) * 32 + lane_) * piece);
}

void ImageLowering::MultiplyAll() {
  const int64_t pairs = plan_.column_tiles() / 2, piece = 16 / SizeOf(p_.dtype);
  for (int i = 0; i < plan_.rows * plan_.column_tiles(); ++i) {
    b_.Set(c_, Int(i), ir::Float(DType::kF32, 0, 4));
  }
  for (int64_t step = 0; step < p_.Steps(); ++step) {
    for (int64_t i = 0; i < plan_.rows; ++i) LoadRowsOf(step, i);
    for (int64_t j = 0; j < pairs; ++j) {
      const int64_t at = (step * (plan_.bn / 16) + j) * 32 * piece;
      b_.Set(f_, Int(j), b_.Load(filters_, filters_at_ + at, static_cast<int>(piece)));
    }
    for (int64_t i = 0; i < plan_.rows; ++i) {
      for (int64_t j = 0; j < plan_.column_tiles(); ++j) {
        b_.Mma(c_, Int(i * plan_.column_tiles() + j), a_, Int(i), f_, Int(j / 2),
               static_cast<int>(j % 2));
      }
    }
  }
}

// The fragment of 16 results in a row: of f16 pairs of elements of both halves of k and of rows
// eight apart, of f32 single ones.
void ImageLowering::LoadRowsOf(int64_t step, int64_t row) {
  const int64_t eight = 8 * p_.x.stride * p_.stored;
  const int lanes = p_.narrow() ? 2 : 1;
  for (int64_t half = 0; half < 2; ++half) {
    const int64_t octet = std::min(p_.narrow() ? 2 * step + half : step, p_.Octets() - 1);
    int64_t at =
        (row * p_.y.stride + octet / p_.RowOctets()) * plan_.pitch + octet % p_.RowOctets() * 8;
    if (!p_.narrow()) at += half * 4;
    for (int64_t lower = 0; lower < 2; ++lower) {
      b_.Store(piece_, Int((half * 2 + lower) * lanes),
               b_.Load(tile_, rows_at_ + (at + lower * eight), lanes));
    }
  }
  b_.Set(a_, Int(row), b_.Load(piece_, Int(0), 4 * lanes));
}

void ImageLowering::StoreAll() {
  for (int row = 0; row < plan_.rows; ++row) {
    for (int group = 0; group < plan_.column_tiles() / 4; ++group) {
      for (int j = 0; j < 4; ++j) {
        b_.Store(sums_, Int(0), b_.Get(c_, Int(row * plan_.column_tiles() + group * 4 + j)));
        for (int half = 0; half < 2; ++half) {
          b_.Store(turned_, Int(half * kVector + j * 2), b_.Load(sums_, Int(half * 2), 2));
        }
      }
      for (int half = 0; half < 2; ++half) StoreVector(row, group, half);
    }
  }
}

void ImageLowering::StoreVector(int row, int group, int half) {
  const ExprRef filter =
      b_.Let("filter", n_ + warp_n_ * (plan_.column_tiles() * 8) + quad_ * kVector + group * 32);
  const ExprRef y = b_.Let("y", y_ + warp_y_ * plan_.rows + row);
  const ExprRef x = b_.Let("x", x_ + warp_x_ * 16 + row_in_ + half * 8);
  ExprRef inside;
  if (p_.filters % plan_.bn != 0) inside = Less(filter, p_.filters);
  if (p_.y.out % plan_.th() != 0) inside = And(inside, Less(y, p_.y.out));
  if (p_.x.out % plan_.tw() != 0) inside = And(inside, Less(x, p_.x.out));
  const auto store = [&] {
    for (int lane = 0; lane < kVector; lane += p_.lanes) {
      StorePoint({image_, filter + lane, y, x}, p_.lanes,
                 b_.Load(turned_, Int(half * kVector + lane), p_.lanes));
    }
  };
  if (inside) {
    b_.If(inside, store);
  } else {
    store();
  }
}

void ImageLowering::StorePoint(const std::vector<ExprRef>& at, int lanes, const ExprRef& value) {
  fused_.StoreOutputs({at, lanes > 1 ? 1 : -1, lanes, nullptr}, {{p_.anchor, value}});
}

}  // namespace

LoweredKernel LowerImage(const graph::Workload& workload, const ImageProblem& p,
                         const ImagePlan& plan, int per_sm) {
  return ImageLowering(workload, p, plan).Run(per_sm);
}

}  // namespace mlc::schedule
