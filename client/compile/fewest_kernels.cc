#include "client/compile/fewest_kernels.h"

#include <algorithm>

namespace mlc::client {

namespace {

using Costs = std::vector<std::vector<double>>;

// What a kernel is good for, for the classes that have none.
struct Use {
  size_t kernel = 0;
  size_t classes = 0;
  double cost = 0;

  bool IsBetterThan(const Use& other) const {
    return classes != other.classes ? classes > other.classes : cost < other.cost;
  }
};

Use UseOf(const Costs& cost, size_t kernel, const std::vector<bool>& served) {
  Use use{kernel, 0, 0};
  for (size_t i = 0; i < cost.size(); ++i) {
    if (served[i] || cost[i][kernel] == kNotAllowed) continue;
    ++use.classes;
    use.cost += cost[i][kernel];
  }
  return use;
}

bool AreServed(const Costs& cost, const std::vector<size_t>& kernels) {
  return std::ranges::all_of(cost, [&](const std::vector<double>& row) {
    return std::ranges::any_of(kernels, [&](size_t k) { return row[k] != kNotAllowed; });
  });
}

}  // namespace

std::vector<size_t> FewestKernels(const Costs& cost) {
  std::vector<bool> served(cost.size(), false);
  std::vector<size_t> kernels;
  while (std::ranges::count(served, false) > 0) {
    Use best = UseOf(cost, 0, served);
    for (size_t k = 1; k < cost.size(); ++k) {
      const Use use = UseOf(cost, k, served);
      if (use.IsBetterThan(best)) best = use;
    }
    kernels.push_back(best.kernel);
    for (size_t i = 0; i < cost.size(); ++i) {
      if (cost[i][best.kernel] != kNotAllowed) served[i] = true;
    }
  }
  // Later ones may have made an earlier one needless.
  for (size_t k = 0; k < kernels.size();) {
    std::vector<size_t> others = kernels;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(k));
    if (AreServed(cost, others)) {
      kernels = std::move(others);
    } else {
      ++k;
    }
  }
  std::vector<size_t> chosen;
  for (const std::vector<double>& row : cost) {
    chosen.push_back(*std::ranges::min_element(kernels, {}, [&](size_t k) { return row[k]; }));
  }
  return chosen;
}

}  // namespace mlc::client
