#include "tests/property/cuda_contraction/cuda_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "compiler/graph/evaluate/evaluate.h"
#include "compiler/graph/tensor_io.h"
#include "compiler/ir/interpret/interpret.h"

namespace mlc::schedule {
namespace {

using Bytes = std::vector<std::byte>;

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

Bytes RandomBytes(Rng& rng, const graph::TensorType& type, double low) {
  std::vector<double> values(static_cast<size_t>(type.NumElements()));
  const bool is_code = type.dtype == DType::kU8 || type.dtype == DType::kI8;
  const double first = type.dtype == DType::kI8 ? -128 : 0;
  for (double& value : values) {
    value = is_code ? first + static_cast<double>(rng.Below(256)) : low + rng.Uniform() * (1 - low);
  }
  const graph::TensorDataRef data = graph::WriteDoubles(type.dtype, type.dims, values);
  return {data->bytes.begin(), data->bytes.end()};
}

Bytes Spread(const graph::TensorType& type, const Bytes& dense) {
  const auto size = static_cast<size_t>(SizeOf(type.dtype));
  // What lies between elements is no number: nobody may use it.
  Bytes storage(static_cast<size_t>(type.Extent()) * size, std::byte{0xff});
  const std::vector<int64_t> offsets = Offsets(type);
  for (size_t i = 0; i < offsets.size(); ++i) {
    std::memcpy(storage.data() + static_cast<size_t>(offsets[i]) * size, dense.data() + i * size,
                size);
  }
  return storage;
}

Status Run(const ir::Kernel& kernel, const std::vector<Bytes*>& buffers) {
  std::vector<std::span<std::byte>> params;
  for (Bytes* buffer : buffers) params.push_back(*buffer);
  return ir::Interpret(kernel, params);
}

double Difference(const graph::TensorType& type, const Bytes& storage,
                  const graph::TensorData& reference) {
  const std::vector<double> got =
      graph::ReadDoubles(*graph::MakeTensorData(type.dtype, {type.Extent()}, storage));
  const std::vector<double> want = graph::ReadDoubles(reference);
  const std::vector<int64_t> offsets = Offsets(type);
  double scale = 1e-6, worst = 0;
  for (size_t i = 0; i < offsets.size(); ++i) {
    const double value = got[static_cast<size_t>(offsets[i])];
    scale = std::max(scale, std::abs(want[i]));
    worst = std::isnan(value) ? std::numeric_limits<double>::infinity()
                              : std::max(worst, std::abs(want[i] - value));
  }
  return worst / scale;
}

bool Prepare(CudaCase& c, const LoweredKernel& lowered, std::vector<Bytes>& prepared) {
  for (const Preparation& p : lowered.preparations) {
    const Status verified = p.kernel.Verify();
    EXPECT_TRUE(verified.ok()) << verified.ToString();
    prepared.emplace_back(static_cast<size_t>(p.elements * SizeOf(p.dtype)));
    std::vector<Bytes*> buffers;
    for (int operand : p.operands) buffers.push_back(&c.operands[static_cast<size_t>(operand)]);
    buffers.push_back(&prepared.back());
    const Status status = Run(p.kernel, buffers);
    EXPECT_TRUE(status.ok()) << status.ToString();
    if (!verified.ok() || !status.ok()) return false;
  }
  return true;
}

}  // namespace

target::Target HopperTarget() {
  const auto target = target::Target::Parse(
      "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560 fma_gflops=60000 "
      "tensor_gflops=800000 copy_gbps=4350");
  EXPECT_TRUE(target.ok()) << target.status().ToString();
  return *target;
}

CudaCase MakeCudaCase(Rng& rng, graph::Workload workload, double low) {
  CudaCase c{std::move(workload), {}, {}};
  std::vector<graph::TensorDataRef> sources;
  for (graph::ValueId id : c.workload.operands()) {
    const graph::TensorType& type = c.workload.graph()[id].type;
    Bytes dense = RandomBytes(rng, type, low);
    c.operands.push_back(Spread(type, dense));
    sources.push_back(graph::MakeTensorData(type.dtype, type.dims, std::move(dense)));
  }
  auto reference = graph::Evaluate(c.workload.graph(), sources);
  EXPECT_TRUE(reference.ok()) << reference.status().ToString();
  if (reference.ok()) c.reference = *reference;
  return c;
}

double CudaError(CudaCase& c, const target::Target& target, const Config& config,
                 std::vector<Bytes>* stored) {
  auto lowered = LowerConfig(c.workload, target, config);
  EXPECT_TRUE(lowered.ok()) << lowered.status().ToString();
  if (!lowered.ok()) return -1;
  const Status verified = lowered->kernel.Verify();
  EXPECT_TRUE(verified.ok()) << verified.ToString();
  std::vector<Bytes> prepared;
  if (!verified.ok() || !Prepare(c, *lowered, prepared)) return -1;
  std::vector<Bytes> outputs;
  for (graph::ValueId id : c.workload.outputs()) {
    const graph::TensorType& type = c.workload.graph()[id].type;
    outputs.emplace_back(static_cast<size_t>(type.Extent() * SizeOf(type.dtype)), std::byte{0xff});
  }
  std::vector<Bytes*> buffers;
  for (const Binding& binding : lowered->bindings) {
    const auto index = static_cast<size_t>(binding.index);
    buffers.push_back(binding.kind == Binding::Kind::kOperand  ? &c.operands[index]
                      : binding.kind == Binding::Kind::kOutput ? &outputs[index]
                                                               : &prepared[index]);
  }
  const Status status = Run(lowered->kernel, buffers);
  EXPECT_TRUE(status.ok()) << status.ToString();
  if (!status.ok()) return -1;
  double worst = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const graph::TensorType& type = c.workload.graph()[c.workload.outputs()[i]].type;
    worst = std::max(worst, Difference(type, outputs[i], *c.reference[i]));
  }
  if (stored != nullptr) *stored = std::move(outputs);
  return worst;
}

}  // namespace mlc::schedule
