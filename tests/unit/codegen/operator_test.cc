// Every exact operator and conversion, on every element type and several widths, bit for bit.
#include <bit>
#include <limits>

#include "tests/unit/codegen/operators_of.h"
#include "tests/unit/codegen/run_kernel.h"

namespace mlc::codegen {
namespace {

using ir::ExprRef;
using ir::KernelBuilder;

constexpr int64_t kCount = 96;
constexpr DType kIntegers[] = {DType::kI8,  DType::kU8,  DType::kI16, DType::kU16,
                               DType::kI32, DType::kU32, DType::kI64, DType::kU64};

// out[i] = f(a[i], b[i], c[i]), `lanes` at a time.
template <typename Function>
ir::Kernel Pointwise(DType in, DType out, int lanes, const Function& f) {
  KernelBuilder k("pointwise");
  const ir::BufferId a = k.In("a", in, kCount);
  const ir::BufferId b = k.In("b", in, kCount);
  const ir::BufferId c = k.In("c", in, kCount);
  const ir::BufferId o = k.Out("o", out, kCount);
  k.Parallel("i", kCount / lanes, [&](ExprRef i) {
    const ExprRef at = i * lanes;
    k.Store(o, at, f(k.Load(a, at, lanes), k.Load(b, at, lanes), k.Load(c, at, lanes)));
  });
  return k.Finish();
}

std::vector<Bytes> Inputs(DType in, DType out, uint64_t seed) {
  return {RandomBytes(in, kCount, seed), RandomBytes(in, kCount, seed + 1),
          RandomBytes(in, kCount, seed + 2),
          Bytes(static_cast<size_t>(kCount * SizeOf(out)), std::byte{0})};
}

DType ResultOf(ScalarOp op, DType dtype) { return InfoOf(op).gives_bool ? DType::kBool : dtype; }

void CheckOperator(ScalarOp op, DType dtype) {
  SCOPED_TRACE(std::string(InfoOf(op).name) + " of " + std::string(ToText(dtype)));
  const DType out = ResultOf(op, dtype);
  for (const int lanes : {1, 4, 16, 32}) {
    const auto apply = [&](ExprRef a, ExprRef b, ExprRef c) {
      std::vector<ExprRef> args = {a, b, c};
      args.resize(static_cast<size_t>(InfoOf(op).arity));
      return ir::MakeApply(op, args);
    };
    ASSERT_NO_FATAL_FAILURE(
        ExpectSameBytes(Pointwise(dtype, out, lanes, apply), Inputs(dtype, out, 7)));
  }
}

TEST(Operator, FloatsEqualTheInterpreterWhereTheTableSaysExact) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16}) {
    for (const ScalarOp op : OperatorsOf(dtype)) {
      if (!InfoOf(op).exact) continue;
      if (op == ScalarOp::kSqrt) continue;  // negative inputs: NaN payloads may differ
      ASSERT_NO_FATAL_FAILURE(CheckOperator(op, dtype));
    }
  }
}

// Those have tests of their own.
bool Divides(ScalarOp op) { return op == ScalarOp::kDiv || op == ScalarOp::kMod; }

TEST(Operator, EveryFloatOperatorIsExactOrHasABound) {
  for (const ScalarOp op : OperatorsOf(DType::kF32)) {
    const ScalarOpInfo& info = InfoOf(op);
    const bool has_own_test = op == ScalarOp::kPow || op == ScalarOp::kMod ||
                              op == ScalarOp::kFma || op == ScalarOp::kSelect;
    EXPECT_TRUE(info.exact || info.error.f32 > 0 || has_own_test) << info.name;
  }
}

TEST(Operator, SquareRootOfMagnitudes) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16}) {
    const auto root = [](ExprRef a, ExprRef, ExprRef) {
      return ir::MakeApply(ScalarOp::kSqrt, {ir::MakeApply(ScalarOp::kAbs, {a})});
    };
    ASSERT_NO_FATAL_FAILURE(
        ExpectSameBytes(Pointwise(dtype, dtype, 16, root), Inputs(dtype, dtype, 3)));
  }
}

TEST(Operator, IntegersEqualTheInterpreter) {
  for (const DType dtype : kIntegers) {
    for (const ScalarOp op : OperatorsOf(dtype)) {
      if (Divides(op) || op == ScalarOp::kSelect) continue;
      ASSERT_NO_FATAL_FAILURE(CheckOperator(op, dtype));
    }
  }
}

TEST(Operator, IntegerDivisionRoundsByType) {
  for (const DType dtype : kIntegers) {
    for (const ScalarOp op : {ScalarOp::kDiv, ScalarOp::kMod}) {
      for (const int lanes : {1, 16}) {
        KernelBuilder k("divide");
        const ir::BufferId a = k.In("a", dtype, kCount);
        const ir::BufferId b = k.In("b", dtype, kCount);
        const ir::BufferId o = k.Out("o", dtype, kCount);
        k.Parallel("i", kCount / lanes, [&](ExprRef i) {
          const ExprRef at = i * lanes;
          k.Store(o, at, ir::MakeApply(op, {k.Load(a, at, lanes), k.Load(b, at, lanes)}));
        });
        Bytes divisors = RandomBytes(dtype, kCount, 12);
        const size_t size = static_cast<size_t>(SizeOf(dtype));
        for (size_t i = 0; i < kCount; ++i) divisors[i * size] |= std::byte{1};  // not zero
        ASSERT_NO_FATAL_FAILURE(ExpectSameBytes(
            k.Finish(), {RandomBytes(dtype, kCount, 11), divisors, Bytes(kCount * size)}));
      }
    }
  }
}

