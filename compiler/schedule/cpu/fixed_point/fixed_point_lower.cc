#include "compiler/schedule/cpu/fixed_point/fixed_point_lower.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "compiler/schedule/cpu/fixed_point/fixed_point_columns.h"
#include "compiler/schedule/cpu/fixed_point/fixed_point_rows.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule {
namespace {

using ir::ExprRef;
using ir::Int;

constexpr int64_t kLineWords = 16;

ExprRef Apply(ScalarOp op, ExprRef a, ExprRef b) {
  return ir::MakeApply(op, {std::move(a), std::move(b)});
}

ExprRef WordSplat(int64_t value, int lanes) {
  const auto one = std::make_shared<const ir::Expr>(ir::Expr{{DType::kI32, 1}, ir::IntImm{value}});
  return ir::MakeBroadcast(one, lanes);
}

class FixedPointLowering {
 public:
  FixedPointLowering(const graph::Workload& workload, const ContractionProblem& problem,
                     const target::Target& target, const FixedPointPlan& plan);

  LoweredKernel Run();

 private:
  // Rows of a tile, from `at` on.
  struct Tile {
    ExprRef at;
    int rows = 1;
  };

  std::vector<int> Without() const;
  void DeclareColumns();
  void DeclareRegisters();
  void EmitPanel(const ExprRef& panel);
  void EmitTile(const Tile& tile, const ExprRef& panel);
  void LoadBlock(const ExprRef& at);
  void EmitGroups(const Tile& tile, const ExprRef& codes, const ExprRef& first, int64_t count);
  void EmitGroup(const Tile& tile, const ExprRef& codes, const ExprRef& group);
  void StartSums(const Tile& tile, const ExprRef& group);
  void MultiplyWord(const Tile& tile, const ExprRef& codes, const ExprRef& group, int64_t word);
  void LoadPart(int part);
  ExprRef Products(const ExprRef& row, const ExprRef& v);
  void AddGroup(const Tile& tile, const ExprRef& group);
  void Store(const Tile& tile, const ExprRef& panel, int64_t columns);
  void StoreVector(const ExprRef& row, const ExprRef& sum, const ExprRef& column,
                   const ExprRef& active);

  void ForVectors(const ir::KernelBuilder::Body& body) {
    builder_.Unrolled("v", plan_.vectors, body);
  }
  void ForRows(const Tile& tile, const ir::KernelBuilder::Body& body) {
    builder_.Unrolled("r", tile.rows, body);
  }
  // The number of a row's group, of all rows.
  ExprRef Unit(const Tile& tile, const ExprRef& row, const ExprRef& group) const {
    return (tile.at + row) * plan_.groups + group;
  }
  ExprRef Sum(const ExprRef& row, const ExprRef& v) const {
    return row * int64_t{plan_.vectors} + v;
  }
  ExprRef Digit(const ExprRef& row, const ExprRef& v, int64_t digit) const {
    return Sum(row, v) * int64_t{plan_.digits} + digit;
  }

