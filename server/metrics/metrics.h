// What the server counts, for Prometheus. Every part of the server may change the figures, from any
// thread, at any time; only scrapes and tests read them. docs/reference/metrics.md lists names,
// units and alerts. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/outcome.h"
#include "base/status.h"

namespace mlc::server {

// Events, counted since the start; each becomes mlc_server_<name>_total.
enum class Counter : uint8_t {
  kLeasesGranted,
  kLeasesExpired,     // of silent workers
  kTrialRetries,      // a trial queued again, for whatever reason
  kTrialsAbandoned,   // given up after their last attempt
  kDuplicateResults,  // of a trial that the log has already
  kRejectedResults,   // never taken: foreign, malformed, of another worker's trial
  kSuspectResults,    // below the floor or out of line, sent to a second worker
  kCanaryFailures,
  kJobsSubmitted,
  kJobsJoined,  // of them, joined to one that was there
};
inline constexpr int kCounters = 10;

// States; each becomes mlc_server_<name>.
enum class Gauge : uint8_t {
  kTrialsQueued,
  kTrialsLeased,
  kTrialsReceived,  // results that are being committed or confirmed
  kJobsRunning,     // with workers for their trials
  kJobsWaiting,     // for a worker that can run what they have queued
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

// Lengths of time; each becomes the histogram mlc_server_<name>_seconds.
enum class Span : uint8_t {
  kCommit,       // of a batch of results
  kAcknowledge,  // from a result's arrival to its acknowledgement
  kTrialQueue,   // from proposal to lease
  kTrialLease,   // from lease to result
  kTrialBuild,
  kTrialDevice,  // time of devices that a result cost its user
  kBest,         // answering a Best call
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
  // mlc_server_rejected_total{reason}: "unauthenticated", "denied", "version", "quota", "full",
  // ...; a word of the code, never of a caller.
  void AddRejected(std::string_view reason);
  // mlc_server_workers{state}: "idle", "busy", "draining", "quarantined", ...; again words of the
  // code.
  void SetWorkers(std::string_view state, int64_t count);
  // mlc_server_watched_file_invalid{file}: 1 while a file that is followed cannot be used; again
  // words of the code.
  void SetFileInvalid(std::string_view file, bool invalid);

  // Answers GET /metrics at HOST:PORT, without any protection: the loopback interface is the place
  // for it. Port 0 picks one. INVALID_ARGUMENT or UNAVAILABLE if it cannot.
  Status Serve(const std::string& address);
  int port() const;  // 0 before Serve
  // What a scrape gets.
  std::string Text() const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace mlc::server
