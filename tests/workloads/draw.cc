#include "tests/workloads/draw.h"

#include <numeric>
#include <utility>

#include "base/text.h"
#include "compiler/graph/graph.h"

namespace mlc::schedule {

int64_t Between(Rng& rng, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(rng.Below(static_cast<uint64_t>(high - low + 1)));
}

bool Chance(Rng& rng, int percent) { return rng.Below(100) < static_cast<uint64_t>(percent); }

std::string DenseType(std::string_view dtype, const Dims& dims) {
  return std::string(dtype) + IntListToText(dims);
}

std::string StridedType(std::string_view dtype, const Dims& dims, const Dims& strides) {
  std::string list = IntListToText(strides);
  list.front() = '{';
  list.back() = '}';
  return DenseType(dtype, dims) + list;
}

std::string ChannelsLastType(std::string_view dtype, const Dims& dims) {
  return StridedType(dtype, dims, graph::ChannelsLastStrides(dims));
}

std::string RandomType(Rng& rng, std::string_view dtype, const Dims& dims) {
  const uint64_t kind = rng.Below(4);
  if (kind < 2 || dims.empty()) return DenseType(dtype, dims);
  std::vector<size_t> order(dims.size());
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.Below(i)]);
  Dims strides(dims.size());
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = stride;
    stride *= dims[order[i]];
    if (kind == 3) stride += Between(rng, 0, 5);
  }
  return StridedType(dtype, dims, strides);
}

std::string WorkloadText(const std::string& nodes, const std::string& outputs,
                         std::string_view tolerance) {
  return "workload v1 tolerance=" + std::string(tolerance) + " {\n" + nodes + "  return " +
         outputs + "\n}\n";
}

}  // namespace mlc::schedule
