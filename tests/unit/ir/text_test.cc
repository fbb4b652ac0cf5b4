// The text form: what is printed, that it reads back, and what hostile text gets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "compiler/ir/build.h"

namespace mlc::ir {
namespace {

constexpr char kEveryNode[] =
    "kernel every_node {\n"
    "  in a: f32[64]\n"
    "  out c: f32[64]\n"
    "  out n: i32[64]\n"
    "  shared s: f16[16]\n"
    "  thread t: f32[16]\n"
    "  reg acc: f32x8[4]\n"
    "  parallel for p in 0 .. 8 {\n"
    "    unrolled for u in 0 .. 4 {\n"
    "      acc[u] = broadcast(f32(-0.5), 8)\n"
    "    }\n"
    "    let base = mul(p, 8)\n"
    "    for i in base .. add(base, 8) step 2 {\n"
    "      if less(i, 60) {\n"
    "        c[i] = fma(a[i], f32(inf), reduce_add(acc[2]))\n"
    "      } else {\n"
    "        c[i] = select(less_equal(i, 61), f32(1e-09), neg(a[i]))\n"
    "      }\n"
    "      prefetch a[add(i, 64), level=2]\n"
    "    }\n"
    "    t[0, mask=p] = a[base, lanes=8, stride=2, mask=sub(64, base)]\n"
    "    n[base, stride=3] = select(lane_mask(p, 8), lane_index(i32, 8), broadcast(i32(-7), 8))\n"
    "    c[base] = cast(f32, a[base, lanes=8]) streaming\n"
    "  }\n"
    "  parallel for q in 0 .. 2 {\n"
    "    s[q] = f16(nan)\n"
    "  }\n"
    "}\n";

TEST(Text, EveryNodeReadsBack) {
  const Result<Kernel> kernel = Kernel::Parse(kEveryNode);
  ASSERT_TRUE(kernel.ok()) << kernel.status().ToString();
  EXPECT_EQ(kernel->ToText(), kEveryNode);
  EXPECT_EQ(kernel->NumParams(), 3);
  EXPECT_EQ(kernel->phases.size(), 2u);
  EXPECT_EQ(kernel->vars, (std::vector<std::string>{"p", "u", "base", "i", "q"}));
}

TEST(Text, ConstantsKeepTheirValue) {
  for (const double value :
       {0.1, 1e30, 3.0, -0.0, 16777217.0, 1e-42, std::numeric_limits<double>::infinity()}) {
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16}) {
      KernelBuilder b("k");
      const BufferId out = b.Out("o", dtype, 1);
      const ExprRef constant = Float(dtype, value);
      b.Parallel("p", 1, [&](ExprRef p) { b.Store(out, p, constant); });
      const Kernel kernel = b.Finish();
      const Result<Kernel> read = Kernel::Parse(kernel.ToText());
      ASSERT_TRUE(read.ok()) << read.status().ToString() << kernel.ToText();
      EXPECT_EQ(read->ToText(), kernel.ToText());
      const For& phase = std::get<For>(read->phases[0]->node);
      const Store& store = std::get<Store>(std::get<Block>(phase.body->node).body[0]->node);
      EXPECT_EQ(std::get<FloatImm>(store.value->node).value,
                std::get<FloatImm>(constant->node).value);
    }
  }
}

// The error of a kernel whose parallel loop over p (0 .. 4) holds `body`.
std::string ErrorOf(const std::string& body) {
  const Result<Kernel> kernel = Kernel::Parse(
      "kernel k {\nin a: f32[8]\nout c: f32[8]\nreg r: f32x4[2]\n"
      "parallel for p in 0 .. 4 {\n" +
      body + "\n}\n}");
  if (kernel.ok()) return "accepted";
  EXPECT_EQ(kernel.status().code(), StatusCode::kInvalidArgument);
  return kernel.status().message();
}

TEST(Text, ErrorsNamePlaceAndReason) {
  EXPECT_EQ(ErrorOf("c[p] = a[q]"), "line 6, column 11: no variable 'q' in scope, found ']'");
  EXPECT_EQ(ErrorOf("c[p] = a[f32(1)]"),
            "line 6, column 16: expected an i64 scalar before this, found ']'");
  EXPECT_EQ(ErrorOf("c[p] = add(a[p], p)"), "line 7, column 1: add mixes f32 and i64, found '}'");
  EXPECT_EQ(ErrorOf("c[p] = twice(a[p])"),
            "line 6, column 14: unknown operator 'twice', found 'a[p])'");
  EXPECT_EQ(ErrorOf("d[p] = a[p]"), "line 6, column 2: unknown buffer 'd', found '[p] = a[p]'");
  EXPECT_EQ(ErrorOf("let p = 3"), "line 7, column 1: 'p' is declared twice, found '}'");
  EXPECT_EQ(ErrorOf("if p { c[p] = a[p] }"),
            "line 6, column 6: a condition must be a bool, found '{ c[p] = a[p] }'");
  EXPECT_EQ(ErrorOf("c[p] = a[p, lanes=65]"),
            "line 6, column 21: lanes must be 1 to 64, found ']'");
  EXPECT_EQ(ErrorOf("c[p] = a[99999999999999999999]"),
            "line 6, column 10: expected an integer that fits 64 bits, found "
            "'99999999999999999999'");
  EXPECT_EQ(ErrorOf("for if in 0 .. 2 { }"),
            "line 6, column 8: 'if' cannot name a variable, found 'in 0 .. 2 { }'");
}

