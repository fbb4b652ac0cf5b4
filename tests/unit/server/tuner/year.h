// A server's year, by sample: names of workers that come for a day and never again, jobs that each
// ask for something new, and a log that holds all of them. Days pass at once, by a clock
// that skips them. For the test of what grows and for its benchmark.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "db/tuning_log.h"
#include "tests/support/clock/skipping_clock.h"
#include "tests/support/server/wire_tuner.h"

namespace mlc::server {

// Rows `from`..`to` of a log's year, written at once. Half of the records are of one workload,
// which every job has; the others are of few more, so that a tenth of the year has as many of each
// as anybody reads.
inline constexpr int kYearWorkloads = 15;
struct YearRows {
  int64_t records = 0;
  int64_t jobs = 0;
};
Status FillYear(const std::string& log, const YearRows& from, const YearRows& to);

class Year {
 public:
  // Starts a tuner on the log, with a search that proposes at once; borrows the log. Its jobs are
  // others than those of a year with another `first_job`.
  explicit Year(db::TuningLog& log, int64_t first_job = 0);
  ~Year();

  // So many new names call, so many jobs, each with the popular workload and one that nobody has
  // asked for yet, are submitted, run by one worker and end, and a day is
  // over. False, with a word on standard error, if the server did not do as it should.
  bool Day(int names, int jobs);
  // What people and builds ask of a server: jobs, workers, the best config of the popular workload.
  bool Ask();
  // Milliseconds after which a worker that waits calls again.
  int64_t NextPollMs();

  WireTuner& tuner() { return *tuner_; }

 private:
  bool RunJob();
  Result<proto::SynchronizeReply> Call(const proto::SynchronizeRequest& request);

  db::TuningLog& log_;
  tests::SkippingClock clock_;
  std::unique_ptr<WireTuner> tuner_;
  int64_t names_ = 0;
  int64_t jobs_;
};

}  // namespace mlc::server
