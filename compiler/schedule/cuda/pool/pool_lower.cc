#include "compiler/schedule/cuda/pool/pool_lower.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "base/ceil_div.h"
#include "compiler/schedule/cuda/tile/gpu_launch.h"
#include "compiler/schedule/fusion/fused.h"
#include "compiler/schedule/fusion/fused_rows.h"
#include "compiler/schedule/problem/pointwise_piece.h"

namespace mlc::schedule::gpu {

using graph::ValueId;
using graph::Workload;
using ir::ExprRef;

namespace {

constexpr int kAccessBytes = 16;
constexpr int kMaxLanes = 8;
// Windows up to this are unrolled.
constexpr int64_t kUnrolledTaps = 64;

ExprRef Both(const ExprRef& a, const ExprRef& b) {
  return !a ? b : !b ? a : Do(ScalarOp::kAnd, a, b);
}

class PoolEmitter {
 public:
  PoolEmitter(const Workload& workload, const WindowProblem& problem)
      : p_(problem),
        x_(workload.graph()[problem.anchor].operands[0]),
        builder_("pool"),
        fused_(workload, builder_) {
    if (AllNarrow(workload)) builder_.Approximate();
    acc_ = builder_.Registers("acc", problem.dtype, problem.lanes, 1);
    const graph::TensorType& type = workload.graph()[workload.outputs()[0]].type;
    for (int d : OrderByStride(type)) {
      if (d != problem.column) outer_.push_back(d);
    }
  }

  LoweredKernel Run(int threads) {
    const int64_t points = PoolPoints(p_);
    builder_.Launch(CeilDiv(points, threads), threads, 0,
                    [&](const ExprRef& block, const ExprRef& thread) {
                      BeginLaunch(builder_);
                      const ExprRef n = builder_.Let("n", block * int64_t{threads} + thread);
                      if (points % threads == 0) return Output(n);
                      builder_.If(Less(n, ir::Int(points)), [&] { Output(n); });
                    });
    return {builder_.Finish(), fused_.bindings(), {}};
  }

 private:
  void Output(const ExprRef& n) {
    const int64_t vectors = p_.Columns() / p_.lanes;
    at_.assign(p_.out.size(), ir::Int(0));
    SetRow(builder_, builder_.Let("row", ir::FloorDiv(n, vectors)), outer_, p_.out, at_);
    at_[static_cast<size_t>(p_.column)] =
        builder_.Let("cv", ir::Mod(n, vectors)) * int64_t{p_.lanes};
    ExprRef inside;
    start_.clear();
    for (size_t s = 0; s < p_.spatial(); ++s) {
      start_.push_back(builder_.Let("s", at_[s + 2] * p_.strides[s] - p_.pads[s]));
      int64_t first = 0, last = 0;
      p_.Inside(s, &first, &last);
      if (first > 0) inside = Both(inside, Do(ScalarOp::kLessEqual, ir::Int(first), at_[s + 2]));
      if (last < p_.out[s + 2]) inside = Both(inside, Less(at_[s + 2], ir::Int(last)));
    }
    if (!inside) return Window(false);
    builder_.If(
        inside, [&] { Window(false); }, [&] { Window(true); });
  }

  void Window(bool edge) {
    const double neutral = p_.max ? -std::numeric_limits<double>::infinity() : 0;
    builder_.Set(acc_, ir::Int(0), ir::Float(p_.dtype, neutral, p_.lanes));
    std::vector<ExprRef> from = at_;
    const std::function<void(size_t)> taps = [&](size_t s) {
      if (s == p_.spatial()) return Tap(from);
      const auto body = [&](const ExprRef& k) {
        const ExprRef c = builder_.Let("c", start_[s] + k * p_.dilations[s]);
        from[s + 2] = c;
        if (!edge) return taps(s + 1);
        builder_.If(Both(Do(ScalarOp::kLessEqual, ir::Int(0), c), Less(c, ir::Int(p_.in[s + 2]))),
                    [&] { taps(s + 1); });
      };
      if (p_.Taps() <= kUnrolledTaps) {
        builder_.Unrolled("k", p_.kernel[s], body);
      } else {
        builder_.For("k", p_.kernel[s], body);
      }
    };
    taps(0);
    ExprRef value = builder_.Get(acc_, ir::Int(0));
    if (!p_.max) value = Do(ScalarOp::kDiv, value, Count(edge));
    const int dim = p_.lanes > 1 ? p_.column : -1;
    fused_.StoreOutputs({at_, dim, p_.lanes, nullptr}, {{p_.anchor, value}});
  }

  void Tap(const std::vector<ExprRef>& from) {
    const int dim = p_.lanes > 1 ? p_.column : -1;
    const ExprRef x = Widened(fused_.Emit(x_, {from, dim, p_.lanes, nullptr}), p_.lanes);
    builder_.Set(acc_, ir::Int(0),
                 Do(p_.max ? ScalarOp::kMax : ScalarOp::kAdd, builder_.Get(acc_, ir::Int(0)), x));
  }

  // The number of elements that an average divides by.
  ExprRef Count(bool edge) {
    if (p_.count_padding || !edge) {
      return ir::Float(p_.dtype, static_cast<double>(p_.Taps()), p_.lanes);
    }
    ExprRef count = ir::Int(1);
    for (size_t s = 0; s < p_.spatial(); ++s) {
      const int64_t dilation = p_.dilations[s];
      const ExprRef low =
          ir::Max(ir::Int(0), ir::FloorDiv(ir::Int(dilation - 1) - start_[s], dilation));
      const ExprRef high = ir::Min(
          ir::Int(p_.kernel[s]), ir::FloorDiv(ir::Int(p_.in[s + 2] - 1) - start_[s], dilation) + 1);
      count = count * (high - low);
    }
    return Widened(ir::MakeCast(p_.dtype, builder_.Let("count", count)), p_.lanes);
  }

  const WindowProblem& p_;
  const ValueId x_;
  ir::KernelBuilder builder_;
  Fused fused_;
  ir::BufferId acc_ = 0;
  std::vector<int> outer_;
  std::vector<ExprRef> at_, start_;
};

}  // namespace

std::optional<WindowProblem> FindPool(const Workload& workload) {
  std::optional<WindowProblem> problem = FindWindow(workload, 1);
  if (!problem || problem->column != 1) return problem;
  int narrowest = 8;
  for (ValueId id : workload.outputs()) {
    narrowest = std::min(narrowest, SizeOf(workload.graph()[id].type.dtype));
  }
  for (int lanes = std::min(kMaxLanes, kAccessBytes / narrowest); lanes > 1; lanes /= 2) {
    if (problem->Columns() % lanes != 0) continue;
    std::optional<WindowProblem> wide = FindWindow(workload, lanes);
    if (wide && wide->lanes == lanes) return wide;
  }
  return problem;
}

int64_t PoolPoints(const WindowProblem& problem) {
  return problem.Rows() * (problem.Columns() / problem.lanes);
}

LoweredKernel LowerPool(const Workload& workload, const WindowProblem& problem, int threads) {
  return PoolEmitter(workload, problem).Run(threads);
}

}  // namespace mlc::schedule::gpu
