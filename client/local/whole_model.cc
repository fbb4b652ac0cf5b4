#include "client/local/whole_model.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <queue>
#include <sstream>
#include <thread>
#include <utility>

#include "base/machine/cpus.h"
#include "base/process/command.h"
#include "client/local/embedded_server.h"
#include "client/local/private_folder.h"
#include "client/local/runners_up.h"
#include "compiler/schedule/cuda/user_kernel/user_kernel.h"
#include "db/confirmed_best.h"
#include "db/sqlite/sqlite_log.h"

namespace mlc::client {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using server::fleet::RunChecked;

constexpr int64_t kBuildMs = 120'000;
constexpr int64_t kRunMs = 30'000;
constexpr char kSeconds[] = "0.2";  // of one timing
constexpr int kRounds = 3;          // of the comparison that decides
constexpr int kKnown = 12;          // configs read of each task
// Each build holds a copy of the weights, in memory and in its library.
constexpr int kMostBuilds = 8;
// The comparison that decides agrees with itself within this share.
constexpr double kLeastGain = 0.002;

struct Built {
  size_t index;
  std::string library;  // empty: it could not be built
};

class Contest {
 public:
  Contest(const WholeModelOptions& options, std::string folder, std::stop_token stop)
      : options_(options), folder_(std::move(folder)), stop_(std::move(stop)) {}

  Result<WholeModelResult> Run() {
    const auto end = Clock::now() + std::chrono::milliseconds(options_.budget_ms);
    const std::string base = folder_ + "/base";
    const std::string lock_path = base + ".lock";
    MLC_TRY(Compile({"--log", options_.log, "--lock", lock_path}, base));
    lock_ = MLC_TRY(package::LockFile::Parse(MLC_TRY(Read(lock_path))));
    tried_ = RunnersUp(MLC_TRY(Tasks(base + "/report.json")), options_.most);
    WholeModelResult result;
    if (tried_.empty()) return result;
    const double first_ms = MLC_TRY(Latency(base));
    MLC_TRY(TimeAll(end));
    result.tried = static_cast<int>(std::ranges::count_if(ms_, [](double ms) { return ms > 0; }));
    MLC_TRY(Decide(base, first_ms, result));
    return result;
  }

