#include "costmodel/history/similar_workloads.h"

#include <optional>
#include <utility>

#include "compiler/schedule/cuda/user_kernel/user_kernel.h"
#include "costmodel/default_config.h"
#include "db/confirmed_best.h"

namespace mlc::server {
namespace {

constexpr int kBestOfEach = 8;
// The time of a default is looked for among so many of the fastest records.
constexpr int kFastest = 256;
// Workloads near enough but without a record on this target are passed over, up to so many.
constexpr size_t kMostLookedAt = 32;

}  // namespace

// Read when it is first asked for.
Result<SimilarWorkloads::Entry*> SimilarWorkloads::EntryOf(const Digest& key) {
  std::unique_ptr<Entry>& entry = entries_[key];
  if (entry != nullptr) return entry.get();
  const std::optional<db::WorkloadRow> row = MLC_TRY(log_.FindWorkload(key));
  if (!row) return DataLoss("the log lacks workload " + key.ToText());
  auto read = std::make_unique<Entry>(
      Entry{{MLC_TRY(graph::Workload::Parse(row->text)), {}, 0}, {key, {}}});
  MLC_TRY(Fill(*read));
  sources_[&read->similar] = read.get();
  entry = std::move(read);
  return entry.get();
}

// The records of the workload. Confirmed times rank the best, but are taken later and under
// other conditions than the default's single time: what is compared are single times where there
// are any.
Status SimilarWorkloads::Fill(Entry& entry) const {
  // A user-supplied kernel for one shape says nothing of others.
  const auto is_generated = [](const db::Record& record) {
    return !schedule::IsUserKernel(record.config);
  };
  const auto before = [&](const db::Record& record) {
    return record.id <= up_to_id_ && is_generated(record);
  };
  const Digest& key = entry.source.workload;
  const std::vector<db::Record> fastest = MLC_TRY(log_.Best(key, target_, kFastest, before));
  const auto single_ns = [&](const std::string& config) {
    for (const db::Record& record : fastest) {
      if (record.config == config && !db::IsConfirmation(record)) {
        return record.measurement.median_ns;
      }
    }
    return 0.0;
  };
  for (const db::Record& record :
       MLC_TRY(db::BestConfigs(log_, key, target_, kBestOfEach, is_generated, up_to_id_))) {
    Result<schedule::Config> config = schedule::Config::Parse(record.config);
    if (!config.ok()) continue;
    const double single = single_ns(record.config);
    entry.similar.best.push_back(
        {*std::move(config), single > 0 ? single : record.measurement.median_ns});
    entry.source.records.push_back(record.task_uid);
  }
  const graph::Workload& workload = entry.similar.workload;
  const Result<target::Target> target = target::Target::Parse(target_);
  if (entry.similar.best.empty() || !target.ok()) return Status();
  const auto usual = costmodel::DefaultConfig(workload, *target);
  if (!usual.ok()) return Status();
  entry.similar.default_ns = single_ns(usual->ToText());
  if (entry.similar.default_ns == 0 && static_cast<int>(fastest.size()) == kFastest) {
    entry.similar.default_ns = fastest.back().measurement.median_ns;  // at least
  }
  return Status();
}

Result<std::vector<const costmodel::SimilarWorkload*>> SimilarWorkloads::For(
    const graph::Workload& workload) {
  std::vector<const costmodel::SimilarWorkload*> nearest;
  size_t looked_at = 0;
  for (const Digest& key : MLC_TRY(index_.Near(costmodel::DescribeProblem(workload)))) {
    if (key == workload.digest()) continue;
    if (nearest.size() == costmodel::kMostSimilar || looked_at++ == kMostLookedAt) break;
    const Entry& entry = *MLC_TRY(EntryOf(key));
    if (!entry.similar.best.empty()) nearest.push_back(&entry.similar);
  }
  return nearest;
}

const SimilarWorkloads::Source& SimilarWorkloads::SourceOf(
    const costmodel::SimilarWorkload& similar) const {
  return sources_.at(&similar)->source;
}

}  // namespace mlc::server
