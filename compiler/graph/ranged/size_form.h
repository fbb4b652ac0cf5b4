// Lengths as sums of multiples of the sizes of a model's dimensions. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace mlc::graph {

// base + sum of factors[d] * sizes[d].
struct SizeForm {
  int64_t base = 0;
  std::vector<int64_t> factors;  // one a dimension

  int64_t At(std::span<const int64_t> sizes) const;
  auto operator<=>(const SizeForm&) const = default;
};

// How lengths follow from the sizes of a run, one size a dimension.
struct RangeForms {
  using Axes = std::vector<SizeForm>;  // of a port

  std::vector<Axes> inputs;
  std::vector<Axes> outputs;
  // What the hidden last input holds (length_masks.h); empty: there is none.
  std::vector<SizeForm> lengths;
};

// The form of lengths that are known at every size of a box: lengths[i] at sizes[i]. Empty if they
// have none. REQUIRES: one size at least; the first one is the least in every dimension; for each
// dimension there are sizes that differ from the first one in it alone, if it varies.
std::optional<SizeForm> FitForm(std::span<const std::vector<int64_t>> sizes,
                                std::span<const int64_t> lengths);

}  // namespace mlc::graph