TEST(Text, DeepNestingIsRefused) {
  std::string deep = "c[p] = ";
  for (int i = 0; i < 100000; ++i) deep += "neg(";
  EXPECT_THAT(ErrorOf(deep), testing::HasSubstr("nested too deeply"));
  std::string blocks;
  for (int i = 0; i < 100000; ++i) blocks += "if less(p, 1) {";
  EXPECT_THAT(ErrorOf(blocks), testing::HasSubstr("nested too deeply"));
}

TEST(Verify, NamesTheOffender) {
  EXPECT_EQ(ErrorOf("a[p] = f32(0)"), "kernel 'k': store to input 'a'");
  EXPECT_EQ(ErrorOf("c[p] = p"), "kernel 'k': store of i64 to 'c'");
  EXPECT_EQ(ErrorOf("r[p] = broadcast(f32(0), 4)"),
            "kernel 'k': register 'r' has an index that is not constant");
  EXPECT_EQ(ErrorOf("for i in 0 .. 2 { r[i] = broadcast(f32(0), 4) }"),
            "kernel 'k': register 'r' has an index that is not constant");
  EXPECT_EQ(ErrorOf("unrolled for i in 0 .. 2 { let j = sub(1, i) r[j] = broadcast(f32(0), 4) }"),
            "accepted");
  EXPECT_EQ(ErrorOf("unrolled for i in 0 .. p { c[i] = f32(0) }"),
            "kernel 'k': unrolled loop 'i' has bounds that are not constant");
  EXPECT_EQ(ErrorOf("r[0] = f32(0)"), "kernel 'k': register 'r' is not accessed whole");
  EXPECT_EQ(ErrorOf("for i in 0 .. 2 step 0 { c[i] = f32(0) }"),
            "kernel 'k': loop 'i' has a step below 1");
  EXPECT_EQ(ErrorOf("c[p] = c[p]"), "accepted");
  EXPECT_EQ(ErrorOf("turn_square r[0]"), "accepted");
  EXPECT_EQ(ErrorOf("turn_square r[p]"),
            "kernel 'k': register 'r' has an index that is not constant");
  EXPECT_EQ(ErrorOf("turn_square c[0]"), "kernel 'k': 'c' is no register");
}

TEST(Verify, OnlyPowersOfTwoTurnAndNotOnGpus) {
  const auto error = [](const char* text) { return Kernel::Parse(text).status().message(); };
  EXPECT_EQ(error("kernel k { reg r: f32x3[3] parallel for p in 0 .. 1 { turn_square r[0] } }"),
            "kernel 'k': turn of 'r', whose lanes are no power of two above 1");
  EXPECT_EQ(error("kernel k { reg r: f32[1] parallel for p in 0 .. 1 { turn_square r[0] } }"),
            "kernel 'k': turn of 'r', whose lanes are no power of two above 1");
  EXPECT_EQ(error("kernel k { reg r: f32x4[4] parallel for p in 0 .. 1 { threads for t in 0 .. 32 "
                  "{ turn_square r[0] } } }"),
            "kernel 'k': a turn in a kernel of threads");
}

TEST(Verify, PhasesAndBuffers) {
  const auto error = [](const char* text) { return Kernel::Parse(text).status().message(); };
  EXPECT_EQ(error("kernel k { parallel for p in 1 .. 4 { } }"),
            "kernel 'k': phase 'p' does not run from 0 to a constant");
  EXPECT_EQ(error("kernel k { parallel for p in 0 .. 4 step 2 { } }"),
            "kernel 'k': phase 'p' does not run from 0 to a constant");
  EXPECT_EQ(error("kernel k { shared s: f32[4] in a: f32[4] }"),
            "kernel 'k': buffer 'a' is a parameter after scratch buffers");
  EXPECT_EQ(error("kernel k { in a: f32x4[4] }"), "kernel 'k': buffer 'a' has bad lanes");
  EXPECT_EQ(error("kernel k { in a: f32[-1] }"), "kernel 'k': buffer 'a' has a bad size");
}

TEST(Verify, FindsHandMadeNonsense) {
  Kernel kernel = *Kernel::Parse("kernel k { out c: f32[8] parallel for p in 0 .. 4 { } }");
  const For phase = std::get<For>(kernel.phases[0]->node);
  const auto with = [&](StmtRef stmt) {
    For loop = phase;
    loop.body = std::make_shared<const Stmt>(Stmt{Block{{std::move(stmt)}}});
    kernel.phases[0] = std::make_shared<const Stmt>(Stmt{loop});
    return kernel.Verify().message();
  };
  const auto store = [](ExprRef value) {
    return std::make_shared<const Stmt>(
        Stmt{Store{0, Int(0), std::move(value), 1, nullptr, false}});
  };
  const auto expr = [](Type type, auto node) {
    return std::make_shared<const Expr>(Expr{type, node});
  };
  EXPECT_EQ(with(store(nullptr)), "kernel 'k': a missing expression");
  EXPECT_EQ(with(store(expr({DType::kF32, 1}, IntImm{1}))),
            "kernel 'k': an integer constant does not fit its type");
  EXPECT_EQ(with(store(expr({DType::kF32, 1}, FloatImm{0.1}))),
            "kernel 'k': a float constant does not fit its type");
  EXPECT_EQ(with(store(expr({DType::kF32, 65}, LaneIndex{}))), "kernel 'k': lanes out of range");
  EXPECT_EQ(with(std::make_shared<const Stmt>(Stmt{phase})),
            "kernel 'k': parallel loop 'p' is nested");
  EXPECT_EQ(with(std::make_shared<const Stmt>(Stmt{Let{7, Int(1)}})),
            "kernel 'k': unknown variable");
}

}  // namespace
}  // namespace mlc::ir
