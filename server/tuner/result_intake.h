// Handles the results of a call: refuses them, requeues the trial, has it measured again, or stores
// the result. The path of a stored result: Synchronize -> log commit -> acknowledgement to the
// worker and delivery to the search. Thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/tuner/best_configs.h"
#include "server/tuner/canaries.h"
#include "server/tuner/dispatcher.h"
#include "server/tuner/log_health.h"
#include "server/tuner/sync_call.h"
#include "server/tuner/trial_checks.h"
#include "server/tuner/tuner_context.h"
#include "server/tuner/tuner_tables.h"
#include "server/tuner/worker_directory.h"

namespace mlc::server {

class ResultIntake {
 public:
  // Other parts of the tuner, borrowed.
  struct Parts {
    TunerTables& tables;
    LogHealth& log_health;
    BestConfigs& best;
    WorkerDirectory& workers;
    Dispatcher& dispatcher;
    TrialChecks& checks;
    Canaries& canaries;
  };
  ResultIntake(const TunerContext& context, Parts parts);

  // See Tuner::Synchronize and Tuner::RecordRefusal.
  void Synchronize(WorkerCall request, SyncCall::Reply reply, const std::string& owner)
      MLC_EXCLUDES(tables_.mutex);
  void RecordRefusal(const std::string& worker, std::optional<Digest> uid,
                     const std::string& why) const;

 private:
  using Call = std::shared_ptr<SyncCall>;

  void Take(const Call& call, const FinishedTrial& result, std::vector<db::Record>& confirmed)
      MLC_EXCLUDES(tables_.mutex);
  // True if a job waits for the result; `record` gets the job's data.
  bool Receive(const Call& call, const FinishedTrial& result, db::Record& record,
               std::vector<db::Record>& confirmed) MLC_EXCLUDES(tables_.mutex);
  void TakeUnknown(const Call& call, const Digest& uid) MLC_EXCLUDES(tables_.mutex);
  void Reject(const Call& call, const db::Record& record, const Status& why)
      MLC_EXCLUDES(tables_.mutex);
  void Refuse(SyncCall& call, const Digest& uid, const std::string& why) const;
  void Commit(const Call& call, db::Record record);
  void Committed(const Call& call, const db::Record& record, const Status& status)
      MLC_EXCLUDES(tables_.mutex);
  void Answer(const Call& call) MLC_EXCLUDES(tables_.mutex);
  db::Record RecordOf(const TunerTables& tables, const SyncCall& call, const Digest& uid,
                      const Measurement& m) const MLC_REQUIRES(tables.mutex);
  void RecordTimes(const TunerTables& tables, const Digest& uid, const Measurement& m) const
      MLC_REQUIRES(tables.mutex);

  const TunerContext& context_;
  TunerTables& tables_;
  LogHealth& log_health_;
  BestConfigs& best_;
  WorkerDirectory& workers_;
  Dispatcher& dispatcher_;
  TrialChecks& checks_;
  Canaries& canaries_;
};

}  // namespace mlc::server
