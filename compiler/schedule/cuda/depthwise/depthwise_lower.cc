#include "compiler/schedule/cuda/depthwise/depthwise_lower.h"

#include <algorithm>
#include <functional>

#include "base/ceil_div.h"
#include "compiler/schedule/cuda/tile/gpu_launch.h"
#include "compiler/schedule/fusion/fused.h"
#include "compiler/schedule/problem/contraction_problem.h"

namespace mlc::schedule::gpu {

using graph::Value;
using graph::ValueId;
using graph::Workload;
using ir::ExprRef;

namespace {

constexpr int kAccessBytes = 16;
constexpr int kMaxLanes = 8;
// Registers of a filter that is held as a whole.
constexpr int64_t kKeptFilter = 80;

class DepthwiseEmitter {
 public:
  DepthwiseEmitter(const Workload& workload, const DepthwisePlan& plan)
      : workload_(workload),
        plan_(plan),
        p_(plan.problem),
        x_(workload.graph()[p_.anchor].operands[0]),
        w_(workload.graph()[p_.anchor].operands[1]),
        builder_("depthwise"),
        fused_(workload, builder_,
               p_.constant_filter ? std::vector<int>{p_.filter_operand} : std::vector<int>{}) {
    if (AllNarrow(workload)) builder_.Approximate();
  }

  LoweredKernel Run() {
    LoweredKernel lowered;
    lowered.bindings = fused_.bindings();
    if (p_.constant_filter) Pack(lowered);
    const SpatialAxis& width = p_.axes[2];
    acc_ =
        builder_.Registers("acc", DType::kF32, plan_.lanes, int64_t{plan_.tile_h} * plan_.tile_w);
    row_ = builder_.Registers("row", DType::kF32, plan_.lanes, width.Span(plan_.tile_w));
    filter_ = builder_.Registers("filter", DType::kF32, plan_.lanes,
                                 plan_.KeepsFilter() ? p_.Taps() : width.taps);
    const int64_t points = plan_.Points();
    const int threads = plan_.threads;
    // The compiler alone would rather spill than use the registers that a tile needs.
    builder_.Launch(CeilDiv(points, threads), threads, 1,
                    [&](const ExprRef& block, const ExprRef& thread) {
                      builder_.ReleaseDependents();
                      const ExprRef n = builder_.Let("n", block * int64_t{threads} + thread);
                      const bool even = points % threads == 0;
                      Locate(even ? n : builder_.Let("m", ir::Min(n, ir::Int(points - 1))));
                      // The filter is constant: it is on its way while earlier launches end.
                      if (!p_.constant_filter) builder_.AwaitInputs();
                      if (plan_.KeepsFilter()) LoadFilter(ir::Int(0), 0, p_.Taps());
                      if (p_.constant_filter) builder_.AwaitInputs();
                      if (even) return Tile();
                      builder_.If(Less(n, ir::Int(points)), [&] { Tile(); });
                    });
    lowered.kernel = builder_.Finish();
    return lowered;
  }

 private:
  // The filter as [tap][channel].
  void Pack(LoweredKernel& lowered) {
    const graph::TensorType& type = workload_.graph()[w_].type;
    const int64_t elements = p_.Taps() * p_.channels;
    packed_ = builder_.In("packed", type.dtype, elements);
    lowered.bindings.push_back({Binding::Kind::kPrepared, 0});
    ir::KernelBuilder pack("pack_filters");
    const ir::BufferId from = pack.In("w", type.dtype, type.Extent());
    const ir::BufferId to = pack.Out("packed", type.dtype, elements);
    const std::vector<int64_t> strides = type.EffectiveStrides();
    pack.Parallel("tap", p_.Taps(), [&](const ExprRef& tap) {
      ExprRef rest = tap, at = ir::Int(0);
      for (size_t a = 3; a-- > 0;) {
        if (p_.axes[a].dim < 0) continue;
        at = at + pack.Let("k", ir::Mod(rest, p_.axes[a].taps)) *
                      strides[static_cast<size_t>(p_.axes[a].dim)];
        rest = pack.Let("q", ir::FloorDiv(rest, p_.axes[a].taps));
      }
      pack.For("c", p_.channels, [&](const ExprRef& c) {
        pack.Store(to, tap * p_.channels + c, pack.Load(from, at + c * strides[0]));
      });
    });
    lowered.preparations.push_back({pack.Finish(), {p_.filter_operand}, type.dtype, elements});
  }

