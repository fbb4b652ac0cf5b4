#include "compiler/schedule/cpu/window/window_lower.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "compiler/schedule/fusion/fused.h"
#include "compiler/schedule/fusion/fused_rows.h"
#include "compiler/schedule/problem/pointwise_piece.h"

namespace mlc::schedule {

using graph::Op;
using graph::Value;
using graph::ValueId;
using graph::Workload;
using ir::ExprRef;

namespace {

// Taps up to this are unrolled where no bound interferes.
constexpr int64_t kUnrolledTaps = 25;

ExprRef Do(ScalarOp op, ExprRef a, ExprRef b) {
  return ir::MakeApply(op, {std::move(a), std::move(b)});
}

int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

class WindowEmitter {
 public:
  WindowEmitter(const Workload& workload, const WindowProblem& problem, const WindowKnobs& knobs)
      : p_(problem),
        knobs_(knobs),
        x_(workload.graph()[problem.anchor].operands[0]),
        builder_("window"),
        fused_(workload, builder_) {
    acc_ = builder_.Registers("acc", problem.dtype, problem.lanes, knobs.vectors);
    if (problem.lanes > 1) scalar_ = builder_.Registers("one", problem.dtype, 1, 1);
    for (int d = 0; d < static_cast<int>(problem.out.size()); ++d) {
      if (d != problem.column) outer_.push_back(d);
    }
    const graph::TensorType& type = workload.graph()[workload.outputs()[0]].type;
    const std::vector<int> order = OrderByStride(type);
    std::stable_sort(outer_.begin(), outer_.end(), [&](int a, int b) {
      return std::find(order.begin(), order.end(), a) < std::find(order.begin(), order.end(), b);
    });
  }

  LoweredKernel Run() {
    const int64_t rows = p_.Rows();
    const int64_t block = knobs_.row_block;
    builder_.Parallel("p", (rows + block - 1) / block, [&](const ExprRef& p) {
      const ExprRef first = builder_.Let("r0", p * block);
      const ExprRef last =
          rows % block == 0 ? first + block : ir::Min(first + block, ir::Int(rows));
      builder_.For("row", first, last, 1, [&](const ExprRef& row) {
        at_.assign(p_.out.size(), ir::Int(0));
        SetRow(builder_, row, outer_, p_.out, at_);
        if (p_.column == 1) {
          Channels();
        } else {
          Positions();
        }
      });
    });
    return {builder_.Finish(), fused_.bindings(), {}};
  }

 private:
  // First coordinate in the input of the window at output coordinate `o`.
  ExprRef Start(size_t s) const { return at_[s + 2] * p_.strides[s] - p_.pads[s]; }

  // Lanes are channels: one window for all of them.
  void Channels() {
    ExprRef inside;
    for (size_t s = 0; s < p_.spatial(); ++s) {
      int64_t first = 0, last = 0;
      p_.Inside(s, &first, &last);
      const auto require = [&](const ExprRef& c) {
        inside = inside ? Do(ScalarOp::kAnd, inside, c) : c;
      };
      if (first > 0) require(Do(ScalarOp::kLessEqual, ir::Int(first), at_[s + 2]));
      if (last < p_.out[s + 2]) require(Do(ScalarOp::kLess, at_[s + 2], ir::Int(last)));
    }
    if (!inside) return ChannelBlocks(true);
    builder_.If(
        inside, [&] { ChannelBlocks(true); }, [&] { ChannelBlocks(false); });
  }

  void ChannelBlocks(bool inside) {
    const int64_t lanes = p_.lanes;
    const int64_t step = lanes * knobs_.vectors;
    const int64_t channels = p_.Columns();
    const auto block = [&](const ExprRef& first, int vectors, int64_t tail) {
      std::vector<Point> points;
      for (int64_t j = 0; j < vectors; ++j) {
        Point point{at_, lanes > 1 ? 1 : -1, static_cast<int>(lanes), nullptr};
        point.at[1] = first + j * lanes;
        if (tail != 0 && j + 1 == vectors) point.active = ir::Int(tail);
        points.push_back(point);
      }
      Window(points, acc_, p_.spatial(), !inside, 1);
    };
    builder_.For("cb", channels / step,
                 [&](const ExprRef& c) { block(c * step, knobs_.vectors, 0); });
    const int64_t rest = channels % step;
    if (rest > 0) {
      block(ir::Int(channels - rest), static_cast<int>((rest + lanes - 1) / lanes), rest % lanes);
    }
  }

