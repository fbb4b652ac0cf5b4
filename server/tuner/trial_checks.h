// Results that are hard to believe are measured a second time, by another worker if there is one;
// and what becomes of canaries. Called with the mutex of the tables, which each function takes.
//
// Its checks are trials of the leases, too: GiveUp knows which of both a trial is.
#pragma once

#include <string>
#include <vector>

#include "server/tuner/dispatcher.h"
#include "server/tuner/sync_call.h"
#include "server/tuner/tuner_context.h"
#include "server/tuner/tuner_tables.h"
#include "server/tuner/worker_directory.h"

namespace mlc::server {

class TrialChecks {
 public:
  // Borrows all of them.
  TrialChecks(const TunerContext& context, Dispatcher& dispatcher, WorkerDirectory& workers)
      : context_(context), dispatcher_(dispatcher), workers_(workers) {}

  // Compares a pending trial's result with the claim that it confirms: a contradicted claim counts
  // as a bad result.
  void CompareWithClaim(TunerTables& tables, const db::Record& record) MLC_REQUIRES(tables.mutex);
  // Why the result of a pending trial is hard to believe; empty if it is not.
  std::string DoubtOf(const TunerTables& tables, const db::Record& record) const
      MLC_REQUIRES(tables.mutex);
  // The record waits, received, until a second measurement has a result.
  void Confirm(TunerTables& tables, db::Record claim, const std::string& doubt) const
      MLC_REQUIRES(tables.mutex);
  // Takes the result of a check, which is received. Records that it confirms are added to
  // `confirmed`: they are to be committed.
  void Take(TunerTables& tables, SyncCall& call, const Digest& uid, const Measurement& m,
            std::vector<db::Record>& confirmed) MLC_REQUIRES(tables.mutex);
  // No worker could run the trial, or the check.
  void GiveUp(TunerTables& tables, const Digest& uid, const std::string& why)
      MLC_REQUIRES(tables.mutex);

 private:
  void TakeCanary(TunerTables& tables, const Check& check, const Measurement& m) const
      MLC_REQUIRES(tables.mutex);
  void TakeConfirmation(TunerTables& tables, const SyncCall& call, const Check& check,
                        const Measurement& m, std::vector<db::Record>& confirmed)
      MLC_REQUIRES(tables.mutex);
  void CheckEnded(TunerTables& tables, const Digest& uid, const std::string& why)
      MLC_REQUIRES(tables.mutex);

  const TunerContext& context_;
  Dispatcher& dispatcher_;
  WorkerDirectory& workers_;
};

}  // namespace mlc::server
