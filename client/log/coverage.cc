#include "client/log/coverage.h"

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "base/format.h"
#include "base/rng.h"
#include "compiler/graph/workload.h"
#include "compiler/schedule/cuda/user_kernel/tuned_kernel.h"
#include "compiler/schedule/space/family.h"
#include "compiler/target/target.h"
#include "db/sqlite/sqlite_log.h"

namespace mlc::client {
namespace {

constexpr int64_t kSample = 4096;  // points that say how many are legal

// A space as this page sees it: domains as texts, and which place a config has in them.
class Domains {
 public:
  virtual ~Domains() = default;
  virtual std::string name() const = 0;
  virtual std::vector<KnobCoverage> Knobs() const = 0;
  // By knob the number of the value; empty if the config is no point.
  virtual std::optional<std::vector<uint16_t>> PlaceOf(const schedule::Config& config) const = 0;
  virtual bool IsLegal(const std::vector<uint16_t>& place) const = 0;
};

class FamilyDomains : public Domains {
 public:
  FamilyDomains(const schedule::Family& family, const graph::Workload& workload,
                const target::Target& target)
      : problem_(family.Open(workload, target)), space_(problem_->MakeSpace()) {}

  std::string name() const override { return space_.family + "/" + std::to_string(space_.version); }
  std::vector<KnobCoverage> Knobs() const override {
    std::vector<KnobCoverage> knobs;
    for (const schedule::Knob& knob : space_.knobs) {
      knobs.push_back({knob.name, {}});
      for (const int64_t value : knob.domain) {
        knobs.back().values.push_back({std::to_string(value)});
      }
    }
    return knobs;
  }
  std::optional<std::vector<uint16_t>> PlaceOf(const schedule::Config& config) const override {
    int64_t rank = space_.RankOf(config);
    if (rank < 0) return std::nullopt;
    std::vector<uint16_t> place(space_.knobs.size());
    for (size_t k = place.size(); k-- > 0;) {
      const auto size = static_cast<int64_t>(space_.knobs[k].domain.size());
      place[k] = static_cast<uint16_t>(rank % size);
      rank /= size;
    }
    return place;
  }
  bool IsLegal(const std::vector<uint16_t>& place) const override {
    int64_t rank = 0;
    for (size_t k = 0; k < place.size(); ++k) {
      rank = rank * static_cast<int64_t>(space_.knobs[k].domain.size()) + place[k];
    }
    return problem_->Check(space_.At(rank)) == schedule::RejectReason::kNone;
  }

 private:
  std::unique_ptr<const schedule::Problem> problem_;
  schedule::Space space_;
};

class SpecificationDomains : public Domains {
 public:
  explicit SpecificationDomains(schedule::TunedKernel kernel) : kernel_(std::move(kernel)) {}

  std::string name() const override {
    return "user_kernel/" + std::to_string(schedule::TunedKernel::kVersion) + " " +
           kernel_.spec().kernel_name();
  }
  std::vector<KnobCoverage> Knobs() const override {
    std::vector<KnobCoverage> knobs;
    for (const schedule::SpecParameter& parameter : kernel_.spec().parameters()) {
      knobs.push_back({parameter.name, {}});
      for (const schedule::ExpressionValue& value : parameter.values) {
        knobs.back().values.push_back({value.ToText()});
      }
    }
    return knobs;
  }
  std::optional<std::vector<uint16_t>> PlaceOf(const schedule::Config& config) const override {
    return kernel_.PointOf(config);
  }
  bool IsLegal(const std::vector<uint16_t>& place) const override {
    const auto values = kernel_.ValuesAt(place);
    return kernel_.spec().Allows(values) && kernel_.spec().Launch(values).ok();
  }

