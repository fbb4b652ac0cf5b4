#include "server/fleet/fleet.h"

#include <spdlog/spdlog.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "server/fleet/exec_provider.h"
#include "server/fleet/local_provider.h"
#include "server/fleet/planner.h"
#include "server/fleet/slurm_provider.h"

namespace mlc::server::fleet {
namespace {

class StaticProvider : public Provider {
 public:
  bool places() const override { return false; }
  Status Ensure(const std::string&, const std::vector<std::string>&) override { return Status(); }
  Result<std::vector<PlacedWorker>> List() override { return std::vector<PlacedWorker>(); }
  Status Drain(const std::string&) override { return Status(); }
  Status Kill(const std::string&) override { return Status(); }
};

std::unique_ptr<Provider> MakeProvider(const FleetConfig& config, const std::string& server,
                                       const std::stop_token& stop) {
  switch (config.kind) {
    case Kind::kLocal:
      return MakeLocalProvider(config, server);
    case Kind::kSlurm:
      return MakeSlurmProvider(config, server, stop);
    case Kind::kExec:
      return MakeExecProvider(config, server, stop);
    case Kind::kStatic:
      break;
  }
  return std::make_unique<StaticProvider>();
}

// Different for every server, so that its workers' names are.
std::string NewIncarnation() {
  std::random_device device;
  constexpr char kDigits[] = "0123456789abcdefghijklmnopqrstuv";
  std::string text = "b";
  for (int i = 0; i < 7; ++i) text += kDigits[device() % 32];
  return text;
}

std::vector<PoolTerms> TermsOf(const FleetConfig& config) {
  std::vector<PoolTerms> terms;
  for (const PoolConfig& pool : config.pools) terms.push_back(pool.terms);
  return terms;
}

class RunningFleet : public Fleet {
 public:
  RunningFleet(FleetConfig config, std::string server, Links links)
      : config_(std::move(config)),
        server_(std::move(server)),
        links_(std::move(links)),
        logger_(links_.logger),
        planner_(config_.name, NewIncarnation(), TermsOf(config_)),
        thread_([this](const std::stop_token& stop) { Loop(stop); }) {}

  ~RunningFleet() override {
    thread_.request_stop();
    wake_.notify_all();
  }

  void Suspend() override {
    std::unique_lock lock(mutex_);
    held_ = true;
    in_round_.request_stop();
    wake_.wait(lock, [this] { return !busy_; });
  }

 private:
  // The provider lives and dies in this thread: local workers die with the thread that forked them.
  void Loop(const std::stop_token& stop) {
    const std::stop_callback give_up(stop, [this] { in_round_.request_stop(); });
    const std::unique_ptr<Provider> provider =
        MakeProvider(config_, server_, in_round_.get_token());
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      if (!held_) {
        busy_ = true;
        lock.unlock();
        Round(*provider);
        lock.lock();
        busy_ = false;
        wake_.notify_all();
      }
      wake_.wait_for(lock, stop, std::chrono::milliseconds(config_.poll_ms), [] { return false; });
    }
  }

  void Round(Provider& provider) {
    const Demand demand = links_.demand();
    std::optional<std::vector<PlacedWorker>> placed;
    if (provider.places()) {
      Result<std::vector<PlacedWorker>> listed = provider.List();
      Note("list", listed.status());
      if (listed.ok()) placed = *std::move(listed);
    }
    const std::vector<Action> actions = planner_.Plan(demand, placed, links_.clock->SteadyMs());
    std::map<std::string, std::vector<std::string>> starts;
    for (const Action& action : actions) {
      const bool drains = action.kind == Action::Kind::kDrain;
      if (action.kind == Action::Kind::kStart) {
        starts[action.pool].push_back(action.worker);
        continue;
      }
      logger_->info("fleet: worker={} {}: {}", action.worker, drains ? "drained" : "ended",
                    action.why);
      Note("end", drains ? provider.Drain(action.worker) : provider.Kill(action.worker));
    }
    for (const auto& [pool, names] : starts) StartWorkers(provider, pool, names);
    FleetReport report;
    for (const PoolConfig& pool : config_.pools) {
      LogPool(pool.terms.name);
      report.wanted += planner_.View(pool.terms.name).want;
      report.running += planner_.View(pool.terms.name).attached;
    }
    // Without a provider there are people to start what is needed.
    if (provider.places()) report.unserved = planner_.Unserved();
    LogUnserved(report.unserved);
    if (links_.report) links_.report(report);
  }

  void StartWorkers(Provider& provider, const std::string& pool,
                    const std::vector<std::string>& names) {
    logger_->info("fleet: pool {}: {} workers more, {} to {}", pool, names.size(), names.front(),
                  names.back());
    const Status status = provider.Ensure(pool, names);
    Note("start", status);
    if (status.ok()) return;
    // Those that were started before the error are in the next list.
    for (const std::string& name : names) planner_.StartFailed(name, links_.clock->SteadyMs());
  }

  void Note(const std::string& what, const Status& status) {
    const std::string text = status.ok() ? "" : status.message();
    std::string& last = trouble_[what];
    if (text == last) return;
    if (status.ok()) {
      logger_->info("fleet: {}: works again", what);
    } else if (status.code() != StatusCode::kCancelled) {
      logger_->warn("fleet: {}: {}", what, text);
    }
    last = text;
  }

  // Once each; again when it was gone meanwhile.
  void LogUnserved(const std::vector<Needs>& unserved) {
    for (const Needs& needs : unserved) {
      if (unserved_.contains(needs)) continue;
      logger_->warn("fleet: there is work for a worker of {}; no pool has such workers",
                    ToText(needs));
    }
    unserved_ = {unserved.begin(), unserved.end()};
  }

  void LogPool(const std::string& pool) {
    const PoolView& view = planner_.View(pool);
    const std::string text =
        fmt::format("{} wanted, {} placed, {} in contact{}", view.want, view.counted, view.attached,
                    view.failures > 0 ? ", starts fail" : "");
    if (text != logged_[pool]) logger_->info("fleet: pool {}: {}", pool, text);
    logged_[pool] = text;
  }

  const FleetConfig config_;
  const std::string server_;
  const Links links_;
  const std::shared_ptr<spdlog::logger> logger_;
  Planner planner_;
  std::map<std::string, std::string> trouble_;  // by what was tried
  std::map<std::string, std::string> logged_;   // by pool
  std::set<Needs> unserved_;

  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::stop_source in_round_;
  bool held_ = false;
  bool busy_ = false;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace

Result<Kind> ParseKind(const std::string& text) {
  if (text == "local") return Kind::kLocal;
  if (text == "static") return Kind::kStatic;
  if (text == "slurm") return Kind::kSlurm;
  if (text == "exec") return Kind::kExec;
  return InvalidArgument("--fleet " + text + ": expected local, static, slurm or exec");
}

std::unique_ptr<Fleet> Fleet::Start(FleetConfig config, const std::string& address, Links links) {
  const std::string server = config.server.empty() ? address : config.server;
  return std::make_unique<RunningFleet>(std::move(config), server, std::move(links));
}

}  // namespace mlc::server::fleet
