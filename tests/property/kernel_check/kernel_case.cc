#include "tests/property/kernel_check/kernel_case.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "compiler/graph/evaluate/evaluate.h"
#include "compiler/graph/tensor_io.h"
#include "tests/workloads/draw.h"

namespace mlc::schedule {

namespace {

std::vector<int64_t> Offsets(const graph::TensorType& type) {
  const std::vector<int64_t> strides = type.EffectiveStrides();
  std::vector<int64_t> offsets, at(type.dims.size(), 0);
  for (int64_t n = 0; n < type.NumElements(); ++n) {
    offsets.push_back(std::inner_product(at.begin(), at.end(), strides.begin(), int64_t{0}));
    for (size_t d = at.size(); d-- > 0 && ++at[d] == type.dims[d];) at[d] = 0;
  }
  return offsets;
}

// Integers are valid as indices of any dimension of three or more.
constexpr int64_t kIntegers = 3;

graph::TensorDataRef RandomData(Rng& rng, const graph::TensorType& type, double mask_share) {
  std::vector<double> values(static_cast<size_t>(type.NumElements()));
  for (double& value : values) {
    value = rng.Uniform() * 2 - 1;
    if (rng.Uniform() < mask_share) value = -std::numeric_limits<double>::infinity();
    if (type.dtype == DType::kBool) value = rng.Below(2) != 0 ? 1 : 0;
    if (!IsFloat(type.dtype) && type.dtype != DType::kBool) {
      value = static_cast<double>(
          Between(rng, type.dtype == DType::kU8 ? 0 : -kIntegers, kIntegers - 1));
    }
  }
  return graph::WriteDoubles(type.dtype, type.dims, values);
}

// NaN in all elements from a place on axis 2 on.
graph::TensorDataRef Poisoned(const graph::TensorData& data, int64_t from) {
  std::vector<double> values = graph::ReadDoubles(data);
  const int64_t inner = data.dims[3], keys = data.dims[2];
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t key = static_cast<int64_t>(i) / inner % keys;
    if (key >= from) values[i] = std::numeric_limits<double>::quiet_NaN();
  }
  return graph::WriteDoubles(data.dtype, data.dims, values);
}

}  // namespace

bool MakeCase(Rng& rng, const RandomWorkload& random, Case& c) {
  auto workload = graph::Workload::Parse(random.text);
  EXPECT_TRUE(workload.ok()) << workload.status().ToString() << "\n" << random.text;
  if (!workload.ok()) return false;
  c.workload = *workload;
  std::vector<graph::TensorDataRef> sources;
  for (size_t i = 0; i < c.workload.operands().size(); ++i) {
    const graph::TensorType& type = c.workload.graph()[c.workload.operands()[i]].type;
    const bool masked = static_cast<int>(i) == random.masked_operand;
    sources.push_back(RandomData(rng, type, masked ? random.mask_share : 0));
    if (random.count_operand >= 0 && (i == 1 || i == 2)) {
      sources.back() = Poisoned(*sources.back(), random.count);
    }
    if (static_cast<int>(i) == random.count_operand) {
      sources.back() = graph::WriteInts(type.dtype, type.dims, std::vector<int64_t>{random.count});
    }
    const auto size = static_cast<size_t>(SizeOf(type.dtype));
    Storage& storage = c.operands.emplace_back(type.Extent() * SizeOf(type.dtype));
    const std::vector<int64_t> offsets = Offsets(type);
    for (size_t k = 0; k < offsets.size(); ++k) {
      std::memcpy(storage.data() + static_cast<size_t>(offsets[k]) * size,
                  sources.back()->bytes.data() + k * size, size);
    }
  }
  auto reference = graph::Evaluate(c.workload.graph(), sources);
  EXPECT_TRUE(reference.ok()) << reference.status().ToString() << "\n" << random.text;
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

}  // namespace mlc::schedule
