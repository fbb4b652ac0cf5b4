#include "tests/property/kernel_check/kernel_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "compiler/base/text.h"
#include "compiler/build/loaded_kernel.h"
#include "compiler/codegen/llvm.h"
#include "compiler/graph/evaluate.h"
#include "compiler/graph/tensor_io.h"
#include "compiler/ir/interpret.h"

namespace mlc::schedule {

namespace {

// Storage of an operand or output, aligned as kernels expect.
class Storage {
 public:
  explicit Storage(int64_t bytes, std::byte fill = std::byte{0})
      : bytes_(static_cast<size_t>(bytes)), data_(bytes_ + 64, fill) {}
  std::byte* data() {
    const auto address = reinterpret_cast<uintptr_t>(data_.data());
    return data_.data() + (64 - address % 64) % 64;
  }
  std::span<std::byte> span() { return {data(), bytes_}; }

 private:
  size_t bytes_;
  std::vector<std::byte> data_;
};

std::vector<int64_t> Offsets(const graph::TensorType& type) {
  const std::vector<int64_t> strides = type.EffectiveStrides();
  std::vector<int64_t> offsets, at(type.dims.size(), 0);
  for (int64_t n = 0; n < type.NumElements(); ++n) {
    offsets.push_back(std::inner_product(at.begin(), at.end(), strides.begin(), int64_t{0}));
    for (size_t d = at.size(); d-- > 0 && ++at[d] == type.dims[d];) at[d] = 0;
  }
  return offsets;
}

graph::TensorDataRef RandomData(Rng& rng, const graph::TensorType& type, double mask_share,
                                int64_t range) {
  std::vector<double> values(static_cast<size_t>(type.NumElements()));
  for (double& value : values) {
    value = rng.Uniform() * 2 - 1;
    if (rng.Uniform() < mask_share) value = -std::numeric_limits<double>::infinity();
    if (type.dtype == DType::kBool) value = rng.Below(2) != 0 ? 1 : 0;
    if (!IsFloat(type.dtype) && type.dtype != DType::kBool) {
      value = static_cast<double>(Between(rng, type.dtype == DType::kU8 ? 0 : -range, range - 1));
    }
  }
  return graph::WriteDoubles(type.dtype, type.dims, values);
}

struct Case {
  graph::Workload workload;
  std::vector<Storage> operands;
  std::vector<graph::TensorDataRef> reference;
};

bool MakeCase(Rng& rng, std::string_view text, const CheckOptions& options, Case& c) {
  auto workload = graph::Workload::Parse(text);
  EXPECT_TRUE(workload.ok()) << workload.status().ToString() << "\n" << text;
  if (!workload.ok()) return false;
  c.workload = *workload;
  std::vector<graph::TensorDataRef> sources;
  for (size_t i = 0; i < c.workload.operands().size(); ++i) {
    const graph::TensorType& type = c.workload.graph()[c.workload.operands()[i]].type;
    const bool masked = static_cast<int>(i) == options.masked_operand;
    sources.push_back(RandomData(rng, type, masked ? options.mask_share : 0, options.index_range));
    const auto size = static_cast<size_t>(SizeOf(type.dtype));
    Storage& storage = c.operands.emplace_back(type.Extent() * SizeOf(type.dtype));
    const std::vector<int64_t> offsets = Offsets(type);
    for (size_t k = 0; k < offsets.size(); ++k) {
      std::memcpy(storage.data() + static_cast<size_t>(offsets[k]) * size,
                  sources.back()->bytes.data() + k * size, size);
    }
  }
  auto reference = graph::Evaluate(c.workload.graph(), sources);
  EXPECT_TRUE(reference.ok()) << reference.status().ToString() << "\n" << text;
  if (!reference.ok()) return false;
  c.reference = *reference;
  return true;
}

void Compare(const Case& c, std::vector<Storage>& outputs, double tolerance, const char* how) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const graph::TensorType& type = c.workload.graph()[c.workload.outputs()[i]].type;
    const auto span = outputs[i].span();
    const std::vector<double> got = graph::ReadDoubles(
        *graph::MakeTensorData(type.dtype, {type.Extent()}, {span.begin(), span.end()}));
    const std::vector<double> want = graph::ReadDoubles(*c.reference[i]);
    const std::vector<int64_t> offsets = Offsets(type);
    const double bound = type.dtype == DType::kF16    ? 4e-3
                         : type.dtype == DType::kBF16 ? 3e-2
                                                      : tolerance;
    double scale = 1e-6, worst = 0;
    size_t where = 0;
    for (size_t k = 0; k < want.size(); ++k) {
      const double value = got[static_cast<size_t>(offsets[k])];
      if (value == want[k] || (std::isnan(value) && std::isnan(want[k]))) continue;
      scale = std::max(scale, std::isfinite(want[k]) ? std::abs(want[k]) : 0);
      const double difference = std::abs(value - want[k]);
      if (difference <= worst) continue;
      worst = std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
      where = k;
    }
    for (double value : want) scale = std::max(scale, std::isfinite(value) ? std::abs(value) : 0);
    EXPECT_LE(worst / scale, bound)
        << how << ": output " << i << " element " << where << " is "
        << got[static_cast<size_t>(offsets[where])] << " instead of " << want[where];
  }
}

std::vector<Storage> Outputs(const Case& c) {
  std::vector<Storage> outputs;
  for (graph::ValueId id : c.workload.outputs()) {
    const graph::TensorType& type = c.workload.graph()[id].type;
    outputs.emplace_back(type.Extent() * SizeOf(type.dtype), std::byte{0xff});
  }
  return outputs;
}