  // Lanes are positions of a row: scalar windows at its ends, vectors between.
  void Positions() {
    const size_t s = p_.spatial() - 1;
    const size_t d = s + 2;
    int64_t first = 0, last = 0;
    p_.Inside(s, &first, &last);
    const ir::BufferId single = p_.lanes > 1 ? scalar_ : acc_;
    const auto scalars = [&](int64_t from, int64_t to) {
      builder_.For("e", ir::Int(from), ir::Int(to), 1, [&](const ExprRef& e) {
        at_[d] = e;
        Window({Point{at_, -1, 1, nullptr}}, single, p_.spatial(), true, 1);
      });
    };
    if (p_.lanes == 1) return scalars(0, p_.out[d]);
    scalars(0, first);
    const int64_t lanes = p_.lanes;
    const auto vector = [&](const ExprRef& position, int64_t active) {
      at_[d] = position;
      Point point{at_, static_cast<int>(d), p_.lanes, nullptr, 0};
      if (active != 0) point.active = ir::Int(active);
      // The last spatial dimension needs no bounds here.
      Window({point}, acc_, s, true, p_.strides[s]);
    };
    const int64_t whole = (last - first) / lanes;
    builder_.For("v", whole, [&](const ExprRef& v) { vector(v * lanes + first, 0); });
    const int64_t rest = (last - first) % lanes;
    if (rest > 0) vector(ir::Int(first + whole * lanes), rest);
    scalars(last, p_.out[d]);
  }

  // Reduces one window per point. Spatial dimensions below `bounded` have clamped taps if `clamp`.
  void Window(const std::vector<Point>& points, ir::BufferId acc, size_t bounded, bool clamp,
              int64_t step) {
    const int lanes = points[0].lanes;
    const double start = p_.max ? -std::numeric_limits<double>::infinity() : 0;
    for (size_t j = 0; j < points.size(); ++j) {
      builder_.Set(acc, ir::Int(static_cast<int64_t>(j)), ir::Float(p_.dtype, start, lanes));
    }
    std::vector<ExprRef> low(p_.spatial()), high(p_.spatial());
    for (size_t s = 0; s < p_.spatial(); ++s) {
      low[s] = ir::Int(0);
      high[s] = ir::Int(p_.kernel[s]);
      if (clamp && s < bounded) Clamp(s, &low[s], &high[s]);
    }
    std::vector<ExprRef> from(p_.out.size());
    from[0] = at_[0];
    const std::function<void(size_t)> taps = [&](size_t s) {
      if (s == p_.spatial()) {
        for (size_t j = 0; j < points.size(); ++j) {
          from[1] = points[j].at[1];
          Accumulate(points[j], from, acc, static_cast<int64_t>(j), step);
        }
        return;
      }
      const auto body = [&](const ExprRef& k) {
        from[s + 2] = Start(s) + k * p_.dilations[s];
        taps(s + 1);
      };
      int64_t first = 0, last = 0;
      const bool fixed = ir::IsConstInt(low[s], &first) && ir::IsConstInt(high[s], &last) &&
                         first == 0 && last == p_.kernel[s];
      if (fixed && p_.Taps() * static_cast<int64_t>(points.size()) <= 4 * kUnrolledTaps) {
        builder_.Unrolled("k", p_.kernel[s], body);
      } else {
        builder_.For("k", low[s], high[s], 1, body);
      }
    };
    taps(0);
    ExprRef factor = p_.max ? nullptr : Factor(low, high, lanes);
    for (size_t j = 0; j < points.size(); ++j) {
      ExprRef value = builder_.Get(acc, ir::Int(static_cast<int64_t>(j)));
      if (factor) value = Do(ScalarOp::kDiv, value, factor);
      fused_.StoreOutputs(points[j], {{p_.anchor, value}});
    }
  }

  void Accumulate(const Point& point, const std::vector<ExprRef>& from, ir::BufferId acc,
                  int64_t slot, int64_t step) {
    Point tap{from, point.dim, point.lanes, point.active, point.step};
    if (point.dim > 1) tap.step = step == 1 ? 0 : step;
    const ExprRef x = fused_.Emit(x_, tap);
    const ExprRef sum = builder_.Get(acc, ir::Int(slot));
    builder_.Set(acc, ir::Int(slot), Do(p_.max ? ScalarOp::kMax : ScalarOp::kAdd, sum, x));
  }

  // Taps whose coordinate lies in [0, in).
  void Clamp(size_t s, ExprRef* low, ExprRef* high) {
    const int64_t dilation = p_.dilations[s];
    const ExprRef start = builder_.Let("s", Start(s));
    const ExprRef before = ir::FloorDiv(ir::Int(dilation - 1) - start, dilation);
    *low = builder_.Let("lo", ir::Max(ir::Int(0), before));
    const ExprRef past = ir::FloorDiv(ir::Int(p_.in[s + 2] - 1) - start, dilation) + 1;
    *high = builder_.Let("hi", ir::Min(ir::Int(p_.kernel[s]), past));
  }