 private:
  static Result<std::string> Read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file) return Unavailable("cannot read '" + path + "'");
    return text.str();
  }

  std::string Program(const std::string& name) const {
    return options_.programs.empty() ? ProgramBeside(name) : options_.programs + "/" + name;
  }

  Status Compile(const std::vector<std::string>& source, const std::string& library) const {
    server::fleet::Command command{{Program("mlc-compile")}, {}, {}, kBuildMs};
    for (const auto* words : {&options_.model_words, &source}) {
      command.words.insert(command.words.end(), words->begin(), words->end());
    }
    // What follows runs here, without a sandbox and without a question: no user-supplied kernel of
    // the log.
    command.words.insert(command.words.end(),
                         {"--user-kernels", "off", "--weights", "file", "-o", library});
    return RunChecked(command, stop_).status();
  }

  // Median latency in ms.
  Result<double> Latency(const std::string& library) const {
    const std::string said =
        MLC_TRY(RunChecked({{Program("mlc-run"), library, "--device",
                             std::to_string(options_.device), "--bench", kSeconds, "--json"},
                            {},
                            {},
                            kRunMs},
                           stop_));
    const auto json = nlohmann::json::parse(said, nullptr, false);
    const auto ms = json.is_object() ? json.value("/latency_ms/median"_json_pointer, 0.0) : 0.0;
    if (ms <= 0) return Internal("mlc-run reported no latency of '" + library + "'");
    return ms;
  }

  Result<std::vector<HeavyTask>> Tasks(const std::string& report) const {
    const auto json = nlohmann::json::parse(MLC_TRY(Read(report)), nullptr, false);
    const std::unique_ptr<db::TuningLog> log = MLC_TRY(db::OpenSqliteLogForReading(options_.log));
    std::vector<HeavyTask> tasks;
    for (const auto& entry : json.value("tasks", nlohmann::json::array())) {
      HeavyTask task;
      task.workload = MLC_TRY(Digest::Parse(entry.value("workload", "")));
      task.uses = entry.value("occurrences", 1);
      const auto choice = lock_.choices.find(task.workload);
      if (choice == lock_.choices.end()) continue;
      task.ns = choice->second.expected_ns;
      task.config = choice->second.config.ToText();
      task.known = MLC_TRY(db::BestConfigs(
          *log, task.workload, lock_.target_class, kKnown,
          [](const db::Record& record) { return !schedule::IsUserKernel(record.config); }));
      tasks.push_back(std::move(task));
    }
    return tasks;
  }

  Result<std::string> Build(std::span<const Substitution> made, const std::string& name) const {
    const std::string library = folder_ + "/" + name;
    const std::string lock = library + ".lock";
    std::ofstream(lock) << Substituted(lock_, made).ToText();
    MLC_TRY(Compile({"--locked", lock}, library));
    return library;
  }

  // Builds run beside the timings, no more of them ahead than there are builders.
  Status TimeAll(Clock::time_point end) {
    ms_.assign(tried_.size(), 0);
    const auto builders = static_cast<size_t>(std::clamp(target::UsableCpus() / 2, 1, kMostBuilds));
    std::atomic<size_t> next = 0;
    std::mutex mutex;
    std::condition_variable changed;
    std::queue<Built> built;
    size_t at_work = builders;
    const auto build = [&] {
      for (size_t i = next++; i < tried_.size(); i = next++) {
        if (stop_.stop_requested() || Clock::now() > end) break;
        const Result<std::string> library = Build({&tried_[i], 1}, std::to_string(i));
        std::unique_lock lock(mutex);
        built.push({i, library.ok() ? *library : std::string()});
        changed.notify_all();
        changed.wait(lock, [&] { return built.size() < builders; });
      }
      const std::lock_guard lock(mutex);
      --at_work;
      changed.notify_all();
    };
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < builders; ++i) threads.emplace_back(build);
    while (true) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return !built.empty() || at_work == 0; });
      if (built.empty()) break;
      const Built one = std::move(built.front());
      built.pop();
      changed.notify_all();
      lock.unlock();
      if (one.library.empty()) continue;
      if (!stop_.stop_requested() && Clock::now() < end) {
        const Result<double> ms = Latency(one.library);
        ms_[one.index] = ms.ok() ? *ms : 0;
      }
      std::error_code ignored;
      fs::remove_all(one.library, ignored);
    }
    return stop_.stop_requested() ? Status(StatusCode::kCancelled, "interrupted") : Status();
  }

  // All gains together, in turns with what they replace; if they do not add, the largest alone.
  Status Decide(const std::string& base, double first_ms, WholeModelResult& result) {
    result.before_ms = result.after_ms = first_ms;
    std::vector<size_t> gains = Gains(tried_, ms_, first_ms);
    while (!gains.empty()) {
      std::vector<Substitution> made;
      for (const size_t i : gains) made.push_back(tried_[i]);
      const std::string library = MLC_TRY(Build(made, "all" + std::to_string(gains.size())));
      double before = MLC_TRY(Latency(base));
      double after = MLC_TRY(Latency(library));
      for (int round = 1; round < kRounds; ++round) {
        before = std::min(before, MLC_TRY(Latency(base)));
        after = std::min(after, MLC_TRY(Latency(library)));
      }
      result.before_ms = result.after_ms = before;
      if (after < before * (1 - kLeastGain)) {
        result.after_ms = after;
        result.taken = static_cast<int>(made.size());
        return Keep(gains, first_ms);
      }
      gains.erase(gains.begin() + (gains.size() > 1 ? 1 : 0), gains.end());
    }
    return Status();
  }

  Status Keep(const std::vector<size_t>& gains, double first_ms) const {
    const std::unique_ptr<db::TuningLog> log = MLC_TRY(db::OpenSqliteLog(options_.log));
    const int64_t now_us = std::chrono::duration_cast<std::chrono::microseconds>(
                               std::chrono::system_clock::now().time_since_epoch())
                               .count();
    for (const size_t i : gains) {
      MLC_TRY(
          db::AppendAndWait(*log, RecordOf(tried_[i], first_ms - ms_[i], options_.job, now_us)));
    }
    return Status();
  }

  const WholeModelOptions& options_;
  const std::string folder_;
  const std::stop_token stop_;
  package::LockFile lock_;
  std::vector<Substitution> tried_;
  std::vector<double> ms_;  // of the model with each of tried_; 0: not timed
};

}  // namespace

Result<WholeModelResult> TryInWholeModel(const WholeModelOptions& options,
                                         const std::stop_token& stop) {
  const PrivateFolder folder = MLC_TRY(PrivateFolder::Create(FolderForTemporaries()));
  return Contest(options, folder.path(), stop).Run();
}

}  // namespace mlc::client
