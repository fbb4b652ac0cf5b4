// The error bounds that compiler/codegen/vector_math.h states, by dense sweeps against the C
// library in higher precision, and the values at the edges.
#include <cmath>
#include <limits>

#include "tests/unit/codegen/run_kernel.h"

namespace mlc::codegen {
namespace {

using ir::ExprRef;
using ir::KernelBuilder;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <typename T>
constexpr DType kTypeOf = sizeof(T) == 4 ? DType::kF32 : DType::kF64;

template <typename T>
std::vector<T> Apply(ScalarOp op, target::Isa isa, std::vector<T> x, std::vector<T> y = {}) {
  const size_t count = x.size();
  x.resize((count + 15) / 16 * 16);
  y.resize(x.size());
  const auto size = static_cast<int64_t>(x.size());
  KernelBuilder k("function");
  const ir::BufferId a = k.In("a", kTypeOf<T>, size);
  const ir::BufferId b = k.In("b", kTypeOf<T>, size);
  const ir::BufferId o = k.Out("o", kTypeOf<T>, size);
  k.Parallel("i", size / 16, [&](ExprRef i) {
    std::vector<ExprRef> args = {k.Load(a, i * 16, 16)};
    if (InfoOf(op).arity == 2) args.push_back(k.Load(b, i * 16, 16));
    k.Store(o, i * 16, ir::MakeApply(op, args));
  });
  std::vector<Bytes> params = {BytesOf(x), BytesOf(y), Bytes(x.size() * sizeof(T))};
  RunGenerated(k.Finish(), isa, &params);
  std::vector<T> result = ValuesOf<T>(params[2]);
  result.resize(count);
  return result;
}

// Beside the ranges of the table: where the result is close to zero, and far out.
constexpr struct {
  ScalarOp op;
  double low;
  double high;
} kMore[] = {{ScalarOp::kLog, 0.5, 2}, {ScalarOp::kSin, 1e5, 1e6}};

template <typename T>
void CheckSweep(const ScalarOpInfo& info, double low, double high, target::Isa isa) {
  const ErrorBound& error = info.error;
  SCOPED_TRACE(std::string(info.name) + (sizeof(T) == 4 ? " f32" : " f64") + " isa " +
               std::to_string(static_cast<int>(isa)));
  constexpr int kSteps = 40000;
  std::vector<T> x;
  for (int i = 0; i <= kSteps; ++i) {
    x.push_back(static_cast<T>(low + (high - low) * i / kSteps));
  }
  // Towards zero by halves, both signs where the range has them.
  for (double small = high / 2; small > 1e-30; small /= 1.7) {
    if (small >= low) x.push_back(static_cast<T>(small));
    if (-small >= low) x.push_back(static_cast<T>(-small));
  }
  const std::vector<T> y = Apply<T>(info.op, isa, x);
  const double bound =
      (sizeof(T) == 4 ? error.f32 : error.f64) * (isa == target::Isa::kPlain ? 1.5 : 1.0);
  double worst = 0;
  T worst_at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const long double want = info.real.wide.one(static_cast<long double>(x[i]));
    long double off = std::fabs(static_cast<long double>(y[i]) - want);
    if (!error.absolute && want != 0) off /= std::fabs(want);
    if (!(off <= worst)) {
      worst = static_cast<double>(off);
      worst_at = x[i];
    }
  }
  EXPECT_LE(worst, bound) << "at " << worst_at;
}

void CheckSweeps(const ScalarOpInfo& info, target::Isa isa) {
  for (const double part : {1.0, 1.0 / 12}) {  // of the range, in as many steps
    CheckSweep<float>(info, info.error.low * part, info.error.high * part, isa);
    CheckSweep<double>(info, info.error.low * part, info.error.high * part, isa);
  }
}

TEST(VectorMath, ErrorsStayBelowTheStatedBounds) {
  for (const target::Isa isa : HostIsas()) {
    for (const ScalarOpInfo& info : scalar::kRows) {
      if (info.error.f32 > 0) CheckSweeps(info, isa);
    }
    for (const auto& [op, low, high] : kMore) {
      CheckSweep<float>(InfoOf(op), low, high, isa);
      CheckSweep<double>(InfoOf(op), low, high, isa);
    }
  }
}

template <typename T>
void CheckPow(target::Isa isa, double bound) {
  Rng rng(3);
  std::vector<T> x, y;
  for (int i = 0; i < 40000; ++i) {
    x.push_back(static_cast<T>(std::exp(rng.Uniform() * 16 - 8)));
    y.push_back(static_cast<T>(rng.Uniform() * 20 - 10));
    if (i % 4 == 0) {
      x.back() = -x.back();
      y.back() = std::round(y.back());
    }
  }
  const std::vector<T> z = Apply<T>(ScalarOp::kPow, isa, x, y);
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const long double want = std::pow(static_cast<long double>(x[i]), y[i]);
    const auto error = static_cast<double>(std::fabs((z[i] - want) / want));
    if (!(error <= worst)) worst = error;
  }
  EXPECT_LE(worst, bound) << "isa " << static_cast<int>(isa);
}

