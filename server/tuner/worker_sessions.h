// The streams that workers hold open. The server wakes a worker over its stream when there is work.
// Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "server/tuner/tuner_context.h"
#include "server/tuner/tuner_tables.h"

namespace mlc::server {

class WorkerSessions {
 public:
  // Borrows both.
  WorkerSessions(const TunerContext& context, TunerTables& tables)
      : context_(context), tables_(tables) {}

  // See Tuner::OpenSession, Tuner::Disconnected and Tuner::DisconnectSessions.
  int64_t Open(const std::string& worker, const std::string& incarnation,
               std::function<void()> wake, std::function<void()> disconnect)
      MLC_EXCLUDES(tables_.mutex);
  void Disconnected(int64_t id) MLC_EXCLUDES(tables_.mutex);
  void DisconnectAll() MLC_EXCLUDES(tables_.mutex);
  // Wakes workers of the class that asked for more trials than there were, at most one per queued
  // trial.
  static void Wake(TunerTables& tables, const std::string& target_class) MLC_REQUIRES(tables.mutex);

 private:
  const TunerContext& context_;
  TunerTables& tables_;
};

}  // namespace mlc::server
