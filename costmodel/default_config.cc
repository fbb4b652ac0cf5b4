#include "costmodel/best_guess.h"

#include <algorithm>

#include "compiler/base/rng.h"
#include "compiler/schedule/family.h"
#include "costmodel/analytic.h"

namespace mlc::costmodel {
namespace {

constexpr int kDraws = 400;
// The error of the model: defaults, tuned by hand, were better on measured convolutions wherever
// the model promised less than this.
constexpr double kMargin = 0.75;

}  // namespace

Result<schedule::Config> BestGuess(const graph::Workload& workload, const target::Target& target) {
  const auto families = schedule::FamiliesFor(workload, target);
  if (families.empty()) return Unimplemented("no kernel for '" + workload.Summary() + "'");
  schedule::Config best = families[0]->Default(workload, target);
  const auto estimate = [&](const schedule::Family& family, const schedule::Config& config) {
    return EstimateKernel(family.Facts(workload, target, config), target).total_ns;
  };
  double bar = kMargin * estimate(*families[0], best);
  const auto consider = [&](const schedule::Family& family, const schedule::Config& config) {
    const double ns = estimate(family, config);
    if (ns >= bar) return;
    bar = ns;
    best = config;
  };
  Rng rng(1);
  for (const schedule::Family* family : families) {
    consider(*family, family->Default(workload, target));
    const schedule::Space space = family->MakeSpace(workload, target);
    const int64_t points = space.NumPoints();
    for (int64_t draw = 0; draw < std::min<int64_t>(kDraws, points); ++draw) {
      const int64_t rank =
          points <= kDraws ? draw : static_cast<int64_t>(rng.Below(static_cast<uint64_t>(points)));
      const schedule::Config config = space.At(rank);
      if (family->Check(workload, target, config) != schedule::RejectReason::kNone) continue;
      consider(*family, config);
    }
  }
  return best;
}

}  // namespace mlc::costmodel