 private:
  schedule::TunedKernel kernel_;
};

// Null for a config of a family or version that this build does not generate.
std::unique_ptr<Domains> DomainsOf(const schedule::Config& config, const graph::Workload& workload,
                                   const target::Target& target) {
  if (schedule::IsTunedKernel(config)) {
    Result<schedule::TunedKernel> kernel = schedule::TunedKernel::FromConfig(config);
    if (!kernel.ok()) return nullptr;
    return std::make_unique<SpecificationDomains>(*std::move(kernel));
  }
  const schedule::Family* family = schedule::FindFamily(config.family);
  if (family == nullptr || family->version() != config.version ||
      !family->Accepts(workload, target)) {
    return nullptr;
  }
  return std::make_unique<FamilyDomains>(*family, workload, target);
}

// The records of one space, one by one.
class Counter {
 public:
  explicit Counter(std::unique_ptr<Domains> domains)
      : domains_(std::move(domains)), knobs_(domains_->Knobs()) {}

  void Add(const schedule::Config& config, const Measurement& measurement) {
    const std::optional<std::vector<uint16_t>> place = domains_->PlaceOf(config);
    if (!place) {
      ++outside_;
      return;
    }
    configs_.insert(*place);
    const double ns = measurement.outcome == Outcome::kOk ? measurement.median_ns : 0;
    const auto note = [ns](double& best) {
      if (ns > 0 && (best == 0 || ns < best)) best = ns;
    };
    note(best_ns_);
    for (size_t k = 0; k < knobs_.size(); ++k) {
      ValueCoverage& value = knobs_[k].values[(*place)[k]];
      ++value.tried;
      note(value.best_ns);
    }
  }

  SpaceCoverage Finish() && {
    SpaceCoverage coverage;
    coverage.space = domains_->name();
    coverage.points = 1;
    for (const KnobCoverage& knob : knobs_) {
      coverage.points *= static_cast<int64_t>(knob.values.size());
    }
    coverage.legal_share = LegalShare();
    coverage.configs = static_cast<int64_t>(configs_.size());
    coverage.outside = outside_;
    coverage.pairs_share = PairsShare();
    coverage.best_ns = best_ns_;
    coverage.knobs = std::move(knobs_);
    return coverage;
  }

 private:
  double LegalShare() const {
    Rng rng(1);
    int64_t legal = 0;
    std::vector<uint16_t> place(knobs_.size());
    for (int64_t i = 0; i < kSample; ++i) {
      for (size_t k = 0; k < place.size(); ++k) {
        place[k] = static_cast<uint16_t>(rng.Below(knobs_[k].values.size()));
      }
      legal += domains_->IsLegal(place) ? 1 : 0;
    }
    return static_cast<double>(legal) / kSample;
  }
  // 1 for a space of one knob.
  double PairsShare() const {
    double tried = 0;
    double all = 0;
    for (size_t a = 0; a < knobs_.size(); ++a) {
      for (size_t b = a + 1; b < knobs_.size(); ++b) {
        std::set<std::pair<uint16_t, uint16_t>> seen;
        for (const std::vector<uint16_t>& place : configs_) seen.emplace(place[a], place[b]);
        tried += static_cast<double>(seen.size());
        all += static_cast<double>(knobs_[a].values.size() * knobs_[b].values.size());
      }
    }
    return all > 0 ? tried / all : 1;
  }

