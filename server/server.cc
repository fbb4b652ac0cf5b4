#include "server/server.h"

#include <spdlog/spdlog.h>
#include <sys/statvfs.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "db/sqlite/sqlite_log.h"
#include "server/api/services.h"
#include "server/jobs/quotas_file.h"
#include "server/metrics/watched_files.h"
#include "server/untuned_notes.h"

namespace mlc::server {
namespace {

constexpr int64_t kCallGraceMs = 2'000;
constexpr std::chrono::milliseconds kTick(1'000);
// At files of tokens and revocations.
constexpr std::chrono::milliseconds kLook(250);
// What the health service calls the files that the server follows.
constexpr char kFiles[] = "mlc.files";
// What the health service calls the parts that need the log's disk.
constexpr char kWriting[] = "mlc.proto.Workers";
// A job waits so long for idle tuning to give way.
constexpr std::chrono::milliseconds kIdleLook(100);

// The tuner's, but for what the server hears of it.
TunerOptions HeardBy(UntunedNotes& notes, TunerOptions options) {
  options.untuned = [&notes](const std::string& workload, const std::string& target) {
    notes.Add(workload, target);
  };
  return options;
}

class RunningServer : public Server {
 public:
  RunningServer(std::string path, std::unique_ptr<db::TuningLog> log,
                std::unique_ptr<Endpoint> endpoint, TunerOptions options)
      : path_(std::move(path)),
        clock_(*options.clock),
        metrics_(options.metrics),
        logger_(options.logger),
        watched_files_(logger_, metrics_),
        log_(std::move(log)),
        endpoint_(std::move(endpoint)),
        untuned_(path_, clock_),
        tuner_(std::make_unique<Tuner>(*log_, HeardBy(untuned_, std::move(options)))),
        tuner_service_(MakeTunerService(*tuner_, endpoint_->access(), load_, clock_)),
        workers_service_(MakeWorkersService(*tuner_, endpoint_->access(), load_, clock_)) {}
  ~RunningServer() override { Stop(0); }

  Status Serve() {
    MLC_TRY(tuner_->Start());
    MLC_TRY(endpoint_->Serve({tuner_service_.get(), workers_service_.get()}));
    endpoint_->SetServing("mlc.proto.Tuner", true);
    ticker_ = std::thread([this] { UntilStopped(kTick, [this] { Tick(); }); });
    // Waits for no lock of the tuner and for no disk of the log: revocations come in time.
    watcher_ = std::thread([this] { UntilStopped(kLook, [this] { RefreshFiles(); }); });
    return Status();
  }

  // REQUIRES: before Serve.
  void FollowQuotas(std::unique_ptr<QuotasFile> quotas) { quotas_ = std::move(quotas); }

  void PublishSnapshots(const std::string& log, SnapshotOptions options,
                        const std::shared_ptr<spdlog::logger>& logger) {
    options.heard = [metrics = metrics_](const Status& status) {
      metrics->Set(Gauge::kSnapshotFailed, status.ok() ? 0 : 1);
    };
    snapshots_ = std::make_unique<SnapshotSchedule>(log, std::move(options), logger);
  }

  // REQUIRES: after Serve.
  void TuneWhenIdle(const IdleTuningOptions& options) {
    if (options.trials == 0) return;
    idle_ = std::make_unique<IdleTuning>(path_, *log_, *tuner_, options, clock_, logger_);
    idler_ = std::thread([this] { UntilStopped(kIdleLook, [this] { idle_->Look(); }); });
  }

  // REQUIRES: after Serve.
  Status ServePage(page::PageOptions options) {
    if (options.listen.empty()) return Status();
    source_ = page::MakeTunerSource(*tuner_, path_);
    page_ = MLC_TRY(page::LivePage::Start(std::move(options), *source_, endpoint_->access(),
                                          logger_, metrics_));
    return Status();
  }

  std::string address() const override { return endpoint_->address(); }
  std::string page_url() const override { return page_ == nullptr ? "" : page_->url(); }
  void Reload() override {
    endpoint_->Reload();
    RefreshQuotas(transport::Look::kNow);
  }
  Demand WorkDemand() const override { return tuner_->WorkDemand(); }
  void SetUnservedNeeds(const std::vector<Needs>& needs) override {
    tuner_->SetUnservedNeeds(needs);
  }

  void Stop(int64_t grace_ms) override {
    if (tuner_ == nullptr) return;
    page_.reset();
    StopTicking();
    snapshots_.reset();
    // First no new connections, then the trials under way end, then the calls.
    endpoint_->SetServing("", false);
    endpoint_->SetServing("mlc.proto.Tuner", false);
    endpoint_->SetServing(kWriting, false);
    endpoint_->SetServing(kFiles, false);
    if (grace_ms > 0) tuner_->Drain(grace_ms);
    tuner_->DisconnectSessions();
    endpoint_->Stop(kCallGraceMs);
    tuner_.reset();
    log_.reset();
  }

 private:
  void UntilStopped(std::chrono::milliseconds period, const std::function<void()>& turn) {
    do {
      turn();
    } while (!StopsWithin(period));
  }

  bool StopsWithin(std::chrono::milliseconds period) MLC_EXCLUDES(tick_mutex_) {
    const auto end = std::chrono::steady_clock::now() + period;
    const MutexLock lock(tick_mutex_);
    while (!stopping_ && tick_wake_.WaitUntil(tick_mutex_, end)) {
    }
    return stopping_;
  }

  void RefreshQuotas(transport::Look look) {
    if (quotas_ == nullptr) return;
    const Status status = quotas_->Refresh(look, [this](const Quotas& quotas) {
      tuner_->SetQuotas(quotas);
      logger_->info("quotas: read again");
    });
    watched_files_.Update("quotas", status, clock_.SteadyMs());
  }

  void RefreshFiles() {
    endpoint_->RefreshFiles();
    endpoint_->SetServing(kFiles, endpoint_->files_are_valid() && watched_files_.all_valid());
  }

  void Tick() {
    endpoint_->Tick();
    load_.Review(clock_.SteadyMs());
    RefreshQuotas(transport::Look::kIfChanged);
    // Best effort: no build waits for it, and no knowledge is lost.
    (void)untuned_.Flush();
    const Status log_status = tuner_->LogStatus();
    endpoint_->SetServing(kWriting, log_status.ok());
    metrics_->Set(Gauge::kLogWritable, log_status.ok() ? 1 : 0);
    if (log_status.ok() != writable_) {
      writable_ = log_status.ok();
      if (writable_) {
        logger_->info("the log takes results again");
      } else {
        logger_->error("the log takes no results: {}", log_status.message());
      }
    }
    struct statvfs disk;
    if (statvfs(path_.c_str(), &disk) == 0) {
      metrics_->Set(Gauge::kDiskFreeBytes,
                    static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize));
    }
    std::error_code absent;
    const auto wal = std::filesystem::file_size(path_ + "-wal", absent);
    metrics_->Set(Gauge::kWalBytes, absent ? 0 : static_cast<double>(wal));
  }

  void StopTicking() {
    {
      const MutexLock lock(tick_mutex_);
      stopping_ = true;
    }
    tick_wake_.NotifyAll();
    if (ticker_.joinable()) ticker_.join();
    if (watcher_.joinable()) watcher_.join();
    if (idler_.joinable()) idler_.join();
  }

  const std::string path_;
  const Clock& clock_;
  const std::shared_ptr<Metrics> metrics_;
  const std::shared_ptr<spdlog::logger> logger_;
  WatchedFiles watched_files_;  // of what is not the endpoint's
  std::unique_ptr<db::TuningLog> log_;
  std::unique_ptr<Endpoint> endpoint_;
  UntunedNotes untuned_;
  std::unique_ptr<Tuner> tuner_;
  std::unique_ptr<IdleTuning> idle_;
  CallLoad load_;
  std::unique_ptr<grpc::Service> tuner_service_;
  std::unique_ptr<grpc::Service> workers_service_;
  std::unique_ptr<SnapshotSchedule> snapshots_;
  std::unique_ptr<QuotasFile> quotas_;
  std::unique_ptr<page::PageSource> source_;
  std::unique_ptr<page::LivePage> page_;
  Mutex tick_mutex_;
  CondVar tick_wake_;
  bool stopping_ MLC_GUARDED_BY(tick_mutex_) = false;
  bool writable_ = true;  // the ticker's alone
  std::thread ticker_;
  std::thread watcher_;
  std::thread idler_;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::Start(ServerOptions options) {
  const std::shared_ptr<spdlog::logger> logger = options.tuner.logger;
  std::unique_ptr<QuotasFile> quotas;
  if (!options.quotas.empty()) {
    quotas = MLC_TRY(QuotasFile::Open(options.quotas));
    options.tuner.quotas = quotas->quotas();
  }
  auto log =
      MLC_TRY(db::OpenSqliteLog(options.log, [metrics = options.tuner.metrics](double seconds) {
        metrics->Observe(Span::kCommit, seconds);
      }));
  options.endpoint.clock = options.tuner.clock;
  options.snapshots.clock = options.tuner.clock;
  options.page.clock = options.tuner.clock;
  options.page.tls = options.endpoint.tls;
  options.page.insecure_listen = options.endpoint.insecure_listen;
  options.page.read_only = options.endpoint.listen.starts_with("unix:");
  auto endpoint =
      MLC_TRY(Endpoint::Open(std::move(options.endpoint), logger, options.tuner.metrics));
  auto server = std::make_unique<RunningServer>(options.log, std::move(log), std::move(endpoint),
                                                std::move(options.tuner));
  server->FollowQuotas(std::move(quotas));
  MLC_TRY(server->Serve());
  MLC_TRY(server->ServePage(std::move(options.page)));
  server->TuneWhenIdle(options.idle);
  server->PublishSnapshots(options.log, std::move(options.snapshots), logger);
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace mlc::server