TEST(VectorMath, PowStaysBelowItsBound) {
  for (const target::Isa isa : HostIsas()) {
    CheckPow<float>(isa, 4e-7);
    CheckPow<double>(isa, 1e-13);
  }
}

template <typename T>
void CheckEdges(target::Isa isa, ScalarOp op, const std::vector<std::pair<double, double>>& pairs) {
  SCOPED_TRACE(std::string(InfoOf(op).name) + (sizeof(T) == 4 ? " f32" : " f64") + " isa " +
               std::to_string(static_cast<int>(isa)));
  std::vector<T> x;
  for (const auto& pair : pairs) x.push_back(static_cast<T>(pair.first));
  const std::vector<T> y = Apply<T>(op, isa, x);
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(pairs[i].second)) {
      EXPECT_TRUE(std::isnan(y[i])) << "at " << x[i] << ": " << y[i];
    } else {
      EXPECT_EQ(static_cast<double>(y[i]), pairs[i].second) << "at " << x[i];
    }
  }
}

TEST(VectorMath, ValuesAtTheEdges) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const target::Isa isa : HostIsas()) {
    const auto check = [&](ScalarOp op, const std::vector<std::pair<double, double>>& pairs) {
      CheckEdges<float>(isa, op, pairs);
      CheckEdges<double>(isa, op, pairs);
    };
    check(
        ScalarOp::kExp,
        {{0, 1}, {800, kInfinity}, {kInfinity, kInfinity}, {-800, 0}, {-kInfinity, 0}, {nan, nan}});
    check(ScalarOp::kExp2, {{0, 1},
                            {-1, 0.5},
                            {3, 8},
                            {1100, kInfinity},
                            {1e30f, kInfinity},
                            {kInfinity, kInfinity},
                            {-1100, 0},
                            {-1e30f, 0},
                            {-kInfinity, 0},
                            {nan, nan}});
    check(ScalarOp::kLog, {{1, 0},
                           {0, -kInfinity},
                           {-1, nan},
                           {kInfinity, kInfinity},
                           {-kInfinity, nan},
                           {nan, nan}});
    check(ScalarOp::kTanh,
          {{0, 0}, {30, 1}, {-30, -1}, {kInfinity, 1}, {-kInfinity, -1}, {nan, nan}});
    check(ScalarOp::kSigmoid,
          {{0, 0.5}, {800, 1}, {-800, 0}, {kInfinity, 1}, {-kInfinity, 0}, {nan, nan}});
    check(ScalarOp::kErf,
          {{0, 0}, {10, 1}, {-10, -1}, {kInfinity, 1}, {-kInfinity, -1}, {nan, nan}});
    check(ScalarOp::kSin, {{0, 0}, {kInfinity, nan}, {nan, nan}});
    check(ScalarOp::kCos, {{0, 1}, {-kInfinity, nan}, {nan, nan}});
    check(ScalarOp::kRound, {{0.5, 0},
                             {1.5, 2},
                             {2.5, 2},
                             {-1.5, -2},
                             {1e30f, 1e30f},
                             {kInfinity, kInfinity},
                             {nan, nan}});
    check(ScalarOp::kFloor,
          {{-0.5, -1}, {3, 3}, {-3, -3}, {2.75, 2}, {-1e30f, -1e30f}, {nan, nan}});
    check(ScalarOp::kCeil, {{-0.5, 0}, {3, 3}, {2.25, 3}, {-2.75, -2}, {1e30f, 1e30f}, {nan, nan}});
  }
}

