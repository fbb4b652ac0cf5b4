#include "tests/bench/search/kernel_space.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "server/search/kernel_candidates.h"
#include "tests/bench/search/tuned_space.h"

namespace mlc::bench {
namespace {

using nlohmann::json;
using server::KernelCandidates;

// The candidates of the workload that are measured.
class MeasuredCandidates : public server::CandidateSource {
 public:
  MeasuredCandidates(const KernelSpace& space, const graph::Workload& workload,
                     const target::Target& target)
      : space_(space), all_(workload, target) {}
  size_t families() const override { return all_.families(); }
  std::string_view family_name(size_t family) const override { return all_.family_name(family); }
  std::span<const uint16_t> radix(size_t family) const override { return all_.radix(family); }
  size_t columns() const override { return all_.columns(); }
  bool Describe(size_t family, const server::Point& point, double& estimate_ns,
                std::span<float> features) const override {
    if (!space_.Has(space_.KeyOf({family, point}))) return false;
    return all_.Describe(family, point, estimate_ns, features);
  }
  std::vector<server::PointRef> Defaults() const override { return all_.Defaults(); }

 private:
  const KernelSpace& space_;
  const KernelCandidates all_;
};

double MedianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Configs with their measurements; none for one that failed.
using Measured = std::vector<std::pair<schedule::Config, std::vector<double>>>;

Result<Measured> MeasuredOf(const json& root) {
  Measured measured;
  for (const json& row : root["configs"]) {
    std::vector<double> ns;
    if (row.at(1).is_array()) ns = row.at(1).get<std::vector<double>>();
    measured.emplace_back(MLC_TRY(schedule::Config::Parse(row.at(0).get<std::string>())),
                          std::move(ns));
  }
  return measured;
}

// By how much single measurements of a config differ from their median.
std::vector<float> ScatterOf(const Measured& measured) {
  std::vector<float> scatter;
  for (const auto& [config, ns] : measured) {
    if (ns.size() < 2) continue;
    for (const double one : ns) scatter.push_back(static_cast<float>(one / MedianOf(ns)));
  }
  return scatter;
}

Result<SpaceRef> FromRecording(const json& root, const std::string& problem,
                               const std::string& device) {
  const auto workload = MLC_TRY(graph::Workload::Parse(root.value("workload", "")));
  const auto target = MLC_TRY(target::Target::Parse(root.value("target", "")));
  const Measured measured = MLC_TRY(MeasuredOf(root));
  const KernelCandidates candidates(workload, target);
  RecordedSpace::Domains domains(1);
  for (size_t family = 0; family < candidates.families(); ++family) {
    domains[0].push_back(static_cast<double>(family));
    const auto radix = candidates.radix(family);
    domains.resize(std::max(domains.size(), radix.size() + 1));
    for (size_t k = 0; k < radix.size(); ++k) {
      while (domains[k + 1].size() < radix[k]) {
        domains[k + 1].push_back(static_cast<double>(domains[k + 1].size()));
      }
    }
  }
  const std::vector<float> scatter = ScatterOf(measured);
  RecordedSpace::Rows rows;
  bool any = false;
  for (const auto& [config, ns] : measured) {
    const auto ref = candidates.Find(config);
    // Of an earlier version of its family.
    if (!ref) continue;
    server::Point key = {static_cast<uint16_t>(ref->family)};
    key.insert(key.end(), ref->point.begin(), ref->point.end());
    key.resize(domains.size());
    RecordedSpace::Row& row = rows[std::move(key)];
    row.ns = ns.empty() ? 0 : MedianOf(ns);
    row.timing = scatter;
    any = any || row.ns > 0;
  }
  if (!any) return DataLoss("no config of '" + problem + "' is of this version and has a time");
  return SpaceRef(std::make_shared<KernelSpace>(problem, device, domains, rows, workload, target));
}

}  // namespace

KernelSpace::KernelSpace(std::string problem, std::string device, Domains domains, Rows rows,
                         graph::Workload workload, target::Target target)
    : RecordedSpace(std::move(problem), std::move(device), std::move(domains), std::move(rows)),
      workload_(std::move(workload)),
      target_(std::move(target)) {}

std::unique_ptr<server::CandidateSource> KernelSpace::Source(Blind) const {
  return std::make_unique<MeasuredCandidates>(*this, workload_, target_);
}

server::Point KernelSpace::KeyOf(const server::PointRef& ref) const {
  server::Point key = {static_cast<uint16_t>(ref.family)};
  key.insert(key.end(), ref.point.begin(), ref.point.end());
  key.resize(radix().size());
  return key;
}

Result<SpaceRef> ReadSpace(const std::string& path) {
  const SpaceFile file = MLC_TRY(ReadSpaceFile(path));
  const json root = json::parse(file.text, nullptr, /*allow_exceptions=*/false);
  if (root.is_object() && root.contains("configs")) {
    return FromRecording(root, file.problem, file.device);
  }
  if (root.is_object() && root.contains("kernel")) return ReadTunedSpace(file);
  return RecordedSpace::Read(path);
}

}  // namespace mlc::bench
