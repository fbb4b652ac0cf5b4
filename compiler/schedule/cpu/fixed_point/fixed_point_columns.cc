#include "compiler/schedule/cpu/fixed_point/fixed_point_columns.h"

#include <memory>

#include "base/ceil_div.h"
#include "compiler/ir/build.h"
#include "compiler/schedule/cpu/contraction/contraction_packed.h"

namespace mlc::schedule {

using ir::ExprRef;
using ir::Int;

namespace {

ExprRef Splat(DType dtype, int64_t value, int lanes) {
  const auto one = std::make_shared<const ir::Expr>(ir::Expr{{dtype, 1}, ir::IntImm{value}});
  return ir::MakeBroadcast(one, lanes);
}

// Packs the words of codes of one panel after the other.
class CodePacking {
 public:
  CodePacking(const ContractionProblem& problem, const FixedPointPlan& plan)
      : p_(problem), plan_(plan), builder_("pack_codes") {}

  Preparation Run(int operand) {
    source_ = builder_.In("w", DType::kU8, p_.columns * p_.packed.bytes);
    const int64_t elements = plan_.panels * plan_.panel_words();
    const ir::BufferId packed = builder_.Out("packed", DType::kI32, elements);
    builder_.Parallel("panel", plan_.panels, [&](const ExprRef& panel) {
      const ExprRef columns = builder_.Let("cols", Int(p_.columns) - panel * plan_.width());
      builder_.For("group", plan_.groups, [&](const ExprRef& group) {
        for (int64_t word = 0; word < plan_.words(); ++word) {
          builder_.Unrolled("v", plan_.vectors, [&](const ExprRef& v) {
            const ExprRef column = v * int64_t{plan_.lanes};
            const ExprRef row = ((panel * plan_.groups + group) * plan_.words() + word);
            builder_.Store(packed, row * plan_.width() + column,
                           Word(panel * plan_.width() + column, columns - column, group, word));
          });
        }
      });
    });
    return {builder_.Finish(), {operand}, DType::kI32, elements};
  }

 private:
  ExprRef Word(const ExprRef& column, const ExprRef& columns, const ExprRef& group, int64_t word) {
    ExprRef bits;
    for (int64_t byte = 0; byte < 4; ++byte) {
      for (int64_t part = 0; part < plan_.parts; ++part) {
        const int64_t step = byte * plan_.digit_words() + part * plan_.words() + word;
        const auto place = static_cast<uint32_t>(8 * byte + p_.packed.bits * part);
        const ExprRef code = ir::MakeCast(DType::kI32, Code(column, columns, group, step));
        const ExprRef placed = ir::MakeApply(
            ScalarOp::kMul,
            {code, Splat(DType::kI32, static_cast<int32_t>(1u << place), plan_.lanes)});
        bits = bits ? ir::MakeApply(ScalarOp::kOr, {bits, placed}) : placed;
      }
    }
    return bits;
  }

  // Of a step beyond the depth, the code of another column or zero: the row's digits are zero.
  ExprRef Code(const ExprRef& column, const ExprRef& columns, const ExprRef& group, int64_t step) {
    const int a_byte = p_.packed.codes_a_byte();
    const ExprRef at = group * (plan_.group / a_byte) + step / a_byte;
    const int64_t bytes = CeilDiv(p_.depth, int64_t{a_byte});
    ExprRef mask;
    if (p_.columns % plan_.width() != 0 || p_.depth % plan_.group != 0) {
      mask = ir::Min(Int(plan_.lanes), ir::Min(columns, (Int(bytes) - at) * int64_t{plan_.lanes}));
      mask = ir::Max(Int(0), mask);
    }
    ExprRef code =
        builder_.Load(source_, column * p_.packed.bytes + at, plan_.lanes, p_.packed.bytes, mask);
    const int64_t shift = step % a_byte * p_.packed.bits;
    if (shift > 0) {
      code = ir::MakeApply(ScalarOp::kDiv,
                           {code, Splat(DType::kU8, int64_t{1} << shift, plan_.lanes)});
    }
    if (a_byte == 1) return code;
    return ir::MakeApply(
        ScalarOp::kAnd, {code, Splat(DType::kU8, (int64_t{1} << p_.packed.bits) - 1, plan_.lanes)});
  }

  const ContractionProblem& p_;
  const FixedPointPlan& plan_;
  ir::KernelBuilder builder_;
  ir::BufferId source_ = 0;
};

}  // namespace

std::vector<Preparation> FixedPointPreparations(const graph::Workload& workload,
                                                const ContractionProblem& problem,
                                                const FixedPointPlan& plan) {
  ContractionPlan panels;
  panels.lanes = plan.lanes;
  panels.vectors = plan.vectors;
  panels.panels = plan.panels;
  const PackedColumns& packed = problem.packed;
  std::vector<Preparation> preparations;
  preparations.push_back(CodePacking(problem, plan).Run(problem.column_operand));
  preparations.push_back(
      PanelsOf("pack_scales", workload, problem, panels, packed.scales, packed.blocks));
  if (packed.zeros >= 0) {
    preparations.push_back(
        PanelsOf("pack_zeros", workload, problem, panels, packed.zeros, packed.blocks));
  }
  return preparations;
}

}  // namespace mlc::schedule
