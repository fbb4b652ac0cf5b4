#include "tests/property/kernel_check/kernel_case.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "compiler/base/text.h"
#include "compiler/graph/evaluate.h"
#include "compiler/graph/tensor_io.h"

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

}  // namespace

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