  // The number of elements that an average divides by.
  ExprRef Factor(const std::vector<ExprRef>& low, const std::vector<ExprRef>& high, int lanes) {
    if (p_.count_padding) return ir::Float(p_.dtype, static_cast<double>(p_.Taps()), lanes);
    ExprRef count = ir::Int(1);
    for (size_t s = 0; s < p_.spatial(); ++s) count = count * (high[s] - low[s]);
    int64_t constant = 0;
    if (ir::IsConstInt(count, &constant)) {
      return ir::Float(p_.dtype, static_cast<double>(constant), lanes);
    }
    ExprRef factor = ir::MakeCast(p_.dtype, builder_.Let("n", count));
    return lanes == 1 ? factor : ir::MakeBroadcast(factor, lanes);
  }

  const WindowProblem& p_;
  const WindowKnobs& knobs_;
  const ValueId x_;
  ir::KernelBuilder builder_;
  Fused fused_;
  ir::BufferId acc_ = 0, scalar_ = 0;
  std::vector<int> outer_;
  std::vector<ExprRef> at_;
};

// True if only pointwise nodes of the same shape stand between the value and its sources.
bool IsLocal(const graph::Graph& graph, ValueId id, const std::vector<int64_t>& dims,
             ValueId anchor = graph::kNoValue) {
  if (id == anchor) return true;
  const Value& node = graph[id];
  if (node.op == Op::kInput || node.op == Op::kWeight || node.op == Op::kConstant) return true;
  if (node.op != Op::kPointwise && node.op != Op::kCast && node.op != Op::kCopy) return false;
  if (node.type.dims != dims) return false;
  return std::all_of(node.operands.begin(), node.operands.end(),
                     [&](ValueId operand) { return IsLocal(graph, operand, dims, anchor); });
}

}  // namespace

int64_t WindowProblem::Taps() const {
  int64_t taps = 1;
  for (int64_t k : kernel) taps *= k;
  return taps;
}

int64_t WindowProblem::Rows() const {
  int64_t rows = 1;
  for (size_t d = 0; d < out.size(); ++d) rows *= static_cast<int>(d) == column ? 1 : out[d];
  return rows;
}

void WindowProblem::Inside(size_t s, int64_t* first, int64_t* last) const {
  const int64_t reach = (kernel[s] - 1) * dilations[s];
  *first = std::clamp<int64_t>((pads[s] + strides[s] - 1) / strides[s], 0, out[s + 2]);
  *last = std::clamp<int64_t>(FloorDivide(in[s + 2] - 1 - reach + pads[s], strides[s]) + 1, *first,
                              out[s + 2]);
}

std::optional<WindowProblem> FindWindow(const Workload& workload, const target::Target& target) {
  return FindWindow(workload, target.cpu().Lanes(DType::kF32));
}

std::optional<WindowProblem> FindWindow(const Workload& workload, int lanes) {
  const graph::Graph& graph = workload.graph();
  ValueId anchor = graph::kNoValue;
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (graph[id].op != Op::kPool) continue;
    if (anchor != graph::kNoValue) return std::nullopt;
    anchor = id;
  }
  if (anchor == graph::kNoValue) return std::nullopt;
  const Value& node = graph[anchor];
  const Value& x = graph[node.operands[0]];
  WindowProblem p{anchor,
                  x.type.dims,
                  node.type.dims,
                  node.Ints("kernel"),
                  node.Ints("strides"),
                  node.Ints("dilations"),
                  node.Ints("pads"),
                  node.Word("kind") == "max",
                  node.Int("count_include_pad") != 0,
                  1,
                  1,
                  ComputeType(x.type.dtype)};
  if (!IsFloat(p.dtype) || node.type.NumElements() == 0 || p.spatial() < 1) return std::nullopt;
  if (!Fused::Covers(workload, node.operands[0], {})) return std::nullopt;
  const ValueId anchors[] = {anchor};
  for (ValueId output : workload.outputs()) {
    if (graph[output].type.dims != node.type.dims) return std::nullopt;
    if (!Fused::Covers(workload, output, anchors)) return std::nullopt;
  }
  const std::vector<int> order = OrderByStride(graph[workload.outputs()[0]].type);
  const int last = static_cast<int>(p.out.size()) - 1;
  p.column = order.back() == 1 ? 1 : last;
  const bool vectors =
      (p.column == 1 ? Fused::Vectorises(workload, node.operands[0], 1, lanes)
                     : IsLocal(graph, node.operands[0], p.in)) &&
      std::all_of(workload.outputs().begin(), workload.outputs().end(), [&](ValueId output) {
        if (p.column == last && !IsLocal(graph, output, p.out, anchor)) {
          return false;
        }
        return Fused::Vectorises(workload, output, p.column, lanes, anchors);
      });
  if (vectors && p.Columns() > 1) p.lanes = lanes;
  return p;
}

LoweredKernel LowerWindow(const Workload& workload, const WindowProblem& problem,
                          const WindowKnobs& knobs) {
  return WindowEmitter(workload, problem, knobs).Run();
}

}  // namespace mlc::schedule