TEST(Operator, LogicOfBooleans) {
  for (const ScalarOp op : OperatorsOf(DType::kBool)) {
    if (op == ScalarOp::kSelect) continue;
    ASSERT_NO_FATAL_FAILURE(CheckOperator(op, DType::kBool));
  }
}

TEST(Operator, SelectTakesByLane) {
  for (const DType dtype : kAllTypes) {
    const auto select = [](ExprRef a, ExprRef b, ExprRef c) {
      return ir::MakeApply(ScalarOp::kSelect, {ir::MakeApply(ScalarOp::kEqual, {a, b}), b, c});
    };
    if (dtype == DType::kBool) continue;
    ASSERT_NO_FATAL_FAILURE(
        ExpectSameBytes(Pointwise(dtype, dtype, 16, select), Inputs(dtype, dtype, 21)));
  }
}

// Unsigned and small types are converted to and from these; all pairs would take minutes.
bool IsCommon(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kI32 ||
         dtype == DType::kI64 || dtype == DType::kU8 || dtype == DType::kBool;
}

bool IsRare(DType dtype) { return IsSmall(dtype) || (IsUnsigned(dtype) && SizeOf(dtype) > 1); }

TEST(Operator, EveryConversionEqualsTheInterpreter) {
  for (const DType from : kAllTypes) {
    for (const DType to : kAllTypes) {
      const bool by_way_of_f32 = to == DType::kF16 || to == DType::kBF16 || IsSmall(to);
      if (from == DType::kF64 && IsFloat(to) && by_way_of_f32) continue;
      if ((IsRare(from) && !IsCommon(to)) || (IsRare(to) && !IsCommon(from))) continue;
      SCOPED_TRACE(std::string(ToText(from)) + " to " + std::string(ToText(to)));
      const auto cast = [&](ExprRef a, ExprRef, ExprRef) { return ir::MakeCast(to, a); };
      for (const int lanes : {1, 16}) {
        ASSERT_NO_FATAL_FAILURE(
            ExpectSameBytes(Pointwise(from, to, lanes, cast), Inputs(from, to, 31)));
      }
    }
  }
}

TEST(Operator, FloatsBeyondAnIntegerTypeSaturate) {
  const std::vector<float> extremes = {1e30f,   -1e30f,  300.0f, -300.0f,       127.9f,   -128.9f,
                                       0.0f,    -0.0f,   255.5f, 256.0f,        65535.0f, 2.5e9f,
                                       -2.5e9f, 1.0e19f, -1e19f, 0x1.fffffep30f};
  for (const DType to : kIntegers) {
    KernelBuilder k("saturate");
    const ir::BufferId a = k.In("a", DType::kF32, 16);
    const ir::BufferId o = k.Out("o", to, 16);
    k.Parallel("i", 1, [&](ExprRef) {
      k.Store(o, ir::Int(0), ir::MakeCast(to, k.Load(a, ir::Int(0), 16)));
    });
    ASSERT_NO_FATAL_FAILURE(ExpectSameBytes(
        k.Finish(), {BytesOf(extremes), Bytes(static_cast<size_t>(16 * SizeOf(to)))}));
  }
}

// Quantisation is a form of its own: halves, bounds, what exceeds integers, and no numbers.
TEST(Operator, QuantisedNumbersEqualTheInterpreter) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> values = {nan,   -nan,   infinity, -infinity, 3e9f,    -3e9f, 1e30f,  -1e30f,
                               0.5f,  1.5f,   2.5f,     -0.5f,     -1.5f,   -0.0f, 254.5f, 255.5f,
                               256.f, 126.5f, 127.5f,   -127.5f,   -128.5f, 14.5f, 240.5f, 241.5f};
  while (values.size() < kCount) values.push_back(static_cast<float>(values.size()) * 3.75f - 200);
  struct Form {
    double zero, high;
    bool has_zero, has_bounds;
  };
  for (const Form form : {Form{0, 255, false, true}, Form{128, 255, true, true},
                          Form{14, 240, true, true}, Form{7, 0, true, false}, Form{}}) {
    for (const int lanes : {1, 4, 8, 16, 32}) {
      const auto quantise = [&](ExprRef a, ExprRef, ExprRef) {
        const auto number = [&](double x) { return ir::Float(DType::kF32, x, lanes); };
        ExprRef x = ir::MakeApply(ScalarOp::kRound, {a});
        if (form.has_zero) x = ir::MakeApply(ScalarOp::kAdd, {x, number(form.zero)});
        if (form.has_bounds) {
          x = ir::MakeApply(ScalarOp::kMax, {x, number(0)});
          x = ir::MakeApply(ScalarOp::kMin, {x, number(form.high)});
        }
        return ir::MakeCast(DType::kU8, x);
      };
      std::vector<Bytes> inputs = Inputs(DType::kF32, DType::kU8, 3);
      inputs[0] = BytesOf(values);
      ASSERT_NO_FATAL_FAILURE(
          ExpectSameBytes(Pointwise(DType::kF32, DType::kU8, lanes, quantise), inputs));
    }
  }
}