  void Locate(ExprRef rest) {
    const auto take = [&](const char* name, int64_t extent) {
      const ExprRef value = builder_.Let(name, ir::Mod(rest, extent));
      rest = builder_.Let("q", ir::FloorDiv(rest, extent));
      return value;
    };
    const int64_t vectors = p_.channels / plan_.lanes;
    if (p_.channels_inner) channel_ = take("cv", vectors) * int64_t{plan_.lanes};
    out_[2] = take("tw", CeilDiv(p_.axes[2].out, plan_.tile_w)) * int64_t{plan_.tile_w};
    out_[1] = take("th", CeilDiv(p_.axes[1].out, plan_.tile_h)) * int64_t{plan_.tile_h};
    out_[0] = take("td", p_.axes[0].out);
    if (!p_.channels_inner) channel_ = take("cv", vectors) * int64_t{plan_.lanes};
    batch_ = rest;
    for (size_t a = 0; a < 3; ++a) {
      in_[a] = builder_.Let("i", out_[a] * p_.axes[a].stride - p_.axes[a].pad);
    }
  }

  std::vector<ExprRef> PointAt(const std::array<ExprRef, 3>& spatial) const {
    std::vector<ExprRef> at = {batch_, channel_};
    for (size_t a = 0; a < 3; ++a) {
      if (p_.axes[a].dim >= 0) at.push_back(spatial[a]);
    }
    return at;
  }
  Point Vector(std::vector<ExprRef> at, int dim) const {
    return {std::move(at), plan_.lanes > 1 ? dim : -1, plan_.lanes, nullptr};
  }

  // filter_[slot .. slot + count) = taps [first, first + count).
  void LoadFilter(const ExprRef& first, int64_t slot, int64_t count) {
    builder_.Unrolled("f", count, [&](const ExprRef& f) {
      builder_.Set(filter_, f + slot, FilterAt(first + f));
    });
  }
  ExprRef FilterAt(const ExprRef& tap) {
    if (p_.constant_filter) {
      const DType dtype = workload_.graph()[w_].type.dtype;
      const ExprRef value = builder_.Load(packed_, tap * p_.channels + channel_, plan_.lanes);
      return dtype == DType::kF32 ? value : ir::MakeCast(DType::kF32, value);
    }
    std::vector<ExprRef> at = {channel_, ir::Int(0)};
    std::vector<ExprRef> taps;
    ExprRef rest = tap;
    for (size_t a = 3; a-- > 0;) {
      if (p_.axes[a].dim < 0) continue;
      taps.push_back(builder_.Let("k", ir::Mod(rest, p_.axes[a].taps)));
      rest = builder_.Let("q", ir::FloorDiv(rest, p_.axes[a].taps));
    }
    at.insert(at.end(), taps.rbegin(), taps.rend());
    return Widened(fused_.Emit(w_, Vector(std::move(at), 0)), plan_.lanes);
  }

  void Tile() {
    builder_.Unrolled("a", int64_t{plan_.tile_h} * plan_.tile_w, [&](const ExprRef& a) {
      builder_.Set(acc_, a, ir::Float(DType::kF32, 0, plan_.lanes));
    });
    ExprRef inside;
    const int64_t spans[] = {p_.axes[0].Span(1), p_.axes[1].Span(plan_.tile_h),
                             p_.axes[2].Span(plan_.tile_w)};
    for (size_t a = 0; a < 3; ++a) {
      const SpatialAxis& axis = p_.axes[a];
      if (axis.dim < 0) continue;
      const auto require = [&](const ExprRef& c) {
        inside = inside ? Do(ScalarOp::kAnd, inside, c) : c;
      };
      const int64_t tile = a == 0 ? 1 : a == 1 ? plan_.tile_h : plan_.tile_w;
      const int64_t last = (CeilDiv(axis.out, tile) - 1) * tile * axis.stride - axis.pad;
      if (axis.pad > 0) require(Do(ScalarOp::kLessEqual, ir::Int(0), in_[a]));
      if (last + spans[a] > axis.in) {
        require(Do(ScalarOp::kLessEqual, in_[a], ir::Int(axis.in - spans[a])));
      }
    }
    if (!inside) {
      Taps(false);
    } else {
      builder_.If(
          inside, [&] { Taps(false); }, [&] { Taps(true); });
    }
    StoreTile();
  }

