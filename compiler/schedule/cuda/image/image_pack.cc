#include "compiler/schedule/cuda/image/image_pack.h"

#include "compiler/ir/build.h"

namespace mlc::schedule {

using ir::ExprRef;
using ir::FloorDiv;
using ir::Int;
using ir::Mod;

namespace {

ExprRef Within(const ExprRef& x, int64_t size) {
  const auto less = [](const ExprRef& a, const ExprRef& b) {
    return ir::MakeApply(ScalarOp::kLess, {a, b});
  };
  return ir::MakeApply(ScalarOp::kAnd,
                       {ir::MakeApply(ScalarOp::kLessEqual, {Int(0), x}), less(x, Int(size))});
}

ExprRef Clamped(const ExprRef& x, int64_t size) {
  return ir::Max(Int(0), ir::Min(x, Int(size - 1)));
}

class Packing {
 public:
  Packing(const graph::Workload& workload, const ImageProblem& p, const ImagePlan& plan)
      : p_(p), plan_(plan), b_("image_pack") {
    const graph::TensorType& type =
        workload.graph()[workload.operands()[static_cast<size_t>(p.filter_operand)]].type;
    strides_ = type.EffectiveStrides();
    from_ = b_.In("w", type.dtype, type.Extent());
    to_ = b_.Out("packed", type.dtype, Elements());
  }

  Preparation Run() {
    const int64_t pairs = plan_.bn / 16;
    b_.Parallel("panel", plan_.tiles_n * p_.Steps(), [&](const ExprRef& panel) {
      const ExprRef tile = b_.Let("tile", FloorDiv(panel, p_.Steps()));
      const ExprRef step = b_.Let("k_step", Mod(panel, p_.Steps()));
      b_.For("pair", pairs, [&](const ExprRef& pair) {
        b_.For("lane", 32, [&](const ExprRef& lane) {
          const ExprRef to = b_.Let("to", ((panel * pairs + pair) * 32 + lane) * Piece());
          for (int64_t e = 0; e < Piece(); ++e) Element(tile, step, pair, lane, e, to + e);
        });
      });
    });
    return {b_.Finish(), {p_.filter_operand}, p_.dtype, Elements()};
  }

 private:
  int64_t Elements() const { return plan_.tiles_n * plan_.filter_elements(p_); }
  int64_t Piece() const { return 16 / SizeOf(p_.dtype); }

  void Element(const ExprRef& tile, const ExprRef& step, const ExprRef& pair, const ExprRef& lane,
               int64_t e, const ExprRef& to) {
    const int64_t half = Piece() / 2, in_half = e % half;
    const ExprRef column_tile = pair * 2 + e / half;
    const ExprRef column = FloorDiv(lane, 4);
    const ExprRef filter =
        b_.Let("filter", tile * plan_.bn + FloorDiv(column_tile, 4) * 32 + FloorDiv(column, 2) * 8 +
                             Mod(column_tile, 4) * 2 + Mod(column, 2));
    const ExprRef octet = b_.Let("octet", p_.narrow() ? step * 2 + in_half / 2 : step);
    const ExprRef in_octet =
        p_.narrow() ? Mod(lane, 4) * 2 + in_half % 2 : Mod(lane, 4) + in_half * 4;
    const ExprRef ky = b_.Let("ky", FloorDiv(octet, p_.RowOctets()));
    const ExprRef at =
        b_.Let("at", Mod(octet, p_.RowOctets()) * 8 + in_octet - p_.Lead() + p_.stored);
    const ExprRef kx = b_.Let("kx", FloorDiv(at, p_.stored) - 1);
    const ExprRef channel = b_.Let("c", Mod(at, p_.stored));
    ExprRef inside = ir::MakeApply(ScalarOp::kAnd, {Within(kx, p_.x.taps), Within(ky, p_.y.taps)});
    inside = ir::MakeApply(ScalarOp::kAnd, {inside, Within(channel, p_.channels)});
    inside = ir::MakeApply(ScalarOp::kAnd, {inside, Within(filter, p_.filters)});
    const ExprRef from =
        Clamped(filter, p_.filters) * strides_[0] + Clamped(channel, p_.channels) * strides_[1] +
        Clamped(ky, p_.y.taps) * strides_[2] + Clamped(kx, p_.x.taps) * strides_[3];
    ExprRef value = b_.Load(from_, from);
    if (p_.narrow()) value = ir::MakeCast(DType::kF32, value);
    value = ir::MakeApply(ScalarOp::kSelect, {inside, value, ir::Float(DType::kF32, 0)});
    if (!p_.narrow()) value = ir::MakeApply(ScalarOp::kRoundTf32, {value});
    b_.Store(to_, to, p_.narrow() ? ir::MakeCast(p_.dtype, value) : value);
  }

  const ImageProblem& p_;
  const ImagePlan& plan_;
  ir::KernelBuilder b_;
  std::vector<int64_t> strides_;
  ir::BufferId from_ = 0, to_ = 0;
};

}  // namespace

Preparation PackImageFilters(const graph::Workload& workload, const ImageProblem& p,
                             const ImagePlan& plan) {
  return Packing(workload, p, plan).Run();
}

}  // namespace mlc::schedule