TEST(VectorMath, SubnormalsOfExpAndLog) {
  for (const target::Isa isa : HostIsas()) {
    const auto e = Apply<float>(ScalarOp::kExp, isa, {-88.5f, -95.0f, -103.0f});
    EXPECT_NEAR(e[0] / std::exp(-88.5), 1, 2e-5);
    EXPECT_NEAR(e[1], std::exp(-95.0), 3e-45);
    EXPECT_NEAR(e[2], std::exp(-103.0), 3e-45);
    const auto p = Apply<float>(ScalarOp::kExp2, isa, {-127.5f, -140.0f, -149.0f});
    EXPECT_NEAR(p[0] / std::exp2(-127.5), 1, 2e-5);
    EXPECT_NEAR(p[1], std::exp2(-140.0), 3e-45);
    EXPECT_NEAR(p[2], std::exp2(-149.0), 3e-45);
    const auto l = Apply<float>(ScalarOp::kLog, isa, {1e-40f, 1.4e-45f});
    EXPECT_NEAR(l[0], std::log(1e-40), 2e-5);
    EXPECT_NEAR(l[1], std::log(0x1p-149), 2e-5);
  }
}

TEST(VectorMath, PowFollowsIeee) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> x = {2, -2, -2, 0, 0, -0.0f, -8, 1, nan, -1, inf, 3, nan, 4};
  const std::vector<float> y = {10, 3, 2, 3, -1, -3, 0.5f, nan, 0, inf, -2, 0, 1, 0.5f};
  for (const target::Isa isa : HostIsas()) {
    const auto z = Apply<float>(ScalarOp::kPow, isa, x, y);
    for (size_t i = 0; i < x.size(); ++i) {
      const float want = std::pow(x[i], y[i]);
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(z[i])) << x[i] << " ^ " << y[i] << " = " << z[i];
      } else {
        EXPECT_FLOAT_EQ(z[i], want) << x[i] << " ^ " << y[i];
      }
    }
  }
}

TEST(VectorMath, FloatRemainderHasTheSignOfTheDividend) {
  const std::vector<float> x = {5.5f, -5.5f, 5.5f, -5.5f, 6, -6, 0.25f, 1e6f, 7, 1, -3};
  const std::vector<float> y = {2, 2, -2, -2, 3, 3, 7, 0.75f, 0.1f, 0.1f, INFINITY};
  for (const target::Isa isa : HostIsas()) {
    const auto z = Apply<float>(ScalarOp::kMod, isa, x, y);
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(z[i], std::fmod(x[i], y[i])) << x[i] << " mod " << y[i];
    }
  }
}

TEST(VectorMath, ClampsPassNanOn) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  KernelBuilder k("relu");
  const ir::BufferId a = k.In("a", DType::kF32, 16);
  const ir::BufferId o = k.Out("o", DType::kF32, 16);
  k.Parallel("i", 1, [&](ExprRef i) {
    k.Store(o, i, ir::MakeApply(ScalarOp::kMax, {k.Load(a, i, 16), ir::Float(DType::kF32, 0, 16)}));
  });
  const ir::Kernel kernel = k.Finish();
  std::vector<float> x(16, -1.0f);
  x[3] = nan;
  x[5] = 2;
  for (const target::Isa isa : HostIsas()) {
    std::vector<Bytes> params = {BytesOf(x), Bytes(64)};
    ASSERT_NO_FATAL_FAILURE(RunGenerated(kernel, isa, &params));
    const auto y = ValuesOf<float>(params[1]);
    EXPECT_TRUE(std::isnan(y[3]));
    EXPECT_EQ(y[5], 2);
    EXPECT_EQ(y[0], 0);
  }
}

}  // namespace
}  // namespace mlc::codegen
