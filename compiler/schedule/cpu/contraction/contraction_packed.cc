#include "compiler/schedule/cpu/contraction/contraction_packed.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/ceil_div.h"

namespace mlc::schedule {

using ir::ExprRef;
using ir::Int;

namespace {

// Multiplications in a straight line, at most: see RegisterTile::Loop.
constexpr int64_t kMaxStraight = 448;
constexpr int64_t kLineBytes = 64;

int64_t BytesRead(const ContractionProblem& p) { return CeilDiv(p.depth, p.packed.codes_a_byte()); }

ExprRef ByteSplat(int64_t value, int lanes) {
  const auto one = std::make_shared<const ir::Expr>(ir::Expr{{DType::kU8, 1}, ir::IntImm{value}});
  return ir::MakeBroadcast(one, lanes);
}

}  // namespace

Preparation PanelsOf(const char* name, const graph::Workload& workload, const ContractionProblem& p,
                     const ContractionPlan& plan, int operand, int64_t length) {
  const graph::TensorType& type =
      workload.graph()[workload.operands()[static_cast<size_t>(operand)]].type;
  const int64_t width = plan.panel_width();
  const int64_t pitch = type.dims[1];
  const int64_t elements = plan.panels * length * width;
  ir::KernelBuilder b(name);
  const ir::BufferId source = b.In("w", type.dtype, type.Extent());
  const ir::BufferId packed = b.Out("packed", type.dtype, elements);
  b.Parallel("panel", plan.panels, [&](const ExprRef& panel) {
    const ExprRef columns = b.Let("cols", Int(p.columns) - panel * width);
    b.For("at", length, [&](const ExprRef& at) {
      b.Unrolled("v", plan.vectors, [&](const ExprRef& v) {
        const ExprRef column = v * int64_t{plan.lanes};
        ExprRef mask;
        if (p.columns % width != 0) {
          mask = ir::Max(Int(0), ir::Min(Int(plan.lanes), columns - column));
        }
        b.Store(packed, (panel * length + at) * width + column,
                b.Load(source, (panel * width + column) * pitch + at, plan.lanes, pitch, mask));
      });
    });
  });
  return {b.Finish(), {operand}, type.dtype, elements};
}

PackedBuffers DeclarePacked(const ContractionProblem& p, const ContractionPlan& plan,
                            ir::KernelBuilder& builder, std::vector<Binding>& bindings) {
  const int64_t scales = plan.panels * p.packed.blocks * plan.panel_width();
  int prepared = 0;
  const auto declare = [&](const char* name, DType dtype, int64_t elements) {
    bindings.push_back({Binding::Kind::kPrepared, prepared++});
    return builder.In(name, dtype, elements);
  };
  PackedBuffers buffers;
  buffers.codes = declare("codes", DType::kU8, plan.panels * BytesRead(p) * plan.panel_width());
  buffers.scales = declare("scales", p.packed.scales_dtype, scales);
  if (p.packed.zeros >= 0) buffers.zeros = declare("zeros", p.packed.zeros_dtype, scales);
  return buffers;
}

std::vector<Preparation> PackedPreparations(const graph::Workload& workload,
                                            const ContractionProblem& p,
                                            const ContractionPlan& plan) {
  std::vector<Preparation> preparations;
  preparations.push_back(PanelsOf("pack_codes", workload, p, plan, p.column_operand, BytesRead(p)));
  preparations.push_back(
      PanelsOf("pack_scales", workload, p, plan, p.packed.scales, p.packed.blocks));
  if (p.packed.zeros >= 0) {
    preparations.push_back(
        PanelsOf("pack_zeros", workload, p, plan, p.packed.zeros, p.packed.blocks));
  }
  return preparations;
}

PackedPanels::PackedPanels(const ContractionProblem& problem, const ContractionPlan& plan,
                           const PackedBuffers& buffers, RegisterTile& registers,
                           ir::KernelBuilder& builder)
    : p_(problem), plan_(plan), buffers_(buffers), registers_(registers), builder_(builder) {
  code_ = builder.Registers("code", DType::kU8, plan.lanes, plan.vectors);
  scale_ = builder.Registers("scale", DType::kF32, plan.lanes, plan.vectors);
  if (buffers.zeros >= 0) {
    zero_ = builder.Registers("zero", DType::kF32, plan.lanes, plan.vectors);
  }
  if (plan.decode) decoded_ = builder.Thread("panel", DType::kF32, DecodedElements(problem, plan));
}

void PackedPanels::LoadBlock(const ExprRef& at) {
  const auto load = [&](ir::BufferId from, ir::BufferId to, DType dtype) {
    builder_.Unrolled("v", plan_.vectors, [&](const ExprRef& v) {
      ExprRef value = builder_.Load(from, at + v * int64_t{plan_.lanes}, plan_.lanes);
      if (dtype != DType::kF32) value = ir::MakeCast(DType::kF32, value);
      builder_.Set(to, v, value);
    });
  };
  load(buffers_.scales, scale_, p_.packed.scales_dtype);
  if (zero_ >= 0) load(buffers_.zeros, zero_, p_.packed.zeros_dtype);
}

void PackedPanels::LoadCodes(const ExprRef& at) {
  builder_.Unrolled("v", plan_.vectors, [&](const ExprRef& v) {
    builder_.Set(code_, v,
                 builder_.Load(buffers_.codes, at + v * int64_t{plan_.lanes}, plan_.lanes));
  });
}

// In the order of graph::Dequantized, so that each number has the same bits.
ExprRef PackedPanels::Number(const ExprRef& vector, int j) {
  const int bits = p_.packed.bits;
  ExprRef code = builder_.Get(code_, vector);
  if (j > 0) {
    code = ir::MakeApply(ScalarOp::kDiv, {code, ByteSplat(int64_t{1} << (bits * j), plan_.lanes)});
  }
  if (j + 1 < p_.packed.codes_a_byte()) {
    code = ir::MakeApply(ScalarOp::kAnd, {code, ByteSplat((1 << bits) - 1, plan_.lanes)});
  }
  ExprRef number = ir::MakeCast(DType::kF32, code);
  if (zero_ >= 0) {
    number = ir::MakeApply(ScalarOp::kSub, {number, builder_.Get(zero_, vector)});
  } else if (p_.packed.zero != 0) {
    const auto zero = static_cast<double>(p_.packed.zero);
    number = ir::MakeApply(ScalarOp::kSub, {number, ir::Float(DType::kF32, zero, plan_.lanes)});
  }
  number = ir::MakeApply(ScalarOp::kMul, {number, builder_.Get(scale_, vector)});
  if (p_.column_dtype == DType::kF32) return number;
  return ir::MakeCast(DType::kF32, ir::MakeCast(p_.column_dtype, number));
}

void PackedPanels::Walk(const ExprRef& panel, const ExprRef& pass, int64_t unroll,
                        const Body& body) {
  const int64_t width = plan_.panel_width();
  const PackedColumns& packed = p_.packed;
  const int64_t depth = plan_.pass_depth(p_);
  const int64_t block_bytes = packed.block / packed.codes_a_byte();
  const ExprRef codes =
      builder_.Let("codes", panel * (BytesRead(p_) * width) +
                                pass * (plan_.k_chunk / packed.codes_a_byte() * width));
  const ExprRef scales = builder_.Let(
      "scales", panel * (packed.blocks * width) + pass * (plan_.k_chunk / packed.block * width));
  const int64_t whole = depth / packed.block;
  builder_.For("block", whole, [&](const ExprRef& block) {
    LoadBlock(scales + block * width);
    WalkBlock(codes + block * (block_bytes * width), block * packed.block, packed.block, unroll,
              body);
  });
  if (depth % packed.block == 0) return;
  LoadBlock(scales + whole * width);
  WalkBlock(codes + whole * (block_bytes * width), Int(whole * packed.block), depth % packed.block,
            unroll, body);
}

void PackedPanels::WalkBlock(const ExprRef& codes, const ExprRef& k, int64_t depth, int64_t unroll,
                             const Body& body) {
  const int a_byte = p_.packed.codes_a_byte();
  const int64_t width = plan_.panel_width();
  const int64_t bytes = depth / a_byte;
  const auto emit = [&](const ExprRef& byte, int count) {
    LoadCodes(codes + byte * width);
    body(k + byte * int64_t{a_byte}, count);
  };
  unroll = std::clamp<int64_t>(unroll, 1, std::max<int64_t>(1, bytes));
  const int64_t main = bytes / unroll * unroll;
  builder_.For("byte", Int(0), Int(main), unroll, [&](const ExprRef& byte) {
    for (int64_t at = 0; plan_.prefetch > 0 && at < unroll * width; at += kLineBytes) {
      builder_.Prefetch(buffers_.codes, codes + (byte + plan_.prefetch * 4) * width + at, 1);
    }
    builder_.Unrolled("u", unroll, [&](const ExprRef& u) { emit(byte + u, a_byte); });
  });
  builder_.For("byte", Int(main), Int(bytes), 1, [&](const ExprRef& byte) { emit(byte, a_byte); });
  if (depth % a_byte != 0) emit(Int(bytes), static_cast<int>(depth % a_byte));
}

void PackedPanels::Multiply(const RowBlock& block, const RowOperand& a, const ExprRef& panel,
                            const ExprRef& pass) {
  const int64_t step = int64_t{block.count()} * plan_.vectors * p_.packed.codes_a_byte();
  const int64_t unroll = std::min<int64_t>(plan_.unroll, std::max<int64_t>(1, kMaxStraight / step));
  Walk(panel, pass, unroll, [&](const ExprRef& k, int codes) {
    for (int j = 0; j < codes; ++j) {
      registers_.Step(block, a, k + int64_t{j},
                      [&](const ExprRef& vector) { return Number(vector, j); });
    }
  });
}

void PackedPanels::Decode(const ExprRef& panel, const ExprRef& pass) {
  Walk(panel, pass, plan_.unroll, [&](const ExprRef& k, int codes) {
    for (int j = 0; j < codes; ++j) {
      builder_.Unrolled("v", plan_.vectors, [&](const ExprRef& v) {
        builder_.Store(decoded_, (k + int64_t{j}) * plan_.panel_width() + v * int64_t{plan_.lanes},
                       Number(v, j));
      });
    }
  });
}

}  // namespace mlc::schedule
