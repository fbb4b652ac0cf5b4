#include "client/compile/kernel_source.h"

#include <utility>

#include "costmodel/history/similar_workloads.h"
#include "db/confirmed_best.h"

namespace mlc::client {
namespace {

class LogSource : public KernelSource {
 public:
  LogSource(const db::TuningLog& log, std::string target)
      : log_(log), target_(std::move(target)), index_(log), similar_(log, index_, target_) {}

  Result<std::optional<KnownKernel>> Best(const graph::Workload& workload,
                                          const Accept& accept) override {
    const std::vector<db::Record> best =
        MLC_TRY(db::BestConfigs(log_, workload.digest(), target_, 1,
                                [&](const db::Record& record) { return accept(record.config); }));
    if (best.empty()) return std::optional<KnownKernel>();
    return std::optional(
        KnownKernel{best[0].config, best[0].task_uid, best[0].measurement.median_ns});
  }

  Result<std::vector<KnownSimilar>> Near(const graph::Workload& workload) override {
    std::vector<KnownSimilar> near;
    for (const costmodel::SimilarWorkload* similar : MLC_TRY(similar_.For(workload))) {
      near.push_back({similar, &similar_.SourceOf(*similar).records});
    }
    return near;
  }

 private:
  const db::TuningLog& log_;
  const std::string target_;
  server::WorkloadIndex index_;
  server::SimilarWorkloads similar_;
};

}  // namespace

std::unique_ptr<KernelSource> MakeLogSource(const db::TuningLog& log, std::string target) {
  return std::make_unique<LogSource>(log, std::move(target));
}

}  // namespace mlc::client
