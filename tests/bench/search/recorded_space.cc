#include "tests/bench/search/recorded_space.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/rng.h"

namespace mlc::bench {
namespace {

using nlohmann::json;

// What an analytic model would know of a device: its fp32 peak, Tflop/s.
constexpr std::pair<std::string_view, double> kPeaks[] = {{"A100", 19.5},  {"A4000", 19.2},
                                                          {"A6000", 38.7}, {"MI250X", 23.9},
                                                          {"W6600", 10.4}, {"W7800", 45.2}};
constexpr double kOtherPeak = 20;
// Twice as many columns as knobs, and these: products of two knobs would be 45 columns more.
constexpr size_t kProductColumns = 3;

Result<std::string> ReadGzip(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return NotFound("cannot read '" + path + "'");
  std::string text;
  std::array<char, 1 << 16> buffer{};
  int count = 0;
  while ((count = gzread(file, buffer.data(), buffer.size())) > 0) {
    text.append(buffer.data(), static_cast<size_t>(count));
  }
  gzclose(file);
  if (count < 0) return DataLoss("'" + path + "' is no whole gzip file");
  return text;
}

double EstimateFor(const std::string& device) {
  const auto* found = std::find_if(std::begin(kPeaks), std::end(kPeaks),
                                   [&](const auto& peak) { return peak.first == device; });
  return 1e8 / (found == std::end(kPeaks) ? kOtherPeak : found->second);
}

RecordedSpace::Row RowOf(const json& row, double estimate_ns) {
  RecordedSpace::Row result;
  result.estimate_ns = estimate_ns;
  if (!row["time"].is_number()) return result;
  return TimedRow(row["time"].get<double>(), row["times"].get<std::vector<double>>(), estimate_ns);
}

// The largest power of two that divides it, as a logarithm: blocks and vectors want such values.
float Evenness(double value) {
  float power = 0;
  for (double rest = value; rest >= 2 && std::fmod(rest, 2) == 0; rest /= 2) ++power;
  return power;
}

class RecordedSource : public server::CandidateSource {
 public:
  RecordedSource(const RecordedSpace& space, RecordedSpace::Blind blind)
      : space_(space), blind_(blind) {}
  size_t families() const override { return 1; }
  std::string_view family_name(size_t) const override { return "recorded"; }
  std::span<const uint16_t> radix(size_t) const override { return space_.radix(); }
  size_t columns() const override {
    return blind_.features ? 1 : 2 * space_.radix().size() + kProductColumns;
  }
  bool Describe(size_t family, const server::Point& point, double& estimate_ns,
                std::span<float> features) const override;
  std::vector<server::PointRef> Defaults() const override { return {{0, space_.start()}}; }