  std::unique_ptr<Domains> domains_;
  std::vector<KnobCoverage> knobs_;
  std::set<std::vector<uint16_t>> configs_;
  int64_t outside_ = 0;
  double best_ns_ = 0;
};

std::string TimeText(double ns) { return ns > 0 ? Format("%.3f us", ns / 1e3) : "-"; }

std::string ToText(const SpaceCoverage& coverage) {
  const double legal = static_cast<double>(coverage.points) * coverage.legal_share;
  std::string text =
      "  " + coverage.space + ": " + std::to_string(coverage.configs) + " of about " +
      Format("%.0f", std::max(legal, static_cast<double>(coverage.configs))) + " legal configs (" +
      std::to_string(coverage.points) + " points), " + Format("%.0f", 100 * coverage.pairs_share) +
      " % of the pairs of values, best " + TimeText(coverage.best_ns) + "\n";
  for (const KnobCoverage& knob : coverage.knobs) {
    text += "    " + knob.name + ':';
    for (const ValueCoverage& value : knob.values) {
      text += " " + value.value;
      text += value.tried == 0
                  ? " (untried)"
                  : " (" + std::to_string(value.tried) + ", " + TimeText(value.best_ns) + ")";
    }
    text += '\n';
  }
  if (coverage.outside > 0) {
    text += "    " + std::to_string(coverage.outside) + " records are no points of it\n";
  }
  return text;
}

nlohmann::ordered_json ToJson(const SpaceCoverage& coverage) {
  nlohmann::ordered_json json;
  json["space"] = coverage.space;
  json["points"] = coverage.points;
  json["legal_share"] = coverage.legal_share;
  json["configs"] = coverage.configs;
  json["outside"] = coverage.outside;
  json["pairs_share"] = coverage.pairs_share;
  json["best_ns"] = coverage.best_ns;
  json["knobs"] = nlohmann::ordered_json::array();
  for (const KnobCoverage& knob : coverage.knobs) {
    nlohmann::ordered_json values = nlohmann::ordered_json::array();
    for (const ValueCoverage& value : knob.values) {
      values.push_back(
          {{"value", value.value}, {"tried", value.tried}, {"best_ns", value.best_ns}});
    }
    json["knobs"].push_back({{"name", knob.name}, {"values", std::move(values)}});
  }
  return json;
}

}  // namespace

Result<std::vector<SpaceCoverage>> CoverageOf(const graph::Workload& workload,
                                              const std::string& target,
                                              const std::vector<db::Record>& records) {
  const target::Target device = MLC_TRY(target::Target::Parse(target));
  // By family, and by specification; in the order of their names.
  std::map<std::string, Counter> counters;
  for (const db::Record& record : records) {
    const Result<schedule::Config> config = schedule::Config::Parse(record.config);
    if (!config.ok()) continue;
    std::string key = config->family + "/" + std::to_string(config->version);
    for (const auto& [name, word] : config->words) key += " " + word;
    auto found = counters.find(key);
    if (found == counters.end()) {
      std::unique_ptr<Domains> domains = DomainsOf(*config, workload, device);
      if (domains == nullptr) continue;
      found = counters.emplace(key, Counter(std::move(domains))).first;
    }
    found->second.Add(*config, record.measurement);
  }
  std::vector<SpaceCoverage> coverages;
  for (auto& [key, counter] : counters) coverages.push_back(std::move(counter).Finish());
  return coverages;
}

Result<std::string> CoverageCommand(const LogOptions& options,
                                    const std::vector<Digest>& workloads) {
  const auto log = MLC_TRY(db::OpenSqliteLogForReading(options.file));
  std::vector<std::string> targets = {options.target};
  if (options.target.empty()) targets = MLC_TRY(log->Targets());
  std::string text;
  nlohmann::ordered_json json;
  json["schema"] = "mlc.log.coverage/1";
  json["coverage"] = nlohmann::ordered_json::array();
  for (const Digest& key : workloads) {
    const std::optional<db::WorkloadRow> row = MLC_TRY(log->FindWorkload(key));
    if (!row) continue;
    const graph::Workload workload = MLC_TRY(graph::Workload::Parse(row->text));
    for (const std::string& target : targets) {
      db::RecordQuery query;
      query.workload = key;
      query.target = target;
      const std::vector<SpaceCoverage> spaces =
          MLC_TRY(CoverageOf(workload, target, MLC_TRY(log->List(query))));
      if (spaces.empty()) continue;
      text += row->summary + " (" + key.ToText() + ")\n  on " + target + "\n";
      nlohmann::ordered_json entry = {
          {"workload", key.ToText()}, {"summary", row->summary}, {"target", target}};
      for (const SpaceCoverage& space : spaces) {
        text += ToText(space);
        entry["spaces"].push_back(ToJson(space));
      }
      json["coverage"].push_back(std::move(entry));
    }
  }
  if (!text.empty()) return options.json ? json.dump() + "\n" : text;
  return NotFound("the log has no record of a space of this build for what was asked");
}

}  // namespace mlc::client
