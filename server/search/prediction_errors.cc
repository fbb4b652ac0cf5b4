#include "server/search/prediction_errors.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace mlc::server {
namespace {

// As many as a quantile needs, and few, because models improve during a search.
constexpr size_t kWindow = 32;
constexpr size_t kLeast = 8;
// Of log width, for an interval that did not hold.
constexpr double kStep = 0.1;

}  // namespace

// The latest errors are too small a guide where the search moves on to other regions. So each
// interval that did not hold widens the next ones, and each that held narrows them by so much less
// that both balance at the wanted coverage (adaptive conformal inference, Gibbs and Candes 2021).
void PredictionErrors::Add(double predicted_ns, double measured_ns) {
  const double error = std::abs(std::log(measured_ns / predicted_ns));
  if (errors_.size() >= kLeast) {
    const double missed = error > HalfWidth() ? 1 : 0;
    widening_ *= std::exp(kStep * (missed - (1 - kCoverage)));
  }
  errors_.push_back(error);
  if (errors_.size() > kWindow) errors_.pop_front();
}

// The rank that split conformal prediction takes: the next error is as likely in any place of the
// order as each of these.
double PredictionErrors::HalfWidth() const {
  std::vector<double> order(errors_.begin(), errors_.end());
  const auto wanted =
      static_cast<size_t>(std::ceil(kCoverage * static_cast<double>(order.size() + 1)));
  const auto place = order.begin() + static_cast<int64_t>(std::min(wanted, order.size()) - 1);
  std::nth_element(order.begin(), place, order.end());
  return widening_ * *place;
}

double PredictionErrors::Factor() const {
  return errors_.size() < kLeast ? 0 : std::exp(HalfWidth());
}

}  // namespace mlc::server