void CheckInterpreted(Case& c, const LoweredKernel& lowered, double tolerance) {
  std::vector<Storage> outputs = Outputs(c);
  std::vector<std::span<std::byte>> params;
  for (const Binding& binding : lowered.bindings) {
    const auto index = static_cast<size_t>(binding.index);
    params.push_back(binding.kind == Binding::Kind::kOperand ? c.operands[index].span()
                                                             : outputs[index].span());
  }
  const Status status = ir::Interpret(lowered.kernel, params);
  ASSERT_TRUE(status.ok()) << status.ToString();
  Compare(c, outputs, tolerance, "interpreted");
}

void CheckCompiled(Case& c, const LoweredKernel& lowered, const target::Target& target,
                   double tolerance) {
  const auto object = codegen::CompileToObject({&lowered.kernel}, target);
  ASSERT_TRUE(object.ok()) << object.status().ToString();
  const auto loaded = build::LoadObject(*object);
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  const codegen::KernelLayout layout = codegen::LayoutOf(lowered.kernel);
  const auto phases =
      (*loaded)->Phases(lowered.kernel.name, static_cast<int>(layout.phase_extents.size()));
  ASSERT_TRUE(phases.ok()) << phases.status().ToString();
  std::vector<Storage> outputs = Outputs(c);
  Storage shared(layout.shared_bytes + 64), scratch(layout.thread_bytes + 64);
  std::vector<void*> buffers;
  for (const Binding& binding : lowered.bindings) {
    const auto index = static_cast<size_t>(binding.index);
    buffers.push_back(binding.kind == Binding::Kind::kOperand ? c.operands[index].data()
                                                              : outputs[index].data());
  }
  buffers.push_back(shared.data());
  buffers.push_back(scratch.data());
  for (size_t i = 0; i < phases->size(); ++i) {
    (*phases)[i](buffers.data(), 0, layout.phase_extents[i], 0);
  }
  Compare(c, outputs, tolerance, "compiled");
}

void CheckConfig(Case& c, const target::Target& target, const Config& config, bool compiled,
                 double tolerance) {
  SCOPED_TRACE(target.ToText() + "\n" + config.ToText() + "\n" + c.workload.ToText());
  const auto lowered = LowerConfig(c.workload, target, config);
  ASSERT_TRUE(lowered.ok()) << lowered.status().ToString();
  ASSERT_TRUE(lowered->preparations.empty());
  const Status verified = lowered->kernel.Verify();
  ASSERT_TRUE(verified.ok()) << verified.ToString() << "\n" << lowered->kernel.ToText();
  if (compiled) {
    CheckCompiled(c, *lowered, target, tolerance);
  } else {
    CheckInterpreted(c, *lowered, tolerance);
  }
  if (::testing::Test::HasFailure()) ADD_FAILURE() << lowered->kernel.ToText();
}

void CheckTarget(Rng& rng, Case& c, const target::Target& target, const Family& family,
                 bool compiled, const CheckOptions& options) {
  ASSERT_TRUE(family.Accepts(c.workload, target)) << c.workload.ToText();
  const Config guess = family.Default(c.workload, target);
  ASSERT_EQ(family.Check(c.workload, target, guess), RejectReason::kNone) << guess.ToText();
  CheckConfig(c, target, guess, compiled, options.tolerance);
  const Space space = family.MakeSpace(c.workload, target);
  ASSERT_GE(space.RankOf(guess), 0) << guess.ToText();
  int legal = 0;
  for (int i = 0; i < 50 && legal < options.configs && !::testing::Test::HasFailure(); ++i) {
    const auto points = static_cast<uint64_t>(space.NumPoints());
    const Config config = space.At(static_cast<int64_t>(rng.Below(points)));
    if (family.Check(c.workload, target, config) != RejectReason::kNone) continue;
    ++legal;
    const KernelFacts facts = family.Facts(c.workload, target, config);
    EXPECT_GE(facts.parallel_chunks, 1);
    EXPECT_GE(facts.imbalance, 1 - 1e-9);
    CheckConfig(c, target, config, compiled, options.tolerance);
  }
}

}  // namespace

void CheckFamily(Rng& rng, std::string_view text, std::string_view family,
                 const CheckOptions& options) {
  const Family* found = FindFamily(family);
  ASSERT_NE(found, nullptr) << family;
  Case c;
  if (!MakeCase(rng, text, options, c)) return;
  target::Target random;
  const target::Isa isas[] = {target::Isa::kAvx512, target::Isa::kAvx2, target::Isa::kPlain};
  random.isa = isas[rng.Below(3)];
  random.threads = 1 + static_cast<int>(rng.Below(2));
  CheckTarget(rng, c, random, *found, false, options);
  if (::testing::Test::HasFailure()) return;
  CheckTarget(rng, c, target::DetectHost(2), *found, true, options);
}

int64_t Between(Rng& rng, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(rng.Below(static_cast<uint64_t>(high - low + 1)));
}

bool Chance(Rng& rng, int percent) { return rng.Below(100) < static_cast<uint64_t>(percent); }

std::string DenseType(std::string_view dtype, const std::vector<int64_t>& dims) {
  return std::string(dtype) + IntListToText(dims);
}

std::string RandomType(Rng& rng, std::string_view dtype, const std::vector<int64_t>& dims) {
  std::string text = DenseType(dtype, dims);
  const uint64_t kind = rng.Below(4);
  if (kind < 2 || dims.empty()) return text;
  std::vector<size_t> order(dims.size());
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.Below(i)]);
  std::vector<int64_t> strides(dims.size());
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = stride;
    stride *= dims[order[i]];
    if (kind == 3) stride += Between(rng, 0, 5);
  }
  std::string list = IntListToText(strides);
  list.front() = '{';
  list.back() = '}';
  return text + list;
}

}  // namespace mlc::schedule
