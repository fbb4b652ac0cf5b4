#include "tests/bench/recorded_space.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace mlc::bench {
namespace {

Result<std::string> ReadGzip(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return NotFound("cannot read '" + path + "'");
  std::string text;
  char buffer[1 << 16];
  int count = 0;
  while ((count = gzread(file, buffer, sizeof(buffer))) > 0) {
    text.append(buffer, static_cast<size_t>(count));
  }
  gzclose(file);
  if (count < 0) return DataLoss("'" + path + "' is no whole gzip file");
  return text;
}

}  // namespace

Result<std::shared_ptr<const RecordedSpace>> RecordedSpace::Read(const std::string& path) {
  const std::string text = MLC_TRY(ReadGzip(path));
  const nlohmann::json root = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (root.is_discarded()) return DataLoss("'" + path + "' is no JSON");
  auto space = std::make_shared<RecordedSpace>();
  std::vector<std::string> names;
  for (const auto& name : root["tune_params_keys"]) {
    names.push_back(name);
    space->values_.push_back(root["tune_params"][names.back()].get<std::vector<double>>());
    space->radix_.push_back(static_cast<uint16_t>(space->values_.back().size()));
  }
  std::vector<double> times;
  for (const auto& row : root["cache"]) {
    server::Point point;
    for (size_t k = 0; k < names.size(); ++k) {
      const auto& domain = space->values_[k];
      const auto found = std::find(domain.begin(), domain.end(), row[names[k]].get<double>());
      if (found == domain.end()) return DataLoss("'" + path + "': a value out of its domain");
      point.push_back(static_cast<uint16_t>(found - domain.begin()));
    }
    const double ns = row["time"].is_number() ? row["time"].get<double>() * 1e6 : 0;
    space->rows_[point] = ns;
    if (ns > 0) times.push_back(ns);
  }
  if (times.empty()) return DataLoss("'" + path + "' has no times");
  std::sort(times.begin(), times.end());
  space->best_ = times.front();
  space->median_ = times[times.size() / 2];
  return std::shared_ptr<const RecordedSpace>(std::move(space));
}

bool RecordedSource::Describe(size_t, const server::Point& point, double& estimate_ns,
                              std::span<float> features) const {
  if (!space_->Has(point)) return false;
  estimate_ns = space_->median();
  // Extents of block and tile, which stand first in these spaces, also as products.
  double all = 1, blocks = 1;
  for (size_t k = 0; k < point.size(); ++k) {
    const double value = space_->values()[k][point[k]];
    features[k] = static_cast<float>(std::log2(1 + std::max(0.0, value)));
    if (k < 5) all *= std::max(1.0, value);
    if (k < 2) blocks *= std::max(1.0, value);
  }
  features[point.size()] = static_cast<float>(std::log2(all));
  features[point.size() + 1] = static_cast<float>(std::log2(blocks));
  features[point.size() + 2] = static_cast<float>(std::fmod(blocks, 32));
  return true;
}

std::vector<server::PointRef> RecordedSource::Defaults() const {
  return {{0, space_->rows().begin()->first}};
}

}  // namespace mlc::bench