TEST(Operator, HalvesConvertExactlyBothWays) {
  // Every finite half, widened and narrowed again, and its f32 neighbourhood rounded.
  std::vector<uint16_t> halves;
  for (int bits = 0; bits < 0x10000; ++bits) {
    if ((bits & 0x7c00) != 0x7c00) halves.push_back(static_cast<uint16_t>(bits));
  }
  const auto count = static_cast<int64_t>(halves.size());
  KernelBuilder k("halves");
  const ir::BufferId a = k.In("a", DType::kF16, count);
  const ir::BufferId wide = k.Out("wide", DType::kF32, count);
  const ir::BufferId near = k.Out("near", DType::kF16, count);
  k.Parallel("i", count / 16, [&](ExprRef i) {
    const ExprRef x = ir::MakeCast(DType::kF32, k.Load(a, i * 16, 16));
    k.Store(wide, i * 16, x);
    const ExprRef up = ir::MakeApply(ScalarOp::kMul, {x, ir::Float(DType::kF32, 1.000488, 16)});
    k.Store(near, i * 16, ir::MakeCast(DType::kF16, up));
  });
  ExpectSameBytes(k.Finish(),
                  {BytesOf(halves), Bytes(halves.size() * 4), Bytes(halves.size() * 2)});
}

// Every code, and numbers of all sizes: a small float has at most 3 bits of mantissa, and the ones
// here differ in their first 7 and one more.
TEST(Operator, SmallFloatsConvertAsTheirTable) {
  std::vector<float> values;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    for (const uint32_t rest : {0u, 1u}) values.push_back(std::bit_cast<float>(bits << 16 | rest));
  }
  std::vector<uint8_t> codes;
  for (int code = 0; code < 256; ++code) codes.push_back(static_cast<uint8_t>(code));
  const auto count = static_cast<int64_t>(values.size());
  for (const DType small : kAllTypes) {
    if (!IsSmall(small) || !IsFloat(small)) continue;
    SCOPED_TRACE(ToText(small));
    KernelBuilder k("small");
    const ir::BufferId a = k.In("a", small, 256);
    const ir::BufferId x = k.In("x", DType::kF32, count);
    const ir::BufferId less = k.Out("less", DType::kBool, 256);
    const ir::BufferId wide = k.Out("wide", DType::kF32, 256);
    const ir::BufferId narrow = k.Out("narrow", small, count);
    k.Parallel("i", 16, [&](ExprRef i) {
      const ExprRef value = ir::MakeCast(DType::kF32, k.Load(a, i * 16, 16));
      const ExprRef is_nan = ir::MakeApply(ScalarOp::kIsNan, {value});
      k.Store(less, i * 16, is_nan);
      const ExprRef one = ir::Float(DType::kF32, 1, 16);  // whatever the sign of a NaN is
      k.Store(wide, i * 16, ir::MakeApply(ScalarOp::kSelect, {is_nan, one, value}));
    });
    k.Parallel("j", count / 16, [&](ExprRef j) {
      k.Store(narrow, j * 16, ir::MakeCast(small, k.Load(x, j * 16, 16)));
    });
    ASSERT_NO_FATAL_FAILURE(ExpectSameBytes(
        k.Finish(),
        {BytesOf(codes), BytesOf(values), Bytes(256), Bytes(1024), Bytes(values.size())}));
  }
}

TEST(Operator, FusedMultiplyAddRoundsOnceWhereTheTargetCan) {
  const auto fma = [](ExprRef a, ExprRef b, ExprRef c) {
    return ir::MakeApply(ScalarOp::kFma, {a, b, c});
  };
  const ir::Kernel kernel = Pointwise(DType::kF32, DType::kF32, 16, fma);
  std::vector<Bytes> expected = Inputs(DType::kF32, DType::kF32, 41);
  const std::vector<Bytes> params = expected;
  ASSERT_NO_FATAL_FAILURE(RunInterpreted(kernel, &expected));
  for (const target::Isa isa : HostIsas()) {
    std::vector<Bytes> actual = params;
    ASSERT_NO_FATAL_FAILURE(RunGenerated(kernel, isa, &actual));
    const auto want = ValuesOf<float>(expected[3]);
    const auto got = ValuesOf<float>(actual[3]);
    for (size_t i = 0; i < want.size(); ++i) {
      if (isa == target::Isa::kPlain) {
        EXPECT_NEAR(got[i], want[i], 2e-6);  // two roundings of values up to 20
      } else {
        EXPECT_EQ(got[i], want[i]);
      }
    }
  }
}

}  // namespace
}  // namespace mlc::codegen
