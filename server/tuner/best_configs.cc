#include "server/tuner/best_configs.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/contain.h"
#include "base/wire/protocol.h"
#include "costmodel/history/similar_workloads.h"
#include "db/confirmed_best.h"
#include "server/jobs/job_request.h"

namespace mlc::server {
namespace {

constexpr int kMaxQueries = 10'000;
constexpr int kMaxCandidates = 16;
// A compiler of today has some dozens of families.
constexpr int kMaxKernels = 256;
constexpr size_t kMaxKernelName = 128;
constexpr size_t kMaxTarget = 4096;
// Of a reply; configs that bring their source may be long. Beyond the first, the candidates after
// the best are left out.
constexpr size_t kBytesWithOthers = size_t{16} << 20;
constexpr size_t kMostBytes = size_t{48} << 20;

Status CheckSize(const proto::BestRequest& request) {
  if (request.workloads_size() > kMaxQueries) {
    return InvalidArgument("at most " + std::to_string(kMaxQueries) + " workloads a call");
  }
  if (request.texts_size() != 0 && request.texts_size() != request.workloads_size()) {
    return InvalidArgument(
        "the texts are not those of the workloads: " + std::to_string(request.texts_size()) +
        " of " + std::to_string(request.workloads_size()));
  }
  const auto is_long = [](const std::string& name) { return name.size() > kMaxKernelName; };
  if (request.kernels_size() > kMaxKernels || std::ranges::any_of(request.kernels(), is_long)) {
    return InvalidArgument("the caller generates too much: at most " + std::to_string(kMaxKernels) +
                           " families of kernels, of " + std::to_string(kMaxKernelName) +
                           " characters each");
  }
  if (request.target().size() > kMaxTarget) {
    return InvalidArgument("a class of targets has at most " + std::to_string(kMaxTarget) +
                           " characters");
  }
  return Status();
}

// What is asked about each of the workloads.
std::string QuestionOf(const proto::BestRequest& request, int candidates) {
  std::string question = std::to_string(candidates) + "\n" + request.target();
  for (const std::string& kernel : request.kernels()) question += "\n" + kernel;
  return question;
}

proto::BestConfig ToBest(const db::Record& record) {
  proto::BestConfig best;
  best.set_config(record.config);
  *best.mutable_measurement() = ToWire(record.measurement);
  best.set_record(ToWire(record.task_uid));
  return best;
}

// Takes records of the families that the caller generates; all if it does not say.
db::TuningLog::Accept GeneratedBy(const proto::BestRequest& request) {
  if (request.kernels().empty()) return {};
  return [kernels = std::set<std::string>(request.kernels().begin(), request.kernels().end())](
             const db::Record& record) {
    return kernels.contains(record.config.substr(0, record.config.find(' ')));
  };
}

// The similar workloads of one reply, each sent once.
class SimilarWriter {
 public:
  SimilarWriter(const db::TuningLog& log, WorkloadIndex& index, const std::string& target,
                proto::BestReply& reply)
      : known_(log, index, target), reply_(reply) {}

  Status AddFor(const Digest& key, const std::string& text, proto::BestConfig& best) {
    const graph::Workload workload = MLC_TRY(ParseWorkload(text));
    if (workload.digest() != key) {
      return InvalidArgument("a text is not of the workload " + key.ToText());
    }
    for (const costmodel::SimilarWorkload* similar : MLC_TRY(known_.For(workload))) {
      const auto [place, is_new] = places_.try_emplace(similar, reply_.similar_workloads_size());
      if (is_new) Write(*similar, *reply_.add_similar_workloads());
      best.add_similar_workloads(place->second);
    }
    return Status();
  }

 private:
  void Write(const costmodel::SimilarWorkload& similar, proto::SimilarWorkload& wire) const {
    const SimilarWorkloads::Source& source = known_.SourceOf(similar);
    wire.set_workload(similar.workload.ToText());
    wire.set_default_ns(similar.default_ns);
    for (size_t i = 0; i < similar.best.size(); ++i) {
      proto::BestConfig& best = *wire.add_best();
      best.set_config(similar.best[i].config.ToText());
      best.mutable_measurement()->set_outcome(proto::OK);
      best.mutable_measurement()->set_median_ns(similar.best[i].ns);
      best.set_record(ToWire(source.records[i]));
    }
  }

  SimilarWorkloads known_;
  proto::BestReply& reply_;
  std::map<const costmodel::SimilarWorkload*, int> places_;
};

}  // namespace

Result<proto::BestReply> BestConfigs::Find(const proto::BestRequest& request) {
  MLC_TRY(CheckSize(request));
  proto::BestReply reply;
  if (request.target().empty()) {
    for (std::string& target : MLC_TRY(log_.Targets())) reply.add_targets(std::move(target));
  }
  const int candidates = std::clamp(request.candidates(), 1, kMaxCandidates);
  const db::TuningLog::Accept accept = GeneratedBy(request);
  const uint64_t question = cache_.NumberOf(QuestionOf(request, candidates));
  SimilarWriter similar(log_, index_, request.target(), reply);
  size_t bytes = 0;
  for (int i = 0; i < request.workloads_size(); ++i) {
    const Digest key = MLC_TRY(Digest::Parse(request.workloads(i)));
    const auto ask = [&]() -> Result<BestCache::Answer> {
      const db::BestFound found =
          MLC_TRY(db::FindBestConfigs(log_, key, request.target(), candidates, accept));
      BestCache::Answer answer{{}, found.holds_above_ns};
      const std::vector<db::Record>& records = found.records;
      if (!records.empty()) answer.best = ToBest(records[0]);
      for (size_t j = 1; j < records.size(); ++j) *answer.best.add_others() = ToBest(records[j]);
      return answer;
    };
    proto::BestConfig& best = *reply.add_best();
    best = MLC_TRY(cache_.Get(key, question, ask));
    if (best.config().empty() && request.texts_size() > 0) {
      MLC_TRY(Contain([&] { return similar.AddFor(key, request.texts(i), best); }));
    }
    if (bytes + best.ByteSizeLong() > kBytesWithOthers) best.clear_others();
    bytes += best.ByteSizeLong();
    if (bytes > kMostBytes) {
      return ResourceExhausted(
          "the configs bring more than 48 MiB of sources: ask for fewer "
          "workloads a call");
    }
  }
  return reply;
}

}  // namespace mlc::server