  void Taps(bool edge) {
    builder_.Unrolled("kd", p_.axes[0].taps, [&](const ExprRef& kd) {
      const ExprRef d = builder_.Let("d", in_[0] + kd * p_.axes[0].dilation);
      const auto rows = [&] {
        const int64_t span = p_.axes[1].Span(plan_.tile_h);
        for (int64_t r = 0; r < span; ++r) InputRow(kd, d, r, edge);
      };
      if (!edge || p_.axes[0].dim < 0) return rows();
      builder_.If(Within(d, p_.axes[0].in), rows);
    });
  }

  static ExprRef Within(const ExprRef& c, int64_t size) {
    return Do(ScalarOp::kAnd, Do(ScalarOp::kLessEqual, ir::Int(0), c), Less(c, ir::Int(size)));
  }

  // One row of inputs, `r` below the tile's first, to all outputs that have a tap in it.
  void InputRow(const ExprRef& kd, const ExprRef& d, int64_t r, bool edge) {
    const SpatialAxis& height = p_.axes[1];
    std::vector<std::pair<int64_t, int64_t>> uses;  // output row of the tile, tap
    for (int64_t th = 0; th < plan_.tile_h; ++th) {
      const int64_t reach = r - th * height.stride;
      if (reach < 0 || reach % height.dilation != 0) continue;
      if (reach / height.dilation < height.taps) uses.emplace_back(th, reach / height.dilation);
    }
    if (uses.empty()) return;
    const ExprRef h = builder_.Let("h", in_[1] + r);
    const auto body = [&] {
      LoadRow(d, h, edge);
      for (const auto& [th, kh] : uses) Multiply(kd, th, kh);
    };
    if (!edge || height.dim < 0) return body();
    builder_.If(Within(h, height.in), body);
  }

  void LoadRow(const ExprRef& d, const ExprRef& h, bool edge) {
    const SpatialAxis& width = p_.axes[2];
    for (int64_t c = 0; c < width.Span(plan_.tile_w); ++c) {
      bool used = false;
      for (int64_t tw = 0; tw < plan_.tile_w; ++tw) {
        const int64_t reach = c - tw * width.stride;
        used = used ||
               (reach >= 0 && reach % width.dilation == 0 && reach / width.dilation < width.taps);
      }
      if (!used) continue;
      const ExprRef w = builder_.Let("w", in_[2] + c);
      const auto load = [&] {
        const ExprRef x = fused_.Emit(x_, Vector(PointAt({d, h, w}), 1));
        builder_.Set(row_, ir::Int(c), Widened(x, plan_.lanes));
      };
      if (!edge) {
        load();
        continue;
      }
      builder_.Set(row_, ir::Int(c), ir::Float(DType::kF32, 0, plan_.lanes));
      builder_.If(Within(w, width.in), load);
    }
  }

  void Multiply(const ExprRef& kd, int64_t th, int64_t kh) {
    const SpatialAxis& width = p_.axes[2];
    const ExprRef first = (kd * p_.axes[1].taps + kh) * width.taps;
    const bool kept = plan_.KeepsFilter();
    if (!kept) LoadFilter(first, 0, width.taps);
    for (int64_t kw = 0; kw < width.taps; ++kw) {
      const ExprRef filter = builder_.Get(filter_, kept ? first + kw : ir::Int(kw));
      for (int64_t tw = 0; tw < plan_.tile_w; ++tw) {
        const ExprRef acc = ir::Int(th * plan_.tile_w + tw);
        const ExprRef x = builder_.Get(row_, ir::Int(tw * width.stride + kw * width.dilation));
        builder_.Set(acc_, acc,
                     ir::MakeApply(ScalarOp::kFma, {x, filter, builder_.Get(acc_, acc)}));
      }
    }
  }

