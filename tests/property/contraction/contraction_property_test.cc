// Random workloads lowered by the families and interpreted must agree with the reference evaluator.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "compiler/graph/evaluate/evaluate.h"
#include "compiler/graph/tensor_io.h"
#include "compiler/ir/interpret/interpret.h"
#include "compiler/ir/limit_loops.h"
#include "compiler/schedule/cpu/fixed_point/fixed_point_plan.h"
#include "compiler/schedule/problem/contraction_problem.h"
#include "compiler/schedule/space/family.h"
#include "tests/workloads/contraction.h"

namespace mlc::schedule {
namespace {

using Bytes = std::vector<std::byte>;

target::Target TargetOf(Rng& rng) {
  target::Target target;
  const target::Isa isas[] = {target::Isa::kAvx512, target::Isa::kAvx2, target::Isa::kPlain};
  target.cpu().isa = isas[rng.Below(3)];
  target.cpu().threads = 1 + static_cast<int>(rng.Below(2));
  return target;
}

// Offset of every logical element, row-major, in a type's storage.
std::vector<int64_t> Offsets(const graph::TensorType& type) {
  const std::vector<int64_t> strides = type.EffectiveStrides();
  std::vector<int64_t> offsets;
  std::vector<int64_t> at(type.dims.size(), 0);
  for (int64_t n = 0; n < type.NumElements(); ++n) {
    int64_t offset = 0;
    for (size_t d = 0; d < at.size(); ++d) offset += at[d] * strides[d];
    offsets.push_back(offset);
    for (size_t d = at.size(); d-- > 0 && ++at[d] == type.dims[d];) at[d] = 0;
  }
  return offsets;
}

Bytes RandomBytes(Rng& rng, const graph::TensorType& type) {
  if (type.dtype == DType::kU8 || type.dtype == DType::kI8) {
    Bytes bytes(static_cast<size_t>(type.NumElements()));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(rng.Below(256));
    return bytes;
  }
  std::vector<double> values(static_cast<size_t>(type.NumElements()));
  const double most = type.dtype == DType::kI32 ? 1000 : 1;
  for (double& value : values) value = (rng.Uniform() * 2 - 1) * most;
  const graph::TensorDataRef data = graph::WriteDoubles(type.dtype, type.dims, values);
  return {data->bytes.begin(), data->bytes.end()};
}

Bytes Spread(const graph::TensorType& type, const Bytes& dense) {
  const auto size = static_cast<size_t>(SizeOf(type.dtype));
  Bytes storage(static_cast<size_t>(type.Extent()) * size);
  const std::vector<int64_t> offsets = Offsets(type);
  for (size_t i = 0; i < offsets.size(); ++i) {
    std::memcpy(storage.data() + static_cast<size_t>(offsets[i]) * size, dense.data() + i * size,
                size);
  }
  return storage;
}

Status Run(const ir::Kernel& kernel, std::vector<Bytes*> buffers, int64_t limit = ir::kNoLimit) {
  std::vector<std::span<std::byte>> params;
  for (Bytes* buffer : buffers) params.push_back(*buffer);
  return ir::Interpret(kernel, params, limit);
}

// Largest difference over the largest reference value of one output; huge if a value is no number,
// or infinite, and the reference is not alike.
double Difference(const graph::TensorType& type, const Bytes& storage,
                  const graph::TensorData& reference) {
  const std::vector<double> got =
      graph::ReadDoubles(*graph::MakeTensorData(type.dtype, {type.Extent()}, storage));
  const std::vector<double> want = graph::ReadDoubles(reference);
  const std::vector<int64_t> offsets = Offsets(type);
  double scale = 1e-6, worst = 0;
  for (size_t i = 0; i < offsets.size(); ++i) {
    const double value = got[static_cast<size_t>(offsets[i])];
    if (!std::isfinite(want[i])) {
      const bool alike = std::isnan(want[i]) ? std::isnan(value) : value == want[i];
      worst = alike ? worst : 1e30;
      continue;
    }
    scale = std::max(scale, std::abs(want[i]));
    worst = std::isnan(value) ? 1e30 : std::max(worst, std::abs(want[i] - value));
  }
  return worst / scale;
}

struct Case {
  graph::Workload workload;
  std::vector<Bytes> operands;  // in storage form
  std::vector<graph::TensorDataRef> reference;
};

Case MakeCase(Rng& rng, graph::Workload workload) {
  Case c{std::move(workload), {}, {}};
  std::vector<graph::TensorDataRef> sources;
  for (graph::ValueId id : c.workload.operands()) {
    const graph::TensorType& type = c.workload.graph()[id].type;
    Bytes dense = RandomBytes(rng, type);
    c.operands.push_back(Spread(type, dense));
    sources.push_back(graph::MakeTensorData(type.dtype, type.dims, std::move(dense)));
  }
  auto reference = graph::Evaluate(c.workload.graph(), sources);
  EXPECT_TRUE(reference.ok()) << reference.status().ToString();
  if (reference.ok()) c.reference = *reference;
  return c;
}

// After operands have changed, which are dense.
void EvaluateAgain(Case& c) {
  std::vector<graph::TensorDataRef> sources;
  for (size_t i = 0; i < c.operands.size(); ++i) {
    const graph::TensorType& type = c.workload.graph()[c.workload.operands()[i]].type;
    sources.push_back(graph::MakeTensorData(type.dtype, type.dims, c.operands[i]));
  }
  c.reference = *graph::Evaluate(c.workload.graph(), sources);
}

// In storage form; what is not written is 0xff. Stops with a failure.
void RunLowered(Case& c, const LoweredKernel& lowered, int64_t limit, std::vector<Bytes>& outputs) {
  std::vector<Bytes> prepared;
  for (const Preparation& p : lowered.preparations) {
    ASSERT_TRUE(p.kernel.Verify().ok()) << p.kernel.Verify().ToString();
    prepared.emplace_back(static_cast<size_t>(p.elements * SizeOf(p.dtype)));
    std::vector<Bytes*> buffers;
    for (int operand : p.operands) buffers.push_back(&c.operands[static_cast<size_t>(operand)]);
    buffers.push_back(&prepared.back());
    const Status status = Run(p.kernel, buffers);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  outputs.clear();
  for (graph::ValueId id : c.workload.outputs()) {
    const graph::TensorType& type = c.workload.graph()[id].type;
    outputs.emplace_back(static_cast<size_t>(type.Extent() * SizeOf(type.dtype)), std::byte{0xff});
  }
  std::vector<Bytes*> buffers;
  for (const Binding& binding : lowered.bindings) {
    const auto index = static_cast<size_t>(binding.index);
    buffers.push_back(binding.kind == Binding::Kind::kOperand  ? &c.operands[index]
                      : binding.kind == Binding::Kind::kOutput ? &outputs[index]
                                                               : &prepared[index]);
  }
  const Status status = Run(lowered.kernel, buffers, limit);
  ASSERT_TRUE(status.ok()) << status.ToString();
}

void CheckConfig(Case& c, const target::Target& target, const Config& config, double tolerance) {
  SCOPED_TRACE(target.ToText() + "\n" + config.ToText() + "\n" + c.workload.ToText());
  auto lowered = LowerConfig(c.workload, target, config);
  ASSERT_TRUE(lowered.ok()) << lowered.status().ToString();
  ASSERT_TRUE(lowered->kernel.Verify().ok()) << lowered->kernel.Verify().ToString();
  std::vector<Bytes> outputs;
  ASSERT_NO_FATAL_FAILURE(RunLowered(c, *lowered, ir::kNoLimit, outputs));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const graph::TensorType& type = c.workload.graph()[c.workload.outputs()[i]].type;
    const double bound = type.dtype == DType::kF16    ? 4e-3
                         : type.dtype == DType::kBF16 ? 3e-2
                                                      : tolerance;
    EXPECT_LE(Difference(type, outputs[i], *c.reference[i]), bound);
  }
}

void CheckFamilyOn(const target::Target& target, Rng& rng, graph::Workload workload,
                   const Family& family, double tolerance) {
  ASSERT_TRUE(family.Accepts(workload, target)) << workload.ToText();
  Case c = MakeCase(rng, std::move(workload));
  const Config usual = family.Default(c.workload, target);
  ASSERT_EQ(family.Check(c.workload, target, usual), RejectReason::kNone) << usual.ToText();
  CheckConfig(c, target, usual, tolerance);
  const Space space = family.MakeSpace(c.workload, target);
  ASSERT_LE(space.NumPoints(), int64_t{1} << 20);
  int legal = 0;
  for (int i = 0; i < 200 && legal < 2; ++i) {
    const Config config =
        space.At(static_cast<int64_t>(rng.Below(static_cast<uint64_t>(space.NumPoints()))));
    if (family.Check(c.workload, target, config) != RejectReason::kNone) continue;
    ++legal;
    CheckConfig(c, target, config, tolerance);
  }
}

void CheckFamily(Rng& rng, graph::Workload workload, const Family& family, double tolerance) {
  const target::Target target = TargetOf(rng);
  CheckFamilyOn(target, rng, std::move(workload), family, tolerance);
}

TEST(ContractionProperty, LoweredConfigsAgreeWithTheReference) {
  Rng rng(20240611);
  for (int i = 0; i < 400; ++i) {
    graph::Workload workload = RandomContraction(rng);
    const auto families = FamiliesFor(workload, target::Target{});
    ASSERT_FALSE(families.empty()) << workload.ToText();
    CheckFamily(rng, std::move(workload), *families[0], 1e-5);
    if (::testing::Test::HasFailure()) return;
  }
}

// How far the rows of a workload's outputs, along their first axis, lie apart; 0: there are none.
int64_t ElementsOfRows(const graph::Workload& workload) {
  const graph::TensorType& first = workload.graph()[workload.outputs()[0]].type;
  for (const graph::ValueId id : workload.outputs()) {
    const graph::TensorType& type = workload.graph()[id].type;
    const std::vector<int64_t> strides = type.EffectiveStrides();
    int64_t reach = 1;
    for (size_t d = 1; d < strides.size(); ++d) reach += (type.dims[d] - 1) * strides[d];
    const bool alike = type.dims == first.dims && strides == first.EffectiveStrides();
    if (!alike || type.dims[0] < 2 || reach > strides[0]) return 0;
  }
  return first.EffectiveStrides()[0];
}

// Of the first rows alone, whose tiles the chunks divide anew, each has the bits that all rows
// have.
void CheckLimits(Rng& rng, Case& c, const target::Target& target, const Config& config, int& cut) {
  SCOPED_TRACE(config.ToText() + "\n" + c.workload.ToText());
  auto lowered = LowerConfig(c.workload, target, config);
  ASSERT_TRUE(lowered.ok()) << lowered.status().ToString();
  std::vector<Bytes> all, first;
  ASSERT_NO_FATAL_FAILURE(RunLowered(c, *lowered, ir::kNoLimit, all));
  const int64_t elements = ElementsOfRows(c.workload);
  const std::vector<int64_t> row_elements(c.workload.outputs().size(), elements);
  lowered = LowerLimited(c.workload, target, config, row_elements);
  ASSERT_TRUE(lowered.ok()) << lowered.status().ToString();
  ASSERT_TRUE(lowered->kernel.Verify().ok()) << lowered->kernel.Verify().ToString();
  const graph::TensorType& type = c.workload.graph()[c.workload.outputs()[0]].type;
  for (int i = 0; i < 5; ++i) {
    const auto rows = static_cast<int64_t>(rng.Below(static_cast<uint64_t>(type.dims[0]) + 1));
    const int64_t limit = i == 0 ? ir::kNoLimit : rows;
    ASSERT_NO_FATAL_FAILURE(RunLowered(c, *lowered, limit, first));
    EXPECT_TRUE(i > 0 || first == all);
    for (size_t o = 0; o < first.size(); ++o) {
      const size_t bytes =
          static_cast<size_t>(rows) * first[o].size() / static_cast<size_t>(type.dims[0]);
      EXPECT_EQ(std::memcmp(first[o].data(), all[o].data(), bytes), 0) << rows << " rows";
    }
    cut += first[0].size() > 4 && first[0] != all[0] ? 1 : 0;
  }
}

// Of three legal configs; calls `met` with each. How often a run did less than all.
template <typename Met>
int CheckLimitsOf(Rng& rng, const target::Target& target, graph::Workload workload,
                  const Met& met) {
  const Family& family = *FindFamily("contraction");
  Case c = MakeCase(rng, std::move(workload));
  const Space space = family.MakeSpace(c.workload, target);
  int legal = 0, cut = 0;
  for (int tries = 0; tries < 300 && legal < 3; ++tries) {
    const Config config =
        space.At(static_cast<int64_t>(rng.Below(static_cast<uint64_t>(space.NumPoints()))));
    if (family.Check(c.workload, target, config) != RejectReason::kNone) continue;
    ++legal;
    met(config);
    CheckLimits(rng, c, target, config, cut);
    if (::testing::Test::HasFailure()) break;
  }
  return cut;
}

// The rows of a product of a batch are those of all its matrices. A third is deep enough for
// passes.
TEST(ContractionProperty, TilesEndAtTheRowsThatACallNeeds) {
  Rng rng(6102);
  int cut = 0, divided = 0, passes = 0;
  for (int i = 0; i < 120 && !HasFailure(); ++i) {
    target::Target target = TargetOf(rng);
    target.cpu().threads = 1 + static_cast<int>(rng.Below(4));
    const auto text = [](uint64_t n) { return std::to_string(n); };
    const std::string rows = i % 2 == 0 ? text(2 + rng.Below(70))
                                        : text(2 + rng.Below(6)) + "," + text(1 + rng.Below(12));
    const std::string k = text(i % 3 == 0 ? 256 : 8 + rng.Below(40)), n = text(8 + rng.Below(40));
    const std::string type = " : f32[" + rows + "," + n + "]\n";
    const auto workload = graph::Workload::Parse(
        "workload v1 tolerance=1e-04 {\n  %0 = input() : f32[" + rows + "," + k +
        "]\n  %1 = weight() : f32[" + k + "," + n + "]\n  %2 = input()" + type +
        "  %3 = matmul(%0, %1)" + type + "  %4 = add(%3, %2)" + type + "  return %4\n}\n");
    ASSERT_TRUE(workload.ok()) << workload.status().ToString();
    cut += CheckLimitsOf(rng, target, *workload, [&](const Config& config) {
      divided += config["row_chunks"] > 1 ? 1 : 0;
      passes += config["k_chunk"] > 0 || config["stage"] > 0 ? 1 : 0;
    });
  }
  EXPECT_GT(cut, 200);
  EXPECT_GT(divided, 60);
  EXPECT_GT(passes, 20);
}

TEST(ContractionProperty, AnyContractionComputesTheRowsThatACallNeeds) {
  Rng rng(6104);
  int cut = 0, checked = 0;
  for (int i = 0; i < 400 && !HasFailure(); ++i) {
    const target::Target target = TargetOf(rng);
    graph::Workload workload = i % 4 == 0 ? RandomDeepContraction(rng) : RandomContraction(rng);
    const bool accepts = FindFamily("contraction")->Accepts(workload, target);
    if (!accepts || ElementsOfRows(workload) == 0) continue;
    cut += CheckLimitsOf(rng, target, std::move(workload), [&](const Config&) { ++checked; });
  }
  EXPECT_GT(checked, 200);
  EXPECT_GT(cut, 50);
}

TEST(ContractionProperty, ColumnsOfFewBitsAgreeWithTheReference) {
  Rng rng(90125);
  const Family& family = *FindFamily("contraction");
  int decoded = 0;
  for (int i = 0; i < 150; ++i) {
    const target::Target target = TargetOf(rng);
    graph::Workload workload = RandomPackedProduct(rng);
    decoded += family.Default(workload, target)["decode"] != 0 ? 1 : 0;
    CheckFamilyOn(target, rng, std::move(workload), family, 1e-5);
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GE(decoded, 10);
}

target::Target WithByteDots(Rng& rng) {
  target::Target target;
  target.cpu().isa = target::Isa::kAvx512Vnni;
  target.cpu().threads = 1 + static_cast<int>(rng.Below(3));
  return target;
}

TEST(FixedPointProperty, LoweredConfigsAgreeWithTheReference) {
  Rng rng(60315);
  const Family& family = *FindFamily("fixed_point");
  int bits[9] = {};
  int checked = 0;
  for (int i = 0; i < 4000 && checked < 120; ++i) {
    const target::Target target = WithByteDots(rng);
    graph::Workload workload = RandomPackedProduct(rng);
    if (!family.Accepts(workload, target)) continue;
    ++checked;
    for (graph::ValueId id = 0; id < workload.graph().size(); ++id) {
      const graph::Value& node = workload.graph()[id];
      if (node.op == graph::Op::kDequantize) ++bits[node.Int("bits")];
    }
    for (const int threads : {1, 5, 16, 48, 256}) {
      target::Target many = target;
      many.cpu().threads = threads;
      const Config config = family.Default(workload, many);
      ASSERT_EQ(family.Check(workload, many, config), RejectReason::kNone) << config.ToText();
    }
    CheckFamilyOn(target, rng, std::move(workload), family, 1e-5);
    if (::testing::Test::HasFailure()) return;
  }
  for (const int count : {bits[2], bits[4], bits[8]}) EXPECT_GE(count, 15);
}

// The same product, whose rows may be rounded to 8 bits.
graph::Workload WithRoundedRows(const graph::Workload& workload) {
  graph::Graph graph = workload.graph();
  for (graph::ValueId id = 0; id < graph.size(); ++id) {
    if (graph[id].op == graph::Op::kMatMul) graph[id].attrs["precision"] = std::string("i8");
  }
  return *graph::Workload::Create(std::move(graph), 2e-2);
}

TEST(FixedPointProperty, RoundedRowsStayWithinTheirTolerance) {
  Rng rng(60316);
  const Family& family = *FindFamily("fixed_point");
  int checked = 0;
  for (int i = 0; i < 4000 && checked < 60; ++i) {
    const target::Target target = WithByteDots(rng);
    graph::Workload workload = WithRoundedRows(RandomPackedProduct(rng));
    const std::optional<ContractionProblem> problem = FindContractionOfAnyColumns(workload);
    if (!family.Accepts(workload, target) || !MayRoundRows(workload, *problem)) continue;
    ++checked;
    CheckFamilyOn(target, rng, std::move(workload), family, 2e-2);
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_EQ(checked, 60);
}

// Many rows are as many more products: three digits of each would cost what floats do.
TEST(FixedPointProperty, ManyRowsAreTakenIfTheyMayBeRounded) {
  const auto taken = [](const std::string& tolerance, const std::string& precision) {
    const auto workload = graph::Workload::Parse(
        "workload v1 tolerance=" + tolerance +
        " {\n  %0 = input() : f32[128,64]\n"
        "  %1 = weight() : u8[32,32]\n  %2 = weight() : f32[32,2]\n"
        "  %3 = dequantize(%1, %2) {bits=4, block=32, depth=64, zero=8} : f32[64,32]\n"
        "  %4 = matmul(%0, %3)" +
        precision + " : f32[128,32]\n  return %4\n}\n");
    EXPECT_TRUE(workload.ok()) << workload.status().ToString();
    Rng rng(1);
    return FindFamily("fixed_point")->Accepts(*workload, WithByteDots(rng));
  };
  EXPECT_TRUE(taken("2e-02", " {precision=i8}"));
  EXPECT_FALSE(taken("1e-04", " {precision=i8}"));
  EXPECT_FALSE(taken("2e-02", " {precision=tf32}"));
  EXPECT_FALSE(taken("2e-02", ""));
}

// Each group of a row has a factor of its own: elements of 1e-20 keep their digits beside others of
// one, where those meet zeros.
TEST(FixedPointProperty, SmallElementsKeepTheirDigitsBesideLargeOnes) {
  const auto workload = graph::Workload::Parse(
      "workload v1 tolerance=1e-04 {\n"
      "  %0 = input() : f32[1,96]\n  %1 = weight() : u8[16,48]\n  %2 = weight() : f32[16,3]\n"
      "  %3 = dequantize(%1, %2) {bits=4, block=32, depth=96, zero=8} : f32[96,16]\n"
      "  %4 = matmul(%0, %3) : f32[1,16]\n  %5 = constant() {value=1e+20} : f32[]\n"
      "  %6 = mul(%4, %5) : f32[1,16]\n  return %6\n}\n");
  ASSERT_TRUE(workload.ok()) << workload.status().ToString();
  Rng rng(17);
  Case c = MakeCase(rng, *workload);
  auto* x = reinterpret_cast<float*>(c.operands[0].data());
  for (int i = 0; i < 32; ++i) x[i] *= 1e-20F;
  for (size_t n = 0; n < 16; ++n) std::memset(c.operands[1].data() + n * 48 + 16, 0x88, 32);
  EvaluateAgain(c);
  const std::vector<double> expected = graph::ReadDoubles(*c.reference[0]);
  EXPECT_LT(*std::max_element(expected.begin(), expected.end()), 100);
  const target::Target target = WithByteDots(rng);
  CheckConfig(c, target, FindFamily("fixed_point")->Default(c.workload, target), 1e-5);
}

// A scale or an element that is no number spoils the results that it has a part in, and no others.
TEST(FixedPointProperty, NoNumbersSpreadToTheirResultsAlone) {
  const auto workload = graph::Workload::Parse(
      "workload v1 tolerance=1e-04 {\n"
      "  %0 = input() : f32[3,64]\n  %1 = weight() : u8[20,32]\n  %2 = weight() : f32[20,2]\n"
      "  %3 = dequantize(%1, %2) {bits=4, block=32, depth=64, zero=8} : f32[64,20]\n"
      "  %4 = matmul(%0, %3) : f32[3,20]\n  return %4\n}\n");
  ASSERT_TRUE(workload.ok()) << workload.status().ToString();
  Rng rng(18);
  Case c = MakeCase(rng, *workload);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  std::memcpy(c.operands[2].data() + 5 * sizeof(float), &nan, sizeof(nan));
  std::memcpy(c.operands[0].data() + 70 * sizeof(float), &infinity, sizeof(nan));
  std::memcpy(c.operands[0].data() + 140 * sizeof(float), &nan, sizeof(nan));
  EvaluateAgain(c);
  const auto target = WithByteDots(rng);
  CheckConfig(c, target, FindFamily("fixed_point")->Default(c.workload, target), 1e-5);
}

// Sums of integers have no tolerance.
TEST(ContractionProperty, ProductsOfBytesAreExact) {
  Rng rng(51243);
  const Family& family = *FindFamily("contraction");
  for (int i = 0; i < 150; ++i) {
    CheckFamilyOn(TargetOf(rng), rng, RandomByteProduct(rng), family, 0);
    if (::testing::Test::HasFailure()) return;
  }
}

// A scale spoils the columns of its block and no others, whatever it is.
TEST(ContractionProperty, ScalesThatAreNoNumbersSpreadAsInTheReference) {
  const auto workload = graph::Workload::Parse(
      "workload v1 tolerance=1e-04 {\n"
      "  %0 = input() : f32[3,45]\n  %1 = weight() : u8[20,24]\n  %2 = weight() : f32[20,3]\n"
      "  %3 = dequantize(%1, %2) {bits=4, block=16, depth=45, zero=8} : f32[45,20]\n"
      "  %4 = matmul(%0, %3) : f32[3,20]\n  return %4\n}\n");
  ASSERT_TRUE(workload.ok()) << workload.status().ToString();
  Rng rng(3);
  Case c = MakeCase(rng, *workload);
  const float specials[] = {std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::denorm_min(),
                            -0.0f,
                            0.0f};
  for (size_t i = 0; i < std::size(specials); ++i) {
    std::memcpy(c.operands[2].data() + (7 * i + 2) * sizeof(float), &specials[i], sizeof(float));
  }
  EvaluateAgain(c);
  const std::vector<double> expected = graph::ReadDoubles(*c.reference[0]);
  EXPECT_EQ(
      std::count_if(expected.begin(), expected.end(), [](double x) { return std::isfinite(x); }),
      3 * 17);
  for (const target::Isa isa : {target::Isa::kAvx512, target::Isa::kAvx2, target::Isa::kPlain}) {
    target::Target target;
    target.cpu().isa = isa;
    target.cpu().threads = 1;
    CheckConfig(c, target, FindFamily("contraction")->Default(c.workload, target), 1e-5);
  }
}

// Small workloads rarely admit these knobs: each is set in a config of its own, and must be met.
TEST(ContractionProperty, PassesStagedRowsAndFetchedPanelsAgreeWithTheReference) {
  Rng rng(4711);
  const Family& family = *FindFamily("contraction");
  const std::string knobs[] = {"k_chunk", "stage", "prefetch_panel"};
  int met[3] = {0, 0, 0};
  for (int i = 0; i < 24; ++i) {
    const target::Target target = TargetOf(rng);
    Case c = MakeCase(rng, RandomDeepContraction(rng));
    const Space space = family.MakeSpace(c.workload, target);
    for (int k = 0; k < 3; ++k) {
      for (int tries = 0; tries < 2000; ++tries) {
        const Config config =
            space.At(static_cast<int64_t>(rng.Below(static_cast<uint64_t>(space.NumPoints()))));
        if (config[knobs[k]] == 0) continue;
        if (family.Check(c.workload, target, config) != RejectReason::kNone) continue;
        CheckConfig(c, target, config, 2e-5);
        ++met[k];
        break;
      }
    }
    if (::testing::Test::HasFailure()) return;
  }
  for (int k = 0; k < 3; ++k) EXPECT_GE(met[k], 12) << knobs[k];
}

TEST(WinogradProperty, LoweredConfigsAgreeWithTheReference) {
  Rng rng(99);
  for (int i = 0; i < 30; ++i) {
    CheckFamily(rng, RandomWinograd(rng), *FindFamily("winograd"), 2e-5);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(DepthwiseProperty, LoweredConfigsAgreeWithTheReference) {
  Rng rng(77);
  for (int i = 0; i < 120; ++i) {
    CheckFamily(rng, RandomDepthwise(rng), *FindFamily("depthwise"), 1e-5);
    if (::testing::Test::HasFailure()) return;
  }
}

// Sums of integers have no tolerance.
TEST(DepthwiseProperty, FiltersOfBytesAreExact) {
  Rng rng(79);
  for (int i = 0; i < 150; ++i) {
    CheckFamilyOn(TargetOf(rng), rng, RandomByteFilters(rng), *FindFamily("depthwise"), 0);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(DepthwiseProperty, NarrowGroupsAgreeWithTheReference) {
  Rng rng(78);
  const Family& family = *FindFamily("depthwise");
  int checked = 0;
  for (int i = 0; i < 160; ++i) {
    const target::Target target = TargetOf(rng);
    graph::Workload workload = RandomNarrowGroups(rng);
    // Channels may be planes, and groups wider than a vector.
    if (!family.Accepts(workload, target)) continue;
    ++checked;
    CheckFamilyOn(target, rng, std::move(workload), family, 1e-5);
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GE(checked, 40);
}

// Lowering one that is not legal would be an error of every build without a log.
TEST(DefaultProperty, IsLegalForAnyNumberOfThreads) {
  Rng rng(5);
  for (int i = 0; i < 600; ++i) {
    const graph::Workload workload = i % 6 == 5   ? RandomByteFilters(rng)
                                     : i % 5 == 0 ? RandomContraction(rng)
                                     : i % 5 == 1 ? RandomDepthwise(rng)
                                     : i % 5 == 2 ? RandomNarrowGroups(rng)
                                     : i % 5 == 3 ? RandomWinograd(rng)
                                                  : RandomDeepContraction(rng);
    for (const int threads : {1, 2, 3, 4, 5, 8, 16, 48, 256}) {
      target::Target target = TargetOf(rng);
      target.cpu().threads = threads;
      for (const Family* family : FamiliesFor(workload, target)) {
        const Config config = family->Default(workload, target);
        ASSERT_EQ(family->Check(workload, target, config), RejectReason::kNone)
            << target.ToText() << "\n"
            << config.ToText() << "\n"
            << workload.ToText();
      }
    }
  }
}

}  // namespace
}  // namespace mlc::schedule
