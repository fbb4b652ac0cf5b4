// Admits and ends jobs: submissions, within the quotas of their users, cancellations, and jobs that
// resume from the log after a restart. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"
#include "server/security/caller.h"
#include "server/tuner/job_store.h"
#include "server/tuner/tuner_context.h"
#include "server/tuner/tuner_tables.h"

namespace mlc::server {

class JobAdmission {
 public:
  // Borrows all of them.
  JobAdmission(const TunerContext& context, TunerTables& tables, SearchQueue& queue,
               JobStore& store)
      : context_(context), tables_(tables), queue_(queue), store_(store) {}

  // Resumes the running jobs of the log. Call it before the first call.
  Status Resume() MLC_EXCLUDES(tables_.mutex);
  // See the functions of Tuner.
  Result<Submitted> Submit(const Submission& request, const Caller& caller)
      MLC_EXCLUDES(store_.knowledge, tables_.mutex);
  Result<Submitted> SubmitUserKernel(const KernelSubmission& request, const Caller& caller)
      MLC_EXCLUDES(store_.knowledge, tables_.mutex);
  Status Cancel(const std::string& id, const Caller& caller) MLC_EXCLUDES(tables_.mutex);
  void SetQuotas(const Quotas& quotas) MLC_EXCLUDES(tables_.mutex);

 private:
  using Parse = std::function<Result<JobRequest>()>;
  Result<Submitted> Admit(const Submission& request, const Caller& caller, const Parse& parse)
      MLC_EXCLUDES(store_.knowledge, tables_.mutex);
  // Whether the job already runs. RESOURCE_EXHAUSTED if the quotas do not admit it.
  Result<bool> CheckQuotas(const db::JobRow& row, const Quotas& quotas, Asked asked,
                           int64_t trials) const MLC_EXCLUDES(tables_.mutex);
  Status Admitted(const Status& status) const;
  // The usage of a user, without the job `but`.
  Usage UsageOf(const std::string& owner, const Digest& but) const MLC_REQUIRES(tables_.mutex);
  Result<bool> Join(const db::JobRow& row) MLC_EXCLUDES(tables_.mutex);
  // REQUIRES: the row is in the log, and no job with its id runs.
  Status Start(db::JobRow row) MLC_EXCLUDES(tables_.mutex);
  Status CancelInLog(const std::string& id, const Caller& caller) const;

  const TunerContext& context_;
  TunerTables& tables_;
  SearchQueue& queue_;
  JobStore& store_;
};

}  // namespace mlc::server
