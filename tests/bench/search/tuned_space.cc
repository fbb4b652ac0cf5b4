#include "tests/bench/search/tuned_space.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "server/search/tuned_candidates.h"

namespace mlc::bench {
namespace {

using nlohmann::json;
using schedule::ExpressionValue;

// The configs that are measured.
class MeasuredTunings : public server::CandidateSource {
 public:
  MeasuredTunings(const TunedSpace& space, const schedule::TunedKernel& kernel,
                  const target::Target& target)
      : space_(space), all_(kernel, target) {}
  size_t families() const override { return all_.families(); }
  std::string_view family_name(size_t family) const override { return all_.family_name(family); }
  std::span<const uint16_t> radix(size_t family) const override { return all_.radix(family); }
  size_t columns() const override { return all_.columns(); }
  bool Describe(size_t family, const server::Point& point, double& estimate_ns,
                std::span<float> features) const override {
    return space_.Has(point) && all_.Describe(family, point, estimate_ns, features);
  }
  std::vector<server::PointRef> Defaults() const override { return all_.Defaults(); }

 private:
  const TunedSpace& space_;
  const server::TunedCandidates all_;
};

bool IsSame(const ExpressionValue& value, const json& other) {
  if (const auto* whole = std::get_if<int64_t>(&value.value)) return other == *whole;
  if (const auto* real = std::get_if<double>(&value.value)) return other == *real;
  const auto* text = std::get_if<std::string>(&value.value);
  return text != nullptr && other == *text;
}

// Of a row of the cache; empty if a value is none of the kernel's.
server::Point PointOf(const json& row, const schedule::TunedKernel& kernel) {
  server::Point point;
  for (const schedule::SpecParameter& parameter : kernel.spec().parameters()) {
    size_t place = 0;
    while (place < parameter.values.size() &&
           !IsSame(parameter.values[place], row[parameter.name])) {
      ++place;
    }
    if (place == parameter.values.size()) return {};
    point.push_back(static_cast<uint16_t>(place));
  }
  return point;
}

}  // namespace

TunedSpace::TunedSpace(std::string problem, std::string device, Domains domains, Rows rows,
                       schedule::TunedKernel kernel, target::Target target)
    : RecordedSpace(std::move(problem), std::move(device), std::move(domains), std::move(rows)),
      kernel_(std::move(kernel)),
      target_(std::move(target)) {}

std::unique_ptr<server::CandidateSource> TunedSpace::Source(Blind) const {
  return std::make_unique<MeasuredTunings>(*this, kernel_, target_);
}

Result<SpaceRef> ReadTunedSpace(const SpaceFile& file) {
  json root = json::parse(file.text, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object() || !root["kernel"].is_object() || !root["cache"].is_object()) {
    return DataLoss("'" + file.problem + "' holds no space of a kernel");
  }
  auto target = MLC_TRY(target::Target::Parse(root.value("target", "")));
  auto kernel = MLC_TRY(
      schedule::TunedKernel::Open(MLC_TRY(schedule::KernelSpec::Parse(root["kernel"].dump()))));
  RecordedSpace::Domains domains;
  for (const uint16_t size : kernel.radix()) {
    std::vector<double>& places = domains.emplace_back();
    while (places.size() < size) places.push_back(static_cast<double>(places.size()));
  }
  RecordedSpace::Rows rows;
  bool any = false;
  for (json& row : root["cache"]) {
    server::Point point = PointOf(row, kernel);
    if (point.empty()) return DataLoss("'" + file.problem + "': a value out of its domain");
    const bool timed = row["time"].is_number();
    rows[std::move(point)] =
        timed ? TimedRow(row["time"].get<double>(), row["times"].get<std::vector<double>>(), 1)
              : RecordedSpace::Row{0, 1, {}};
    any = any || timed;
  }
  if (!any) return DataLoss("'" + file.problem + "' has no times");
  return SpaceRef(std::make_shared<TunedSpace>(file.problem, file.device, std::move(domains),
                                               std::move(rows), std::move(kernel),
                                               std::move(target)));
}

}  // namespace mlc::bench
