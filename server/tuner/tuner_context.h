// What all parts of a tuner share and none changes: log, options and clock. Borrows the log and the
// clock. Immutable; thread-safe.
#pragma once

#include <cstdint>
#include <utility>

#include "db/tuning_log.h"
#include "server/tuner/tuner_options.h"

namespace mlc::server {

struct TunerContext {
  TunerContext(db::TuningLog& its_log, TunerOptions its_options)
      : log(its_log), options(std::move(its_options)), started_ms(options.clock->SteadyMs()) {}

  db::TuningLog& log;
  const TunerOptions options;
  const int64_t started_ms;  // by the steady clock

  int64_t NowMs() const { return options.clock->SteadyMs(); }
  int64_t WallUs() const { return options.clock->WallUs(); }
  Metrics& metrics() const { return *options.metrics; }
  spdlog::logger& logger() const { return *options.logger; }
};

}  // namespace mlc::server
