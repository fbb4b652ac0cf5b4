// Reports figures about jobs, leases and workers: to the metrics at each tick, and to tests.
#pragma once

#include "server/tuner/tuner_context.h"
#include "server/tuner/tuner_counts.h"
#include "server/tuner/tuner_tables.h"
#include "server/tuner/worker_directory.h"

namespace mlc::server {

class TunerReport {
 public:
  // Borrows both.
  TunerReport(const TunerContext& context, const WorkerDirectory& workers)
      : context_(context), workers_(workers) {}

  // Updates the metrics. The mutex of the tables also guards the last reported figures.
  void Report(const TunerTables& tables) MLC_REQUIRES(tables.mutex);
  static TunerCounts Count(const TunerTables& tables) MLC_REQUIRES(tables.mutex);

 private:
  void ReportWorkers(const TunerTables& tables) const MLC_REQUIRES(tables.mutex);

  const TunerContext& context_;
  const WorkerDirectory& workers_;
  LeaseCounts reported_;  // the last counts in the metrics
};

}  // namespace mlc::server