 private:
  const RecordedSpace& space_;
  const RecordedSpace::Blind blind_;
};

bool RecordedSource::Describe(size_t, const server::Point& point, double& estimate_ns,
                              std::span<float> features) const {
  if (!space_.Has(point)) return false;
  estimate_ns = blind_.estimates ? 1e6 : space_.At(point).estimate_ns;
  if (blind_.features) {
    features[0] = 0;
    return true;
  }
  // Extents of block and tile, which stand first in these spaces, also as products.
  double all = 1, blocks = 1;
  for (size_t k = 0; k < point.size(); ++k) {
    const double value = space_.domains()[k][point[k]];
    features[2 * k] = static_cast<float>(std::log2(1 + std::max(0.0, value)));
    features[2 * k + 1] = Evenness(value);
    if (k < 5) all *= std::max(1.0, value);
    if (k < 2) blocks *= std::max(1.0, value);
  }
  features[2 * point.size()] = static_cast<float>(std::log2(all));
  features[2 * point.size() + 1] = static_cast<float>(std::log2(blocks));
  features[2 * point.size() + 2] = static_cast<float>(std::fmod(blocks, 32));
  return true;
}

}  // namespace

RecordedSpace::Row TimedRow(double ms, const std::vector<double>& timings_ms, double estimate_ns) {
  RecordedSpace::Row row;
  row.ns = ms * 1e6;
  row.estimate_ns = estimate_ns;
  for (const double timing : timings_ms) row.timing.push_back(static_cast<float>(timing / ms));
  return row;
}

RecordedSpace::RecordedSpace(std::string problem, std::string device, Domains domains, Rows rows)
    : problem_(std::move(problem)),
      device_(std::move(device)),
      domains_(std::move(domains)),
      rows_(std::move(rows)) {
  for (const auto& domain : domains_) radix_.push_back(static_cast<uint16_t>(domain.size()));
  for (const auto& [point, row] : rows_) {
    if (row.ns > 0 && (best_ns_ == 0 || row.ns < best_ns_)) best_ns_ = row.ns;
  }
  MLC_CHECK(best_ns_ > 0) << "every config of the space fails";
  start_ = rows_.begin()->first;
}

SpaceRef RecordedSpace::Rearranged(uint64_t seed) const {
  Rng rng(seed);
  std::vector<bool> reversed;
  for (size_t k = 0; k < domains_.size(); ++k) reversed.push_back(rng.Below(2) == 1);
  Domains domains = domains_;
  for (size_t k = 0; k < domains.size(); ++k) {
    if (reversed[k]) std::reverse(domains[k].begin(), domains[k].end());
  }
  Rows rows;
  std::vector<server::Point> successes;
  for (const auto& [point, row] : rows_) {
    server::Point moved = point;
    for (size_t k = 0; k < moved.size(); ++k) {
      if (reversed[k]) moved[k] = static_cast<uint16_t>(radix_[k] - 1 - moved[k]);
    }
    if (row.ns > 0) successes.push_back(moved);
    rows[std::move(moved)] = row;
  }
  auto space =
      std::make_shared<RecordedSpace>(problem_, device_, std::move(domains), std::move(rows));
  space->start_ = successes[rng.Below(successes.size())];
  return space;
}

Result<SpaceFile> ReadSpaceFile(const std::string& path) {
  std::string text = MLC_TRY(ReadGzip(path));
  const std::string name = std::filesystem::path(path).filename().string();
  const std::string stem = name.substr(0, name.find('.'));
  return SpaceFile{std::move(text), stem.substr(0, stem.find('_')),
                   stem.substr(stem.find('_') + 1)};
}

Result<SpaceRef> RecordedSpace::Read(const std::string& path) {
  const SpaceFile file = MLC_TRY(ReadSpaceFile(path));
  const std::string& device = file.device;
  const json root = json::parse(file.text, nullptr, /*allow_exceptions=*/false);
  if (root.is_discarded() || !root.is_object() || !root.contains("cache")) {
    return DataLoss("'" + path + "' holds no recorded space");
  }
  std::vector<std::string> names;
  Domains domains;
  for (const auto& knob : root["tune_params_keys"]) {
    names.push_back(knob);
    domains.push_back(root["tune_params"][names.back()].get<std::vector<double>>());
  }
  Rows rows;
  bool any = false;
  for (const auto& row : root["cache"]) {
    server::Point point;
    for (size_t k = 0; k < names.size(); ++k) {
      const auto found =
          std::find(domains[k].begin(), domains[k].end(), row[names[k]].get<double>());
      if (found == domains[k].end()) return DataLoss("'" + path + "': a value out of its domain");
      point.push_back(static_cast<uint16_t>(found - domains[k].begin()));
    }
    Row& entry = rows[point] = RowOf(row, EstimateFor(device));
    any = any || entry.ns > 0;
  }
  if (!any) return DataLoss("'" + path + "' has no times");
  return SpaceRef(
      std::make_shared<RecordedSpace>(file.problem, device, std::move(domains), std::move(rows)));
}

std::unique_ptr<server::CandidateSource> RecordedSpace::Source(Blind blind) const {
  return std::make_unique<RecordedSource>(*this, blind);
}

}  // namespace mlc::bench
