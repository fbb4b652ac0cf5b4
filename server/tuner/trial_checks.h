// Checks results: has implausible ones measured again, by another worker if there is one, and
// evaluates canaries. Call the functions with the mutex of the tables that they take.
//
// Checks are leased like trials; GiveUp distinguishes both.
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

  // Compares the result of a confirmation with the claim that it repeats. A contradicted claim
  // counts as a bad result of the worker that made it.
  void CompareWithClaim(TunerTables& tables, const db::Record& record) MLC_REQUIRES(tables.mutex);
  // Why the result of a pending trial is implausible; empty if it is plausible.
  std::string DoubtOf(const TunerTables& tables, const db::Record& record) const
      MLC_REQUIRES(tables.mutex);
  // Queues a second measurement; the record waits in state received until its result arrives.
  void Confirm(TunerTables& tables, db::Record claim, const std::string& doubt) const
      MLC_REQUIRES(tables.mutex);
  // Handles the result of a check, which is received. Adds the confirmed records to `confirmed`,
  // for the caller to commit.
  void Take(TunerTables& tables, SyncCall& call, const Digest& uid, const Measurement& m,
            std::vector<db::Record>& confirmed) MLC_REQUIRES(tables.mutex);
  // Gives up a trial or check that no worker could run.
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
