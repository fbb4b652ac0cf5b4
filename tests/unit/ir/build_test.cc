#include "compiler/ir/build.h"

#include <gtest/gtest.h>

#include <string>

namespace mlc::ir {
namespace {

// The text of an index expression of two variables, x and y.
std::string Folded(const std::function<ExprRef(ExprRef, ExprRef)>& make) {
  KernelBuilder b("k");
  const BufferId out = b.Out("o", DType::kI64, 1);
  b.Parallel("x", 4, [&](ExprRef x) {
    b.For("y", 4, [&](ExprRef y) { b.Store(out, Int(0), make(x, y)); });
  });
  const std::string text = b.Finish().ToText();
  const size_t begin = text.find("] = ") + 4;
  return text.substr(begin, text.find('\n', begin) - begin);
}

TEST(Build, FoldsIndexArithmetic) {
  EXPECT_EQ(Folded([](ExprRef x, ExprRef) { return x + 0; }), "x");
  EXPECT_EQ(Folded([](ExprRef x, ExprRef) { return x * 1; }), "x");
  EXPECT_EQ(Folded([](ExprRef x, ExprRef) { return x * 0; }), "0");
  EXPECT_EQ(Folded([](ExprRef x, ExprRef) { return (x + 3) + 4; }), "add(x, 7)");
  EXPECT_EQ(Folded([](ExprRef x, ExprRef) { return Int(3) + x - 3; }), "x");
  EXPECT_EQ(Folded([](ExprRef x, ExprRef y) { return (x + 3) + (y + 4); }), "add(add(x, y), 7)");
  EXPECT_EQ(Folded([](ExprRef x, ExprRef) { return (x * 4) * 8; }), "mul(x, 32)");
  EXPECT_EQ(Folded([](ExprRef x, ExprRef) { return (x + 2) * 8; }), "add(mul(x, 8), 16)");
  EXPECT_EQ(Folded([](ExprRef x, ExprRef) { return (x + 5) - x; }), "5");
  EXPECT_EQ(Folded([](ExprRef x, ExprRef y) { return x - (y + 2); }), "add(sub(x, y), -2)");
  EXPECT_EQ(Folded([](ExprRef x, ExprRef) { return Min(x, x); }), "x");
  EXPECT_EQ(Folded([](ExprRef, ExprRef) { return Max(Int(3), Int(-4)); }), "3");
}

TEST(Build, FoldsDivisionTowardsNegativeInfinity) {
  EXPECT_EQ(Folded([](ExprRef, ExprRef) { return FloorDiv(Int(-7), 2); }), "-4");
  EXPECT_EQ(Folded([](ExprRef, ExprRef) { return Mod(Int(-7), 4); }), "1");
  EXPECT_EQ(Folded([](ExprRef x, ExprRef) { return FloorDiv(x * 8, 4); }), "mul(x, 2)");
  EXPECT_EQ(Folded([](ExprRef x, ExprRef) { return Mod(x * 8, 4); }), "0");
  EXPECT_EQ(Folded([](ExprRef x, ExprRef) { return FloorDiv(FloorDiv(x, 3), 5); }), "div(x, 15)");
  EXPECT_EQ(Folded([](ExprRef x, ExprRef) { return FloorDiv(x * 6, 4); }), "div(mul(x, 6), 4)");
  EXPECT_EQ(Folded([](ExprRef x, ExprRef) { return Mod(x, 1); }), "0");
}

TEST(Build, FoldsConstantConditionsAndSelects) {
  const ExprRef yes = MakeApply(ScalarOp::kLess, {Int(1), Int(2)});
  int64_t value = 0;
  ASSERT_TRUE(IsConstInt(yes, &value));
  EXPECT_EQ(value, 1);
  EXPECT_EQ(yes->type.dtype, DType::kBool);
  EXPECT_EQ(Folded([&](ExprRef x, ExprRef y) {
              return MakeApply(ScalarOp::kSelect, {yes, x, y});
            }),
            "x");
  EXPECT_EQ(Folded([&](ExprRef x, ExprRef y) {
              const ExprRef less = MakeApply(ScalarOp::kLess, {x, y});
              return MakeApply(ScalarOp::kSelect, {MakeApply(ScalarOp::kAnd, {yes, less}), x, y});
            }),
            "select(less(x, y), x, y)");
}

TEST(Build, LoopsOfOneIterationVanish) {
  KernelBuilder b("k");
  const BufferId out = b.Out("o", DType::kF32, 16);
  b.Parallel("p", 1, [&](ExprRef p) {
    b.For("one", 1, [&](ExprRef i) { b.Store(out, p + i, Float(DType::kF32, 1)); });
    b.For("none", 0, [&](ExprRef i) { b.Store(out, i + 1, Float(DType::kF32, 2)); });
    b.For("step", Int(4), Int(8), 4, [&](ExprRef i) { b.Store(out, i, Float(DType::kF32, 3)); });
    b.Unrolled("u", 1, [&](ExprRef i) { b.Store(out, i + 9, Float(DType::kF32, 0.1)); });
    b.If(MakeApply(ScalarOp::kLess, {Int(2), Int(1)}),
         [&] { b.Store(out, Int(3), Float(DType::kF32, 5)); });
  });
  b.Parallel("never", 0, [&](ExprRef p) { b.Store(out, p, Float(DType::kF32, 1)); });
  EXPECT_EQ(b.Finish().ToText(),
            "kernel k {\n"
            "  out o: f32[16]\n"
            "  parallel for p in 0 .. 1 {\n"
            "    o[p] = f32(1.0)\n"
            "    o[4] = f32(3.0)\n"
            "    o[9] = f32(0.1)\n"
            "  }\n"
            "}\n");
}

TEST(Build, NamesAreMadeUnique) {
  KernelBuilder b("k");
  const BufferId out = b.Out("i", DType::kI64, 64);
  b.Parallel("i", 4, [&](ExprRef p) {
    b.For("i", 4, [&](ExprRef i) {
      const ExprRef t = b.Let("i", p * 4 + i);
      EXPECT_EQ(b.Let("again", t), t);
      b.Store(out, t, t);
    });
  });
  const Kernel kernel = b.Finish();
  EXPECT_TRUE(kernel.Verify().ok());
  EXPECT_EQ(kernel.vars, (std::vector<std::string>{"i_1", "i_2", "i_3"}));
}

TEST(Build, VectorNodesTakeTheirTypeFromTheOperand) {
  const ExprRef half = MakeBroadcast(Float(DType::kF16, 0.5), 8);
  EXPECT_EQ(half->type, (Type{DType::kF16, 8}));
  const ExprRef cast = MakeCast(DType::kF32, half);
  EXPECT_EQ(cast->type, (Type{DType::kF32, 8}));
  EXPECT_EQ(MakeCast(DType::kF32, cast), cast);
  EXPECT_EQ(MakeReduce(ScalarOp::kAdd, cast)->type, (Type{DType::kF32, 1}));
  EXPECT_EQ(MakeLaneMask(Int(3), 8)->type, (Type{DType::kBool, 8}));
  EXPECT_EQ(MakeLaneIndex(DType::kI32, 4)->type, (Type{DType::kI32, 4}));
  EXPECT_EQ(MakeApply(ScalarOp::kLess, {half, half})->type, (Type{DType::kBool, 8}));
}

TEST(BuildDeathTest, MixedTypesAreABug) {
  EXPECT_DEATH(MakeApply(ScalarOp::kAdd, {Int(1), Float(DType::kF32, 1)}), "add mixes i64 and f32");
  EXPECT_DEATH(MakeApply(ScalarOp::kExp, {Int(1)}), "exp needs float operands, not i64");
  KernelBuilder b("k");
  EXPECT_DEATH(b.In("Bad Name", DType::kF32, 1), "name 'Bad Name'");
}

}  // namespace
}  // namespace mlc::ir
