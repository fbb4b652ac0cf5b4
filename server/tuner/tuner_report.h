// What the tuner knows about jobs, leases and workers, as figures: for the metrics, as often as it
// ticks, and for tests.
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

  // Into the metrics. The mutex of the tables guards what was reported last, too.
  void Report(const TunerTables& tables) MLC_REQUIRES(tables.mutex);
  static TunerCounts Count(const TunerTables& tables) MLC_REQUIRES(tables.mutex);

 private:
  void ReportWorkers(const TunerTables& tables) const MLC_REQUIRES(tables.mutex);

  const TunerContext& context_;
  const WorkerDirectory& workers_;
  LeaseCounts reported_;  // as the metrics know them
};

}  // namespace mlc::server
