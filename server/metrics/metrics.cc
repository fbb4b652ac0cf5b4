#include "server/metrics/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/exposer.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <array>
#include <exception>

namespace mlc::server {
namespace {

struct Description {
  const char* name;
  const char* help;
};

constexpr std::array<Description, kCounters> kCounterNames = {{
    {"mlc_server_leases_granted_total", "Trials given to workers"},
    {"mlc_server_leases_expired_total", "Leases that expired because their worker stopped calling"},
    {"mlc_server_trial_retries_total", "Trials queued again"},
    {"mlc_server_trials_abandoned_total", "Trials given up after their last attempt"},
    {"mlc_server_results_duplicate_total", "Results of trials that the log has already"},
    {"mlc_server_results_rejected_total", "Results that were rejected"},
    {"mlc_server_results_suspect_total", "Results sent to a second worker before they count"},
    {"mlc_server_canary_failures_total", "Canary trials that a worker failed"},
    {"mlc_server_jobs_submitted_total", "Jobs submitted"},
    {"mlc_server_jobs_joined_total", "Submitted jobs that joined one already there"},
}};

constexpr std::array<Description, kGauges> kGaugeNames = {{
    {"mlc_server_trials_queued", "Trials that wait for a worker"},
    {"mlc_server_trials_leased", "Trials that workers hold"},
    {"mlc_server_trials_received", "Results that are being committed or confirmed"},
    {"mlc_server_jobs_running", "Jobs with workers for their trials"},
    {"mlc_server_jobs_waiting", "Jobs with trials that no worker in contact can run"},
    {"mlc_server_fleet_workers_desired", "Workers that the fleet should have"},
    {"mlc_server_fleet_workers_running", "Workers that the fleet has"},
    {"mlc_server_connections_accepted", "Connections accepted since the start"},
    {"mlc_server_open_fds", "Open file descriptors"},
    {"mlc_server_log_wal_bytes", "Size of the log's write-ahead file"},
    {"mlc_server_log_disk_free_bytes", "Space left where the log is"},
    {"mlc_server_log_writable", "1 while the log can be written, else 0"},
    {"mlc_server_certificate_expiry_seconds", "Time until the server's certificate expires"},
    {"mlc_server_snapshot_failed", "1 while the last snapshot could not be published"},
}};

constexpr std::array<Description, kSpans> kSpanNames = {{
    {"mlc_server_commit_duration_seconds", "Commit of a batch of results"},
    {"mlc_server_acknowledge_duration_seconds", "From a result's arrival to its acknowledgement"},
    {"mlc_server_trial_queue_seconds", "From a trial's proposal to its lease"},
    {"mlc_server_trial_lease_seconds", "From a trial's lease to its result"},
    {"mlc_server_trial_build_seconds", "Build of a trial"},
    {"mlc_server_trial_device_seconds", "Time of devices that a result cost its user"},
    {"mlc_server_best_duration_seconds", "Answer to a Best call"},
}};

// Commits take milliseconds, builds minutes at worst.
const prometheus::Histogram::BucketBoundaries kBuckets = {
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300};

}  // namespace

struct Metrics::Families {
  std::shared_ptr<prometheus::Registry> registry = std::make_shared<prometheus::Registry>();
  std::array<prometheus::Counter*, kCounters> counters;
  std::array<prometheus::Gauge*, kGauges> gauges;
  std::array<prometheus::Histogram*, kSpans> spans;
  prometheus::Family<prometheus::Counter>* results;
  prometheus::Family<prometheus::Counter>* rejected;
  prometheus::Family<prometheus::Gauge>* workers;
  prometheus::Family<prometheus::Gauge>* files;
  std::unique_ptr<prometheus::Exposer> exposer;
};

Metrics::Metrics() : families_(std::make_unique<Families>()) {
  prometheus::Registry& registry = *families_->registry;
  for (size_t i = 0; i < kCounterNames.size(); ++i) {
    const auto [name, help] = kCounterNames[i];
    families_->counters[i] =
        &prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
  }
  for (size_t i = 0; i < kGaugeNames.size(); ++i) {
    const auto [name, help] = kGaugeNames[i];
    families_->gauges[i] =
        &prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
  }
  for (size_t i = 0; i < kSpanNames.size(); ++i) {
    const auto [name, help] = kSpanNames[i];
    families_->spans[i] =
        &prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({}, kBuckets);
  }
  families_->results = &prometheus::BuildCounter()
                            .Name("mlc_server_results_total")
                            .Help("Results taken, by outcome")
                            .Register(registry);
  families_->rejected = &prometheus::BuildCounter()
                             .Name("mlc_server_rejected_total")
                             .Help("Calls and connections that were rejected, by reason")
                             .Register(registry);
  families_->workers = &prometheus::BuildGauge()
                            .Name("mlc_server_workers")
                            .Help("Workers in contact, by state")
                            .Register(registry);
  families_->files = &prometheus::BuildGauge()
                          .Name("mlc_server_watched_file_invalid")
                          .Help("1 while a followed file cannot be used and the old one counts")
                          .Register(registry);
}

Metrics::~Metrics() = default;

void Metrics::Add(Counter counter, int64_t count) {
  families_->counters[static_cast<size_t>(counter)]->Increment(static_cast<double>(count));
}

void Metrics::Set(Gauge gauge, double value) {
  families_->gauges[static_cast<size_t>(gauge)]->Set(value);
}

void Metrics::Observe(Span span, double seconds) {
  families_->spans[static_cast<size_t>(span)]->Observe(seconds);
}

void Metrics::AddResult(Outcome outcome) {
  families_->results->Add({{"outcome", std::string(ToText(outcome))}}).Increment();
}

void Metrics::AddRejected(std::string_view reason) {
  families_->rejected->Add({{"reason", std::string(reason)}}).Increment();
}

void Metrics::SetWorkers(std::string_view state, int64_t count) {
  families_->workers->Add({{"state", std::string(state)}}).Set(static_cast<double>(count));
}

void Metrics::SetFileInvalid(std::string_view file, bool invalid) {
  families_->files->Add({{"file", std::string(file)}}).Set(invalid ? 1 : 0);
}

Status Metrics::Serve(const std::string& address) {
  try {
    families_->exposer = std::make_unique<prometheus::Exposer>(address, 1);
  } catch (const std::exception& error) {
    return Unavailable("cannot serve metrics at " + address + ": " + error.what() +
                       "; give --metrics another HOST:PORT");
  }
  families_->exposer->RegisterCollectable(families_->registry);
  return Status();
}

int Metrics::port() const {
  if (families_->exposer == nullptr) return 0;
  const std::vector<int> ports = families_->exposer->GetListeningPorts();
  return ports.empty() ? 0 : ports.front();
}

std::string Metrics::Text() const {
  return prometheus::TextSerializer().Serialize(families_->registry->Collect());
}

}  // namespace mlc::server