  const graph::Workload& workload_;
  const ContractionProblem& p_;
  const target::Target& target_;
  const FixedPointPlan& plan_;
  // A kernel's buffers are numbered as they are declared.
  ir::KernelBuilder builder_;
  Fused fused_;
  std::vector<Binding> bindings_;
  ir::BufferId codes_ = 0, scales_ = 0, zeros_ = -1;
  FixedPointRows rows_;
  // Registers.
  ir::BufferId digit_sum_ = 0;  // of a group's products, by digit
  ir::BufferId sum_ = 0;        // f32
  ir::BufferId code_ = 0, part_ = 0, scale_ = 0, zero_ = -1;
};

FixedPointLowering::FixedPointLowering(const graph::Workload& workload,
                                       const ContractionProblem& problem,
                                       const target::Target& target, const FixedPointPlan& plan)
    : workload_(workload),
      p_(problem),
      target_(target),
      plan_(plan),
      builder_("fixed_point"),
      fused_(workload, builder_, Without()),
      bindings_(fused_.bindings()) {
  DeclareColumns();
}

// Weights that only the anchor reads are replaced by their packed form.
std::vector<int> FixedPointLowering::Without() const {
  std::vector<int> without = {p_.column_operand, p_.packed.scales};
  if (p_.packed.zeros >= 0) without.push_back(p_.packed.zeros);
  std::erase_if(without, [&](int operand) {
    const graph::ValueId id = workload_.operands()[static_cast<size_t>(operand)];
    return workload_.graph().Users()[static_cast<size_t>(id)].size() != 1 ||
           std::count(workload_.outputs().begin(), workload_.outputs().end(), id) != 0;
  });
  return without;
}

void FixedPointLowering::DeclareColumns() {
  const int64_t scales = plan_.panels * p_.packed.blocks * plan_.width();
  int prepared = 0;
  const auto declare = [&](const char* name, DType dtype, int64_t elements) {
    bindings_.push_back({Binding::Kind::kPrepared, prepared++});
    return builder_.In(name, dtype, elements);
  };
  codes_ = declare("codes", DType::kI32, plan_.panels * plan_.panel_words());
  scales_ = declare("scales", p_.packed.scales_dtype, scales);
  if (p_.packed.zeros >= 0) zeros_ = declare("zeros", p_.packed.zeros_dtype, scales);
}

void FixedPointLowering::DeclareRegisters() {
  const int64_t sums = int64_t{plan_.rows} * plan_.vectors;
  digit_sum_ = builder_.Registers("digit_sum", DType::kI32, plan_.lanes, sums * plan_.digits);
  sum_ = builder_.Registers("sum", DType::kF32, plan_.lanes, sums);
  code_ = builder_.Registers("code", DType::kI32, plan_.lanes, plan_.vectors);
  part_ = builder_.Registers("part_codes", DType::kI32, plan_.lanes, plan_.vectors);
  scale_ = builder_.Registers("scale", DType::kF32, plan_.lanes, plan_.vectors);
  if (zeros_ >= 0) zero_ = builder_.Registers("zero", DType::kF32, plan_.lanes, plan_.vectors);
}

LoweredKernel FixedPointLowering::Run() {
  rows_ = EmitFixedPointRows(p_, plan_, target_, fused_.OperandBuffer(p_.row_operand), builder_);
  DeclareRegisters();
  builder_.Parallel("chunk", plan_.column_chunks, [&](const ExprRef& chunk) {
    const int64_t chunks = plan_.column_chunks;
    builder_.For("panel", ir::FloorDiv(chunk * plan_.panels, chunks),
                 ir::FloorDiv((chunk + 1) * plan_.panels, chunks), 1,
                 [&](const ExprRef& panel) { EmitPanel(panel); });
  });
  return {builder_.Finish(), bindings_, FixedPointPreparations(workload_, p_, plan_)};
}

void FixedPointLowering::EmitPanel(const ExprRef& panel) {
  const int64_t whole = p_.inner.out / plan_.rows;
  const auto rest = static_cast<int>(p_.inner.out % plan_.rows);
  builder_.For("tile", whole, [&](const ExprRef& tile) {
    EmitTile({builder_.Let("at", tile * int64_t{plan_.rows}), plan_.rows}, panel);
  });
  if (rest > 0) EmitTile({Int(whole * plan_.rows), rest}, panel);
}

void FixedPointLowering::EmitTile(const Tile& tile, const ExprRef& panel) {
  const ExprRef none = ir::Float(DType::kF32, 0.0, plan_.lanes);
  ForRows(tile, [&](const ExprRef& r) {
    ForVectors([&](const ExprRef& v) { builder_.Set(sum_, Sum(r, v), none); });
  });
  const ExprRef codes = builder_.Let("codes_at", panel * plan_.panel_words());
  const ExprRef scales = builder_.Let("scales_at", panel * (p_.packed.blocks * plan_.width()));
  const int64_t whole = plan_.groups / plan_.groups_a_block;
  const int64_t rest = plan_.groups % plan_.groups_a_block;
  builder_.For("block", whole, [&](const ExprRef& block) {
    LoadBlock(scales + block * plan_.width());
    EmitGroups(tile, codes, block * plan_.groups_a_block, plan_.groups_a_block);
  });
  if (rest > 0) {
    LoadBlock(scales + whole * plan_.width());
    EmitGroups(tile, codes, Int(whole * plan_.groups_a_block), rest);
  }
  const int64_t tail = p_.columns - (plan_.panels - 1) * plan_.width();
  if (tail == plan_.width() || plan_.panels == 1) return Store(tile, panel, tail);
  builder_.If(
      Apply(ScalarOp::kLess, panel, Int(plan_.panels - 1)),
      [&] { Store(tile, panel, plan_.width()); }, [&] { Store(tile, panel, tail); });
}

void FixedPointLowering::LoadBlock(const ExprRef& at) {
  const auto load = [&](ir::BufferId from, ir::BufferId to, DType dtype) {
    ForVectors([&](const ExprRef& v) {
      ExprRef value = builder_.Load(from, at + v * int64_t{plan_.lanes}, plan_.lanes);
      if (dtype != DType::kF32) value = ir::MakeCast(DType::kF32, value);
      builder_.Set(to, v, value);
    });
  };
  // As far ahead as the codes are.
  const int64_t blocks = plan_.prefetch / (plan_.words() * plan_.vectors * plan_.groups_a_block);
  if (blocks > 0) {
    ForVectors([&](const ExprRef& v) {
      builder_.Prefetch(scales_, at + (v * int64_t{plan_.lanes} + blocks * plan_.width()), 1);
    });
  }
  load(scales_, scale_, p_.packed.scales_dtype);
  if (zero_ >= 0) load(zeros_, zero_, p_.packed.zeros_dtype);
}

void FixedPointLowering::EmitGroups(const Tile& tile, const ExprRef& codes, const ExprRef& first,
                                    int64_t count) {
  builder_.For("g", count, [&](const ExprRef& g) {
    const ExprRef group = builder_.Let("group", first + g);
    EmitGroup(tile, codes + group * (plan_.words() * plan_.width()), group);
  });
}

void FixedPointLowering::EmitGroup(const Tile& tile, const ExprRef& codes, const ExprRef& group) {
  for (int64_t at = 0; plan_.prefetch > 0 && at < plan_.words() * plan_.width(); at += kLineWords) {
    builder_.Prefetch(codes_, codes + (plan_.prefetch * kLineWords + at), 1);
  }
  StartSums(tile, group);
  for (int64_t word = 0; word < plan_.words(); ++word) MultiplyWord(tile, codes, group, word);
  AddGroup(tile, group);
}

void FixedPointLowering::StartSums(const Tile& tile, const ExprRef& group) {
  const ExprRef none = WordSplat(0, plan_.lanes);
  ForRows(tile, [&](const ExprRef& r) {
    const auto start = [&](int64_t which) {
      if (rows_.starts < 0) return none;
      const ExprRef at = Unit(tile, r, group) * int64_t{2} + which;
      return ir::MakeBroadcast(builder_.Load(rows_.starts, at), plan_.lanes);
    };
    ForVectors([&](const ExprRef& v) {
      const int64_t top = plan_.digits - 1;
      for (int64_t digit = 0; digit < top; ++digit) {
        builder_.Set(digit_sum_, Digit(r, v, digit), digit == 0 ? start(0) : none);
      }
      builder_.Set(digit_sum_, Digit(r, v, top), start(1));
    });
  });
}

// The codes of a part at the top of their bytes: there, CodeFactor times what they are.
void FixedPointLowering::LoadPart(int part) {
  const int bits = p_.packed.bits;
  const int64_t shift = int64_t{1} << (8 - bits * (part + 1));
  const uint32_t top = ((1u << bits) - 1) << (8 - bits);
  const auto mask = static_cast<int32_t>(top * 0x01010101u);
  ForVectors([&](const ExprRef& v) {
    ExprRef code = builder_.Get(code_, v);
    if (shift > 1) code = Apply(ScalarOp::kMul, code, WordSplat(shift, plan_.lanes));
    if (plan_.parts > 1) code = Apply(ScalarOp::kAnd, code, WordSplat(mask, plan_.lanes));
    builder_.Set(part_, v, code);
  });
}

void FixedPointLowering::MultiplyWord(const Tile& tile, const ExprRef& codes, const ExprRef& group,
                                      int64_t word) {
  ForVectors([&](const ExprRef& v) {
    builder_.Set(code_, v,
                 builder_.Load(codes_, codes + word * plan_.width() + v * int64_t{plan_.lanes},
                               plan_.lanes));
  });
  for (int part = 0; part < plan_.parts; ++part) {
    LoadPart(part);
    ForRows(tile, [&](const ExprRef& r) {
      for (int64_t digit = 0; digit < plan_.digits; ++digit) {
        const ExprRef at =
            (Unit(tile, r, group) * int64_t{plan_.digits} + digit) * plan_.digit_words();
        const ExprRef digits = builder_.Load(rows_.digits, at + (part * plan_.words() + word));
        ForVectors([&](const ExprRef& v) {
          builder_.Set(
              digit_sum_, Digit(r, v, digit),
              ir::MakeApply(ScalarOp::kDot4,
                            {builder_.Get(part_, v), ir::MakeBroadcast(digits, plan_.lanes),
                             builder_.Get(digit_sum_, Digit(r, v, digit))}));
        });
      }
    });
  }
}

// The products of a group, of all digits.
ExprRef FixedPointLowering::Products(const ExprRef& row, const ExprRef& v) {
  const auto digit = [&](int64_t d) { return builder_.Get(digit_sum_, Digit(row, v, d)); };
  const int64_t top = plan_.digits - 1;
  const ExprRef highest = ir::MakeCast(DType::kF32, digit(top));
  if (top == 0) return highest;
  ExprRef low = digit(0);
  for (int64_t d = 1; d < top; ++d) {
    const ExprRef value = WordSplat(int64_t{1} << (kDigitBits * d), plan_.lanes);
    low = Apply(ScalarOp::kAdd, low, Apply(ScalarOp::kMul, digit(d), value));
  }
  const auto value = static_cast<double>(int64_t{1} << (kDigitBits * top));
  return ir::MakeApply(ScalarOp::kFma, {highest, ir::Float(DType::kF32, value, plan_.lanes),
                                        ir::MakeCast(DType::kF32, low)});
}

// sum += scale * factor * (products of the digits, less zero times the row's sum).
void FixedPointLowering::AddGroup(const Tile& tile, const ExprRef& group) {
  const auto splat = [&](ir::BufferId buffer, const ExprRef& at) {
    return ir::MakeBroadcast(builder_.Load(buffer, at), plan_.lanes);
  };
  ForRows(tile, [&](const ExprRef& r) {
    const ExprRef unit = Unit(tile, r, group);
    ForVectors([&](const ExprRef& v) {
      ExprRef products = Products(r, v);
      if (zero_ >= 0) {
        products = ir::MakeApply(ScalarOp::kFma,
                                 {builder_.Get(zero_, v), splat(rows_.totals, unit), products});
      }
      const ExprRef scaled = Apply(ScalarOp::kMul, products, splat(rows_.factors, unit));
      builder_.Set(sum_, Sum(r, v),
                   ir::MakeApply(ScalarOp::kFma,
                                 {scaled, builder_.Get(scale_, v), builder_.Get(sum_, Sum(r, v))}));
    });
  });
}

void FixedPointLowering::Store(const Tile& tile, const ExprRef& panel, int64_t columns) {
  const int64_t full = columns / plan_.lanes;
  const int64_t rest = columns % plan_.lanes;
  ForRows(tile, [&](const ExprRef& r) {
    const auto store = [&](const ExprRef& v, const ExprRef& active) {
      StoreVector(tile.at + r, Sum(r, v), panel * plan_.width() + v * int64_t{plan_.lanes}, active);
    };
    builder_.Unrolled("v", full, [&](const ExprRef& v) { store(v, nullptr); });
    if (rest > 0) store(Int(full), Int(rest));
  });
}

void FixedPointLowering::StoreVector(const ExprRef& row, const ExprRef& sum, const ExprRef& column,
                                     const ExprRef& active) {
  Point point;
  point.at.assign(static_cast<size_t>(p_.rank), Int(0));
  point.at[static_cast<size_t>(p_.inner.dim)] = row;
  point.at[static_cast<size_t>(p_.column_dim)] = column;
  point.dim = p_.column_dim;
  point.lanes = plan_.lanes;
  point.active = active;
  fused_.StoreOutputs(point, {{p_.anchor, builder_.Get(sum_, sum)}});
}

}  // namespace

LoweredKernel LowerFixedPoint(const graph::Workload& workload, const ContractionProblem& problem,
                              const target::Target& target, const FixedPointPlan& plan) {
  return FixedPointLowering(workload, problem, target, plan).Run();
}

}  // namespace mlc::schedule
