#include "server/tuner/best_configs.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/contain.h"
#include "costmodel/history/similar_workloads.h"
#include "db/confirmed_best.h"
#include "server/jobs/job_request.h"

namespace mlc::server {
namespace {

constexpr size_t kMaxQueries = 10'000;
constexpr int kMaxCandidates = 16;
// A compiler of today has some dozens of families.
constexpr size_t kMaxKernels = 256;
constexpr size_t kMaxKernelName = 128;
constexpr size_t kMaxTarget = 4096;
// Of a reply; configs that bring their source may be long. Beyond the first, the candidates after
// the best are left out.
constexpr size_t kBytesWithOthers = size_t{16} << 20;
constexpr size_t kMostBytes = size_t{48} << 20;

Status CheckSize(const BestQuestion& question) {
  if (question.workloads.size() > kMaxQueries) {
    return InvalidArgument("at most " + std::to_string(kMaxQueries) + " workloads a call");
  }
  if (!question.texts.empty() && question.texts.size() != question.workloads.size()) {
    return InvalidArgument(
        "the texts are not those of the workloads: " + std::to_string(question.texts.size()) +
        " of " + std::to_string(question.workloads.size()));
  }
  const auto is_long = [](const std::string& name) { return name.size() > kMaxKernelName; };
  if (question.kernels.size() > kMaxKernels || std::ranges::any_of(question.kernels, is_long)) {
    return InvalidArgument("too many families of kernels: at most " + std::to_string(kMaxKernels) +
                           " families of kernels, of " + std::to_string(kMaxKernelName) +
                           " characters each");
  }
  if (question.target.size() > kMaxTarget) {
    return InvalidArgument("a class of targets has at most " + std::to_string(kMaxTarget) +
                           " characters");
  }
  return Status();
}

// What is asked about each of the workloads.
std::string TextOf(const BestQuestion& question, int candidates) {
  std::string text = std::to_string(candidates) + "\n" + question.target;
  for (const std::string& kernel : question.kernels) text += "\n" + kernel;
  return text;
}

MeasuredConfig ToMeasured(const db::Record& record) {
  return {record.config, record.measurement, record.task_uid};
}

// Takes records of the families that the caller generates; all if it does not say.
db::TuningLog::Accept GeneratedBy(const BestQuestion& question) {
  if (question.kernels.empty()) return {};
  return [kernels = std::set<std::string>(question.kernels.begin(), question.kernels.end())](
             const db::Record& record) {
    return kernels.contains(record.config.substr(0, record.config.find(' ')));
  };
}

// The similar workloads of one answer, each once.
class SimilarWriter {
 public:
  SimilarWriter(const db::TuningLog& log, WorkloadIndex& index, const std::string& target,
                BestAnswer& answer)
      : known_(log, index, target), answer_(answer) {}

  Status AddFor(const Digest& key, const std::string& text, BestConfig& best) {
    const graph::Workload workload = MLC_TRY(ParseWorkload(text));
    if (workload.digest() != key) {
      return InvalidArgument("a text is not of the workload " + key.ToText());
    }
    for (const costmodel::SimilarWorkload* similar : MLC_TRY(known_.For(workload))) {
      const auto [place, is_new] =
          places_.try_emplace(similar, static_cast<int32_t>(answer_.similar.size()));
      if (is_new) answer_.similar.push_back(Known(*similar));
      best.similar.push_back(place->second);
    }
    return Status();
  }

 private:
  SimilarConfigs Known(const costmodel::SimilarWorkload& similar) const {
    const SimilarWorkloads::Source& source = known_.SourceOf(similar);
    SimilarConfigs configs;
    configs.workload = similar.workload.ToText();
    configs.default_ns = similar.default_ns;
    for (size_t i = 0; i < similar.best.size(); ++i) {
      MeasuredConfig& best = configs.best.emplace_back();
      best.config = similar.best[i].config.ToText();
      best.measurement.outcome = Outcome::kOk;
      best.measurement.median_ns = similar.best[i].ns;
      best.record = source.records[i];
    }
    return configs;
  }

  SimilarWorkloads known_;
  BestAnswer& answer_;
  std::map<const costmodel::SimilarWorkload*, int32_t> places_;
};

}  // namespace

Result<BestAnswer> BestConfigs::Find(const BestQuestion& question) {
  MLC_TRY(CheckSize(question));
  BestAnswer answer;
  if (question.target.empty()) answer.targets = MLC_TRY(log_.Targets());
  const int candidates = std::clamp(question.candidates, 1, kMaxCandidates);
  const db::TuningLog::Accept accept = GeneratedBy(question);
  const uint64_t number = cache_.NumberOf(TextOf(question, candidates));
  SimilarWriter similar(log_, index_, question.target, answer);
  size_t bytes = 0;
  for (size_t i = 0; i < question.workloads.size(); ++i) {
    const Digest key = MLC_TRY(Digest::Parse(question.workloads[i]));
    const auto ask = [&]() -> Result<BestCache::Answer> {
      const db::BestFound found =
          MLC_TRY(db::FindBestConfigs(log_, key, question.target, candidates, accept));
      BestCache::Answer known{{}, found.holds_above_ns};
      const std::vector<db::Record>& records = found.records;
      if (!records.empty()) known.best.best = ToMeasured(records[0]);
      for (size_t j = 1; j < records.size(); ++j) {
        known.best.others.push_back(ToMeasured(records[j]));
      }
      return known;
    };
    BestConfig best = MLC_TRY(cache_.Get(key, number, ask));
    if (best.best.config.empty() && !question.texts.empty()) {
      MLC_TRY(Contain([&] { return similar.AddFor(key, question.texts[i], best); }));
      if (untuned_) untuned_(question.texts[i], question.target);
    }
    if (bytes + BytesOf(best) > kBytesWithOthers) best.others.clear();
    bytes += BytesOf(best);
    if (bytes > kMostBytes) {
      return ResourceExhausted(
          "the configs bring more than 48 MiB of sources: ask for fewer "
          "workloads a call");
    }
    answer.best.push_back(std::move(best));
  }
  return answer;
}

}  // namespace mlc::server
