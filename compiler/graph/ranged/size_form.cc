#include "compiler/graph/ranged/size_form.h"

#include <algorithm>
#include <cstddef>

namespace mlc::graph {

int64_t SizeForm::At(std::span<const int64_t> sizes) const {
  int64_t length = base;
  for (size_t d = 0; d < factors.size(); ++d) length += factors[d] * sizes[d];
  return length;
}

std::optional<SizeForm> FitForm(std::span<const std::vector<int64_t>> sizes,
                                std::span<const int64_t> lengths) {
  const std::vector<int64_t>& first = sizes.front();
  SizeForm form;
  form.factors.assign(first.size(), 0);
  for (size_t d = 0; d < first.size(); ++d) {
    for (size_t i = 1; i < sizes.size(); ++i) {
      std::vector<int64_t> moved = first;
      moved[d] = sizes[i][d];
      if (moved[d] == first[d] || moved != sizes[i]) continue;
      form.factors[d] = (lengths[i] - lengths[0]) / (moved[d] - first[d]);
      break;
    }
  }
  form.base = lengths[0] - form.At(first);
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (form.At(sizes[i]) != lengths[i]) return std::nullopt;
  }
  return form;
}

}  // namespace mlc::graph
