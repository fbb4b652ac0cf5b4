#include "compiler/schedule/cuda/few_bits/few_bits_pack.h"

#include <memory>

namespace mlc::schedule {
namespace {

using ir::ExprRef;
using ir::Int;

ExprRef I32(int64_t value) {
  return std::make_shared<const ir::Expr>(ir::Expr{{DType::kI32, 1}, ir::IntImm{value}});
}

// 2^bit as an i32, which wraps around at its sign.
ExprRef Power(int bit) { return I32(static_cast<int32_t>(uint32_t{1} << bit)); }

const graph::TensorType& TypeOf(const graph::Workload& workload, int operand) {
  return workload.graph()[workload.operands()[static_cast<size_t>(operand)]].type;
}

// Of a tile, in its end.
ExprRef FirstColumn(const FewBitsForm& form, const ExprRef& tile) {
  return (form.ends == 1 ? tile : ir::FloorDiv(tile, form.ends)) * form.kColumns;
}

class CodePacking {
 public:
  CodePacking(const graph::Workload& workload, const GpuContraction& g)
      : g_(g), form_(FormOf(g)), b_("few_bits_pack_codes") {
    const graph::TensorType& type = TypeOf(workload, g.p.column_operand);
    source_ = b_.In("w", type.dtype, type.Extent());
    packed_ = b_.Out("packed", form_.codes, form_.code_elements());
  }

  Preparation Run() {
    b_.Parallel("panel", form_.tiles * form_.chunks, [&](const ExprRef& panel) {
      const ExprRef tile = ir::FloorDiv(panel, form_.chunks);
      const ExprRef n = b_.Let("first_n", FirstColumn(form_, tile));
      if (form_.ends > 1) end_ = b_.Let("end", ir::Mod(tile, form_.ends) * g_.n);
      const ExprRef k = b_.Let("first_k", ir::Mod(panel, form_.chunks) * form_.chunk());
      b_.For("column", 8, [&](const ExprRef& column) {
        b_.For("t", 4, [&](const ExprRef& t) {
          const ExprRef to =
              b_.Let("to", panel * form_.chunk_lanes() + (column * 4 + t) * int64_t{form_.lanes()});
          for (int i = 0; i < form_.lanes(); ++i) {
            b_.Store(packed_, to + int64_t{i},
                     form_.is_float8() ? Number(i, n + column, k, t) : Word(i, n + column, k, t));
          }
        });
      });
    });
    return {b_.Finish(), {g_.p.column_operand}, form_.codes, form_.code_elements()};
  }

 private:
  // Code `lane` of a fragment, of the thread in row `column` and at position t: see ir::Unpack.
  ExprRef CodeOf(int fragment, int lane, const ExprRef& column, const ExprRef& k,
                 const ExprRef& t) {
    const int k_in = 32 * (fragment / 2) + 4 * (fragment % 2) + 2 * (lane / 4) + lane % 2;
    return Code(column + int64_t{8 * (lane / 2 % 2)}, k + t * 8 + int64_t{k_in},
                k_in % g_.p.packed.codes_a_byte());
  }

  ExprRef Number(int i, const ExprRef& column, const ExprRef& k, const ExprRef& t) {
    return CodeOf(i / 8, i % 8, column, k, t);
  }

  ExprRef Word(int word, const ExprRef& column, const ExprRef& k, const ExprRef& t) {
    ExprRef sum;
    for (int i = 0; i < 32 / form_.bits; ++i) {
      const int fragment = form_.bits == 4 ? word : word / 2;
      const int lane = form_.bits == 4 ? i : word % 2 * 4 + i;
      const int bit = form_.bits == 4 ? 16 * (lane % 2) + 4 * (lane / 2) : 8 * (lane % 4);
      const ExprRef code = CodeOf(fragment, lane, column, k, t);
      const ExprRef placed = ir::MakeApply(ScalarOp::kMul, {code, Power(bit)});
      sum = sum ? ir::MakeApply(ScalarOp::kAdd, {sum, placed}) : placed;
    }
    return sum;
  }

  // Code `place` of a byte. Past the end: any one, which is multiplied by zero or not stored.
  ExprRef Code(const ExprRef& column, const ExprRef& k, int place) {
    const PackedColumns& packed = g_.p.packed;
    ExprRef n = g_.n % form_.kColumns == 0 ? column : ir::Min(column, Int(g_.n - 1));
    if (end_) n = n + end_;
    ExprRef byte = ir::FloorDiv(k, packed.codes_a_byte());
    if (g_.k % form_.chunk() != 0) {
      byte = ir::Min(byte, Int((g_.k - 1) / packed.codes_a_byte()));
    }
    const ExprRef loaded = b_.Load(source_, n * packed.bytes + byte);
    if (form_.is_float8()) return loaded;
    ExprRef code = ir::MakeCast(DType::kI32, loaded);
    if (place > 0) code = ir::MakeApply(ScalarOp::kDiv, {code, Power(place * packed.bits)});
    if (packed.bits == 8) return code;
    return ir::MakeApply(ScalarOp::kAnd, {code, I32((int64_t{1} << packed.bits) - 1)});
  }

  const GpuContraction& g_;
  const FewBitsForm form_;
  ir::KernelBuilder b_;
  ir::BufferId source_ = 0, packed_ = 0;
  ExprRef end_;  // the first column of the tile's end; null: 0
};

// Numbers of blocks, with `bias` added.
Preparation PackBlocks(const char* name, const graph::Workload& workload, const GpuContraction& g,
                       int operand, int bias) {
  const FewBitsForm form = FormOf(g);
  const graph::TensorType& type = TypeOf(workload, operand);
  ir::KernelBuilder b(name);
  const ir::BufferId source = b.In("w", type.dtype, type.Extent());
  const ir::BufferId packed = b.Out("packed", g.p.column_dtype, form.scale_elements());
  b.Parallel("tile", form.tiles, [&](const ExprRef& tile) {
    b.For("block", form.blocks, [&](const ExprRef& block) {
      const ExprRef at = b.Let("at", ir::Min(block, Int(g.p.packed.blocks - 1)));
      const ExprRef to = b.Let("to", (tile * form.blocks + block) * form.kColumns);
      b.For("column", 8, [&](const ExprRef& column) {
        for (int64_t half = 0; half < 2; ++half) {
          ExprRef n = ir::Min(FirstColumn(form, tile) + column + half * 8, Int(g.n - 1));
          if (form.ends > 1) n = n + ir::Mod(tile, form.ends) * g.n;
          const ExprRef loaded = b.Load(source, n * g.p.packed.blocks + at);
          ExprRef value = ir::MakeCast(DType::kF32, loaded);
          if (bias != 0) {
            value = ir::MakeApply(ScalarOp::kAdd, {value, ir::Float(DType::kF32, bias)});
          }
          b.Store(packed, to + column * 2 + half, ir::MakeCast(g.p.column_dtype, value));
        }
      });
    });
  });
  return {b.Finish(), {operand}, g.p.column_dtype, form.scale_elements()};
}

}  // namespace

std::vector<Preparation> FewBitsPreparations(const graph::Workload& workload,
                                             const GpuContraction& g) {
  std::vector<Preparation> preparations;
  preparations.push_back(CodePacking(workload, g).Run());
  preparations.push_back(PackBlocks("few_bits_pack_scales", workload, g, g.p.packed.scales, 0));
  const FewBitsForm form = FormOf(g);
  if (form.zeros) {
    preparations.push_back(
        PackBlocks("few_bits_pack_zeros", workload, g, g.p.packed.zeros, form.bias));
  }
  return preparations;
}

}  // namespace mlc::schedule
