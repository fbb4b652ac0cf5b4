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
    {"mlc_leases_granted_total", "Trials given to workers"},
    {"mlc_lease_expired_total", "Leases lost by workers that fell silent"},
    {"mlc_trial_retries_total", "Trials queued again"},
    {"mlc_trials_quarantined_total", "Trials given up after their last attempt"},
    {"mlc_duplicate_results_total", "Results of trials that the log has already"},
    {"mlc_refused_results_total", "Results that were never taken"},
    {"mlc_suspect_results_total", "Results sent to a second worker before they count"},
    {"mlc_canary_failures_total", "Canary trials that a worker failed"},
    {"mlc_jobs_submitted_total", "Jobs submitted"},
    {"mlc_jobs_joined_total", "Submitted jobs that joined one already there"},
}};

constexpr std::array<Description, kGauges> kGaugeNames = {{
    {"mlc_tasks_queued", "Trials that wait for a worker"},
    {"mlc_tasks_leased", "Trials that workers hold"},
    {"mlc_tasks_received", "Results that are being committed or confirmed"},
    {"mlc_jobs_running", "Jobs with workers for their trials"},
    {"mlc_jobs_waiting", "Jobs with trials that no worker in contact can run"},
    {"mlc_fleet_wanted", "Workers that the fleet is to have"},
    {"mlc_fleet_running", "Workers that the fleet has"},
    {"mlc_connections", "Connections accepted since the start"},
    {"mlc_open_descriptors", "Open file descriptors"},
    {"mlc_wal_bytes", "Size of the log's write-ahead file"},
    {"mlc_disk_free_bytes", "Space left where the log is"},
    {"mlc_log_writable", "1, or 0 while the log keeps nothing"},
    {"mlc_certificate_expiry_seconds", "Time until the server's certificate expires"},
    {"mlc_snapshot_failed", "1 while the last snapshot could not be published"},
}};

constexpr std::array<Description, kSpans> kSpanNames = {{
    {"mlc_commit_seconds", "Commit of a batch of results"},
    {"mlc_acknowledge_seconds", "From a result's arrival to its acknowledgement"},
    {"mlc_task_queue_seconds", "From a trial's proposal to its lease"},
    {"mlc_task_lease_seconds", "From a trial's lease to its result"},
    {"mlc_task_build_seconds", "Build of a trial"},
    {"mlc_task_device_seconds", "Time of devices that a result cost its user"},
    {"mlc_best_seconds", "Answer to a Best call"},
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
                            .Name("mlc_results_total")
                            .Help("Results taken, by outcome")
                            .Register(registry);
  families_->rejected = &prometheus::BuildCounter()
                             .Name("mlc_grpc_rejected_total")
                             .Help("Calls and connections turned away, by reason")
                             .Register(registry);
  families_->workers = &prometheus::BuildGauge()
                            .Name("mlc_workers")
                            .Help("Workers in contact, by state")
                            .Register(registry);
  families_->files = &prometheus::BuildGauge()
                          .Name("mlc_file_refused")
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

void Metrics::SetFileRefused(std::string_view file, bool refused) {
  families_->files->Add({{"file", std::string(file)}}).Set(refused ? 1 : 0);
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
