#include "worker/check/inputs.h"

#include <algorithm>
#include <cstring>

#include "compiler/graph/tensor_io.h"

namespace mlc::worker {
namespace {

using graph::Graph;
using graph::Op;
using graph::Value;
using graph::ValueId;

constexpr int64_t kSmall = 8;

void Bound(InputDomain& domain, int64_t below) {
  domain.index = true;
  domain.below = domain.below == 0 ? below : std::min(domain.below, below);
}

// The demand of one node on its operand at `position`.
void OwnDemand(const Graph& graph, const Value& user, size_t position, InputDomain& domain) {
  if (position == 0 && user.op != Op::kPointwise) return;
  const auto data_dim = [&](int64_t axis) {
    const std::vector<int64_t>& dims = graph[user.operands[0]].type.dims;
    if (axis < 0) axis += static_cast<int64_t>(dims.size());
    return dims[static_cast<size_t>(axis)];
  };
  switch (user.op) {
    case Op::kGather:
    case Op::kGatherElements:
      Bound(domain, data_dim(user.Int("axis")));
      break;
    case Op::kScatterElements:
      if (position == 1) Bound(domain, data_dim(user.Int("axis")));
      break;
    case Op::kGatherND:
    case Op::kScatterND: {
      if (position != 1) break;
      const std::vector<int64_t>& dims = graph[user.operands[0]].type.dims;
      for (int64_t dim : dims) Bound(domain, dim);
      break;
    }
    case Op::kAttention:
      if (position == 4) domain.fixed = graph[user.operands[1]].type.dims[2];
      break;
    case Op::kPointwise:
      domain.positive |= InfoOf(user.scalar).positive_operand == static_cast<int>(position);
      break;
    default:
      break;
  }
}

// Whether a demand on the node's result is one on this operand, too.
bool PassesOn(const Value& user, size_t position) {
  switch (user.op) {
    case Op::kCast:
    case Op::kReshape:
    case Op::kTranspose:
    case Op::kExpand:
    case Op::kSlice:
    case Op::kConcat:
    case Op::kView:
    case Op::kCopy:
    case Op::kTile:
      return true;
    case Op::kPointwise:
      return user.scalar == ScalarOp::kAdd || user.scalar == ScalarOp::kMul ||
             (user.scalar == ScalarOp::kSelect && position > 0);
    default:
      return false;
  }
}

}  // namespace

std::vector<InputDomain> InputDomains(const graph::Workload& workload) {
  const Graph& graph = workload.graph();
  std::vector<InputDomain> domains(static_cast<size_t>(graph.size()));
  for (ValueId id = graph.size() - 1; id >= 0; --id) {
    const Value& user = graph[id];
    const InputDomain result = domains[static_cast<size_t>(id)];
    for (size_t i = 0; i < user.operands.size(); ++i) {
      if (user.operands[i] == graph::kNoValue) continue;
      InputDomain& domain = domains[static_cast<size_t>(user.operands[i])];
      OwnDemand(graph, user, i, domain);
      if (!PassesOn(user, i)) continue;
      domain.positive |= result.positive;
      domain.fixed = std::max(domain.fixed, result.fixed);
      if (result.index) Bound(domain, result.below);
    }
  }
  std::vector<InputDomain> demanded;
  for (ValueId id : workload.operands()) demanded.push_back(domains[static_cast<size_t>(id)]);
  return demanded;
}

graph::TensorDataRef RandomTensor(Rng& rng, const graph::TensorType& type,
                                  const InputDomain& domain) {
  const auto count = static_cast<size_t>(type.NumElements());
  if (IsFloat(type.dtype)) {
    // The sum of two uniform numbers: most values near zero, none far out.
    const auto draw = [&] {
      return domain.positive ? rng.Uniform() + 0.5 : rng.Uniform() + rng.Uniform() - 1;
    };
    if (type.dtype == DType::kF32) {
      std::vector<std::byte> bytes(count * sizeof(float));
      for (size_t i = 0; i < count; ++i) {
        const auto value = static_cast<float>(draw());
        std::memcpy(bytes.data() + i * sizeof(float), &value, sizeof(float));
      }
      return graph::MakeTensorData(type.dtype, type.dims, std::move(bytes));
    }
    std::vector<double> values(count);
    for (double& value : values) value = draw();
    return graph::WriteDoubles(type.dtype, type.dims, values);
  }
  int64_t low = -kSmall;
  int64_t high = kSmall;
  if (type.dtype == DType::kI8 || type.dtype == DType::kU8) {
    low = type.dtype == DType::kI8 ? -128 : 0;
    high = low + 256;
  }
  if (IsUnsigned(type.dtype)) low = 0;
  if (IsSmall(type.dtype))
    high = int64_t{1} << (BitsOf(type.dtype) - (IsUnsigned(type.dtype) ? 0 : 1));
  if (IsSmall(type.dtype) && !IsUnsigned(type.dtype)) low = -high;
  if (domain.index) low = 0;
  if (domain.positive) low = 1;
  if (domain.below > 0) high = std::max(std::min(high, domain.below), low + 1);
  if (domain.index) high = std::max(domain.below, low + 1);
  if (type.dtype == DType::kBool) {
    low = 0;
    high = 2;
  }
  std::vector<int64_t> values(count, domain.fixed);
  if (domain.fixed > 0) return graph::WriteInts(type.dtype, type.dims, values);
  for (int64_t& value : values) {
    value = low + static_cast<int64_t>(rng.Below(static_cast<uint64_t>(high - low)));
  }
  return graph::WriteInts(type.dtype, type.dims, values);
}

}  // namespace mlc::worker
