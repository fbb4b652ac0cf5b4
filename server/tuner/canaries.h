// Sends canaries, trials with a known result that test workers, when they are due. Thread-safe.
#pragma once

#include "base/digest.h"
#include "server/tuner/sync_call.h"
#include "server/tuner/tuner_context.h"
#include "server/tuner/tuner_tables.h"

namespace mlc::server {

// The job id of canaries and second measurements, which belong to no job. Fair sharing counts them
// as one more user.
inline constexpr Digest kCheckJobId{0, 1};

class Canaries {
 public:
  // Borrows both.
  Canaries(const TunerContext& context, TunerTables& tables) : context_(context), tables_(tables) {}

  // Queues a canary for the worker if one is due. The worker gets it in its next call.
  void Send(const SyncCall& call) MLC_EXCLUDES(tables_.mutex);

 private:
  const TunerContext& context_;
  TunerTables& tables_;
};

}  // namespace mlc::server