  void StoreTile() {
    for (int64_t th = 0; th < plan_.tile_h; ++th) {
      for (int64_t tw = 0; tw < plan_.tile_w; ++tw) {
        const ExprRef h = out_[1] + th, w = out_[2] + tw;
        ExprRef inside;
        const auto require = [&](const ExprRef& c, int64_t size, int64_t tile, int64_t place) {
          if (place == 0 || size % tile == 0 || place < size % tile) return;
          const ExprRef condition = Less(c, ir::Int(size));
          inside = inside ? Do(ScalarOp::kAnd, inside, condition) : condition;
        };
        require(h, p_.axes[1].out, plan_.tile_h, th);
        require(w, p_.axes[2].out, plan_.tile_w, tw);
        const auto store = [&] {
          fused_.StoreOutputs(Vector(PointAt({out_[0], h, w}), 1),
                              {{p_.anchor, builder_.Get(acc_, ir::Int(th * plan_.tile_w + tw))}});
        };
        if (inside) {
          builder_.If(inside, store);
        } else {
          store();
        }
      }
    }
  }

  const Workload& workload_;
  const DepthwisePlan& plan_;
  const DepthwiseProblem& p_;
  const ValueId x_, w_;
  ir::KernelBuilder builder_;
  Fused fused_;
  ir::BufferId packed_ = 0, acc_ = 0, row_ = 0, filter_ = 0;
  ExprRef batch_, channel_;
  std::array<ExprRef, 3> out_, in_;  // of the tile's first output
};

bool VectorisesAll(const Workload& workload, const Value& node, ValueId anchor, int lanes) {
  const ValueId anchors[] = {anchor};
  return Fused::Vectorises(workload, node.operands[0], 1, lanes) &&
         std::all_of(workload.outputs().begin(), workload.outputs().end(), [&](ValueId output) {
           return Fused::Vectorises(workload, output, 1, lanes, anchors);
         });
}

}  // namespace

int64_t DepthwisePlan::Points() const {
  return problem.batch * (problem.channels / lanes) * problem.axes[0].out *
         CeilDiv(problem.axes[1].out, tile_h) * CeilDiv(problem.axes[2].out, tile_w);
}

bool DepthwisePlan::KeepsFilter() const { return problem.Taps() * lanes <= kKeptFilter; }

int64_t DepthwisePlan::Registers() const {
  const int64_t filter = KeepsFilter() ? problem.Taps() : problem.axes[2].taps;
  return 24 + lanes * (int64_t{tile_h} * tile_w + problem.axes[2].Span(tile_w) + filter);
}

std::optional<DepthwiseProblem> FindDepthwise(const Workload& workload) {
  const std::optional<ContractionProblem> contraction = FindContraction(workload);
  if (!contraction || !IsDepthwise(*contraction)) return std::nullopt;
  const Value& node = workload.graph()[contraction->anchor];
  const Value& x = workload.graph()[node.operands[0]];
  const Value& w = workload.graph()[node.operands[1]];
  DepthwiseProblem p;
  p.anchor = contraction->anchor;
  p.batch = x.type.dims[0];
  p.channels = x.type.dims[1];
  const size_t spatial = x.type.dims.size() - 2;
  for (size_t s = 0; s < spatial; ++s) {
    p.axes[s + 3 - spatial] = {static_cast<int>(s) + 2, x.type.dims[s + 2],
                               node.type.dims[s + 2],   w.type.dims[s + 2],
                               node.Ints("strides")[s], node.Ints("dilations")[s],
                               node.Ints("pads")[s]};
  }
  const std::vector<ValueId>& operands = workload.operands();
  p.filter_operand = static_cast<int>(
      std::find(operands.begin(), operands.end(), node.operands[1]) - operands.begin());
  p.constant_filter = w.op == graph::Op::kWeight;
  p.channels_inner = x.type.EffectiveStrides()[1] == 1;
  if (!p.channels_inner) return p;
  const int lanes = std::min(kMaxLanes, kAccessBytes / SizeOf(x.type.dtype));
  for (int n = lanes; n > 1 && p.lanes == 1; n /= 2) {
    if (p.channels % n == 0 && VectorisesAll(workload, node, p.anchor, n)) p.lanes = n;
  }
  return p;
}

LoweredKernel LowerDepthwise(const Workload& workload, const DepthwisePlan& plan) {
  return DepthwiseEmitter(workload, plan).Run();
}

}  // namespace mlc::schedule::gpu
