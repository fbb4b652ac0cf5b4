#include "client/compile/kernel_source.h"

#include <utility>

#include "costmodel/history/similar_workloads.h"
#include "db/confirmed_best.h"
#include "db/kept_best.h"

namespace mlc::client {
namespace {

class LogSource : public KernelSource {
 public:
  LogSource(const db::TuningLog& log, std::string target, Winner winner)
      : log_(log),
        target_(std::move(target)),
        winner_(winner),
        // The usual index knows the workloads that were inserted last.
        index_(log, winner == Winner::kKept ? INT64_MAX / 2 : server::WorkloadIndex::kUsual),
        similar_(log, index_, target_) {}

  Result<std::optional<KnownKernel>> Best(const graph::Workload& workload,
                                          const Accept& accept) override {
    if (winner_ == Winner::kKept) return Kept(workload, accept);
    const std::vector<db::Record> best =
        MLC_TRY(db::BestConfigs(log_, workload.digest(), target_, 1,
                                [&](const db::Record& record) { return accept(record.config); }));
    return best.empty() ? std::optional<KnownKernel>() : KernelOf(best[0]);
  }

  Result<std::vector<KnownSimilar>> Near(const graph::Workload& workload) override {
    std::vector<KnownSimilar> near;
    for (const costmodel::SimilarWorkload* similar : MLC_TRY(similar_.For(workload))) {
      near.push_back({similar, &similar_.SourceOf(*similar).records});
    }
    return near;
  }

 private:
  static std::optional<KnownKernel> KernelOf(const db::Record& record) {
    return KnownKernel{record.config, record.task_uid, record.measurement.median_ns};
  }
  Result<std::optional<KnownKernel>> Kept(const graph::Workload& workload,
                                          const Accept& accept) const {
    const std::optional<db::Record> kept =
        MLC_TRY(db::KeptBest(log_, workload.digest(), target_, accept));
    return kept ? KernelOf(*kept) : std::optional<KnownKernel>();
  }

  const db::TuningLog& log_;
  const std::string target_;
  const Winner winner_;
  server::WorkloadIndex index_;
  server::SimilarWorkloads similar_;
};

}  // namespace

std::unique_ptr<KernelSource> MakeLogSource(const db::TuningLog& log, std::string target,
                                            Winner winner) {
  return std::make_unique<LogSource>(log, std::move(target), winner);
}

}  // namespace mlc::client
