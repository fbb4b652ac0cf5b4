// The Prometheus metrics of the server. Any part of the server may change a figure, from any
// thread; only scrapes and tests read them. docs/reference/metrics.md lists names, units and
// alerts. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/outcome.h"
#include "base/status.h"

namespace mlc::server {

// Events since the start; each is the counter mlc_server_<name>_total.
enum class Counter : uint8_t {
  kLeasesGranted,
  kLeasesExpired,     // of silent workers
  kTrialRetries,      // trials queued again, for any reason
  kTrialsAbandoned,   // given up after their last attempt
  kDuplicateResults,  // of a trial that is already in the log
  kRejectedResults,   // foreign, malformed or of another worker's trial
  kSuspectResults,    // implausible, measured again by a second worker
  kCanaryFailures,
  kJobsSubmitted,
  kJobsJoined,  // submissions that joined an existing job
};
inline constexpr int kCounters = 10;

// States; each is the gauge mlc_server_<name>.
enum class Gauge : uint8_t {
  kTrialsQueued,
  kTrialsLeased,
  kTrialsReceived,  // results that are being committed or confirmed
  kJobsRunning,     // jobs that have workers
  kJobsWaiting,     // for a worker that can run their queued trials
  kFleetDesired,    // workers that the fleet should have
  kFleetRunning,
  kConnections,
  kOpenDescriptors,
  kWalBytes,
  kDiskFreeBytes,
  kLogWritable,        // 1 while the log can be written, else 0
  kCertificateExpiry,  // seconds until the server's certificate expires
  kSnapshotFailed,     // 1 while the last snapshot could not be published
};
inline constexpr int kGauges = 14;

// Durations; each is the histogram mlc_server_<name>_seconds.
enum class Span : uint8_t {
  kCommit,       // of a batch of results
  kAcknowledge,  // from a result's arrival to its acknowledgement
  kTrialQueue,   // from proposal to lease
  kTrialLease,   // from lease to result
  kTrialBuild,
  kTrialDevice,  // device time of a result, charged to its user
  kBest,         // of a Best call
};
inline constexpr int kSpans = 7;

class Metrics {
 public:
  Metrics();
  ~Metrics();

  void Add(Counter counter, int64_t count = 1);
  void Set(Gauge gauge, double value);
  void Observe(Span span, double seconds);
  // mlc_server_results_total{outcome}
  void AddResult(Outcome outcome);
  // mlc_server_rejected_total{reason}: "unauthenticated", "denied", "version", "quota", "full", ...
  // `reason` is a constant of the code, never text of a caller.
  void AddRejected(std::string_view reason);
  // mlc_server_workers{state}: "idle", "busy", "draining", "quarantined", ...; constants too.
  void SetWorkers(std::string_view state, int64_t count);
  // mlc_server_watched_file_invalid{file}: 1 while a watched file is unusable. `file` is a
  // constant.
  void SetFileInvalid(std::string_view file, bool invalid);

  // Serves GET /metrics at HOST:PORT without TLS or authentication, so use the loopback interface.
  // Port 0 picks a free port. INVALID_ARGUMENT for a malformed address, UNAVAILABLE if it cannot
  // listen.
  Status Serve(const std::string& address);
  int port() const;  // 0 before Serve
  // The text of a scrape.
  std::string Text() const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace mlc::server
