#include <algorithm>

#include "base/text.h"
#include "compiler/graph/graph.h"

namespace mlc::graph {

int64_t TensorType::NumElements() const {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

std::vector<int64_t> TensorType::EffectiveStrides() const {
  return strides.empty() ? DenseStrides(dims) : strides;
}

int64_t TensorType::Extent() const {
  if (strides.empty()) return NumElements();
  int64_t last = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0) return 0;
    last += (dims[i] - 1) * strides[i];
  }
  return last + 1;
}

bool TensorType::IsDense() const {
  if (strides.empty()) return true;
  const std::vector<int64_t> dense = DenseStrides(dims);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] > 1 && strides[i] != dense[i]) return false;
  }
  return true;
}

std::string TensorType::ToText() const {
  std::string text(mlc::ToText(dtype));
  text += IntListToText(dims);
  if (!strides.empty()) {
    std::string list = IntListToText(strides);
    list.front() = '{';
    list.back() = '}';
    text += list;
  }
  return text;
}

std::vector<int64_t> DenseStrides(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size());
  int64_t step = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = step;
    step *= std::max<int64_t>(dims[i], 1);
  }
  return strides;
}

std::vector<int64_t> ChannelsLastStrides(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size());
  if (dims.size() < 3) return DenseStrides(dims);
  strides[1] = 1;
  int64_t step = std::max<int64_t>(dims[1], 1);
  for (size_t i = dims.size(); i-- > 2;) {
    strides[i] = step;
    step *= std::max<int64_t>(dims[i], 1);
  }
  strides[0] = step;
  return strides;
}

Result<std::vector<int64_t>> BroadcastDims(const std::vector<int64_t>& a,
                                           const std::vector<int64_t>& b) {
  const std::vector<int64_t>& longer = a.size() >= b.size() ? a : b;
  const std::vector<int64_t>& shorter = a.size() >= b.size() ? b : a;
  std::vector<int64_t> dims = longer;
  const size_t skip = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    int64_t& dim = dims[skip + i];
    if (dim == shorter[i] || shorter[i] == 1) continue;
    if (dim != 1) {
      return InvalidArgument("shapes " + IntListToText(a) + " and " + IntListToText(b) +
                             " do not broadcast");
    }
    dim = shorter[i];
  }
  return dims;
}

}  // namespace mlc::graph
