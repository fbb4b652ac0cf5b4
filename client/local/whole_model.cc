#include "client/local/whole_model.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>
#include <utility>

#include "base/machine/cpus.h"
#include "client/local/build_ahead.h"
#include "client/local/model_programs.h"
#include "client/local/private_folder.h"
#include "client/local/runners_up.h"
#include "compiler/schedule/cuda/user_kernel/user_kernel.h"
#include "db/confirmed_best.h"
#include "db/sqlite/sqlite_log.h"

namespace mlc::client {
namespace {

namespace fs = std::filesystem;
using Clock = ModelPrograms::Clock;

constexpr double kTrySeconds = 0.1;      // of a library that may be faster
constexpr double kDecideSeconds = 0.25;  // of one that would be taken
constexpr int kDeciding = 6;             // timings of one library that the decision is like
constexpr int kKnown = 12;               // configs read of each task
constexpr size_t kMostInRace = 8;        // libraries that one process holds beside the first
// Each build holds a copy of the weights, in memory and in its library.
constexpr int kMostBuilds = 8;
// The comparison that decides agrees with itself within this share.
constexpr double kLeastGain = 0.002;

// Builds that differ in one kernel share the device code of the others: if the user wants no cache,
// in one that ends with them.
std::string CacheFor(const WholeModelOptions& options, const std::string& folder) {
  return options.cubin_cache == "off" ? folder + "/cubins" : options.cubin_cache;
}

class Contest {
 public:
  Contest(const WholeModelOptions& options, std::string folder, std::stop_token stop)
      : options_(options),
        folder_(std::move(folder)),
        stop_(std::move(stop)),
        programs_(
            {options.model_words, options.programs, CacheFor(options, folder_), options.device}),
        end_(Clock::now() + std::chrono::milliseconds(options.budget_ms)) {}

  Result<WholeModelResult> Run() {
    WholeModelResult result;
    base_ = LibraryIn("base");
    const std::string lock_path = folder_ + "/base.lock";
    const Status built =
        programs_.Compile({"--log", options_.log, "--lock", lock_path}, base_, end_, stop_);
    if (built.code() == StatusCode::kDeadlineExceeded) return result;
    MLC_TRY(built);
    lock_ = MLC_TRY(package::LockFile::Parse(MLC_TRY(Read(lock_path))));
    tried_ = RunnersUp(MLC_TRY(Tasks(base_ + "/report.json")), options_.most);
    result.asked = static_cast<int>(tried_.size());
    if (tried_.empty()) return result;
    MLC_TRY(TimeAll());
    result.tried =
        static_cast<int>(std::ranges::count_if(quotients_, [](double q) { return q > 0; }));
    result.before_ms = result.after_ms = first_ms_;
    MLC_TRY(Decide(result));
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

  // All have one name, which is part of their device code.
  std::string LibraryIn(const std::string& name) const {
    return folder_ + "/" + name + "/" + options_.library;
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

  Result<std::string> Build(std::span<const Substitution> made, const std::string& name,
                            Clock::time_point end, const std::stop_token& stop) {
    const Clock::time_point began = Clock::now();
    const std::string library = LibraryIn(name);
    const std::string lock = folder_ + "/" + name + ".lock";
    std::ofstream(lock) << Substituted(lock_, made).ToText();
    MLC_TRY(programs_.Compile({"--locked", lock}, library, end, stop));
    Keep(slowest_build_, Clock::now() - began);
    return library;
  }

  static void Keep(std::atomic<Clock::duration>& slowest, Clock::duration took) {
    Clock::duration known = slowest;
    while (took > known && !slowest.compare_exchange_weak(known, took)) {
    }
  }

  // What the decision is expected to take.
  Clock::duration Reserve() const {
    return slowest_build_.load() + kDeciding * slowest_timing_.load();
  }
  bool IsOver() const { return Clock::now() > end_ - Reserve(); }

  // Of one batch; of one that does not run, each library alone.
  Status TimeBatch(std::span<const Built> batch) {
    const Clock::time_point began = Clock::now();
    std::vector<std::string> libraries;
    for (const Built& one : batch) libraries.push_back(one.library);
    const Result<RaceTimes> times = programs_.Race(base_, libraries, kTrySeconds, end_, stop_);
    Keep(slowest_timing_, (Clock::now() - began) / batch.size());
    if (times.ok()) {
      first_ms_ = times->first_ms;
      for (size_t i = 0; i < batch.size(); ++i) {
        quotients_[batch[i].index] = times->quotients[i];
        if (IsGain(times->quotients[i])) gained_[batch[i].index] = batch[i].library;
      }
      return Status();
    }
    if (times.status().code() == StatusCode::kCancelled) return times.status();
    for (size_t i = 0; batch.size() > 1 && i < batch.size() && !IsOver(); ++i) {
      MLC_TRY(TimeBatch(batch.subspan(i, 1)));
    }
    return Status();
  }

  Status TimeAll() {
    quotients_.assign(tried_.size(), 0);
    const auto builders = static_cast<size_t>(std::clamp(target::UsableCpus() / 2, 1, kMostBuilds));
    BuildAhead builds(tried_.size(), builders,
                      [this](size_t i, const std::stop_token& stop) -> Result<std::string> {
                        if (IsOver()) return Status(StatusCode::kDeadlineExceeded, "no time");
                        return Build({&tried_[i], 1}, std::to_string(i), end_, stop);
                      });
    while (!stop_.stop_requested() && !builds.IsDone() && !IsOver()) {
      const std::vector<Built> batch = builds.Take(kMostInRace, NextLook());
      if (!batch.empty()) MLC_TRY(TimeBatch(batch));
      for (const Built& one : batch) {
        if (!gained_.contains(one.index)) Remove(one.library);
      }
    }
    return stop_.stop_requested() ? Status(StatusCode::kCancelled, "interrupted") : Status();
  }

  // An interrupt is seen soon, and the end of the time.
  Clock::time_point NextLook() const {
    return std::min(end_ - Reserve(), Clock::now() + std::chrono::milliseconds(100));
  }

  static void Remove(const std::string& library) {
    std::error_code ignored;
    fs::remove_all(fs::path(library).parent_path(), ignored);
  }

  // Gains need not add up: all of them together, the larger half and the largest alone, whose
  // library is there, in turns with what they replace.
  Status Decide(WholeModelResult& result) {
    const std::vector<size_t> gains = Gains(tried_, quotients_);
    if (gains.empty()) return Status();
    const Clock::time_point end = std::max(end_, Clock::now()) + 2 * Reserve();
    std::vector<std::vector<size_t>> sets;
    std::vector<std::string> libraries;
    for (const size_t size : {gains.size(), (gains.size() + 1) / 2, size_t{1}}) {
      if (!sets.empty() && size == sets.back().size()) continue;
      sets.emplace_back(gains.begin(), gains.begin() + static_cast<std::ptrdiff_t>(size));
    }
    MLC_TRY(BuildSets(sets, end, libraries));
    const RaceTimes times = MLC_TRY(programs_.Race(base_, libraries, kDecideSeconds, end, stop_));
    result.before_ms = result.after_ms = times.first_ms;
    size_t best = sets.size();
    double least = 1 - kLeastGain;
    for (size_t i = 0; i < sets.size(); ++i) {
      const double quotient = times.quotients[i];
      if (quotient <= 0 || quotient >= least) continue;
      least = quotient;
      best = i;
    }
    if (best == sets.size()) return Status();
    result.after_ms = times.first_ms * least;
    result.taken = static_cast<int>(sets[best].size());
    return Store(sets[best]);
  }

  Status BuildSets(const std::vector<std::vector<size_t>>& sets, Clock::time_point end,
                   std::vector<std::string>& libraries) {
    std::vector<Result<std::string>> built(sets.size(), Unavailable("not built"));
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < sets.size(); ++i) {
      threads.emplace_back([this, &sets, &built, end, i] {
        std::vector<Substitution> made;
        for (const size_t gain : sets[i]) made.push_back(tried_[gain]);
        if (made.size() == 1) {
          built[i] = gained_.at(sets[i][0]);
          return;
        }
        built[i] = Build(made, "set" + std::to_string(i), end, stop_);
      });
    }
    threads.clear();
    for (const Result<std::string>& one : built) libraries.push_back(MLC_TRY(one));
    return Status();
  }

  Status Store(const std::vector<size_t>& gains) const {
    const std::unique_ptr<db::TuningLog> log = MLC_TRY(db::OpenSqliteLog(options_.log));
    const int64_t now_us = std::chrono::duration_cast<std::chrono::microseconds>(
                               std::chrono::system_clock::now().time_since_epoch())
                               .count();
    for (const size_t i : gains) {
      const double gain_ms = first_ms_ * (1 - quotients_[i]);
      MLC_TRY(db::AppendAndWait(*log, RecordOf(tried_[i], gain_ms, options_.job, now_us)));
    }
    return Status();
  }

  const WholeModelOptions& options_;
  const std::string folder_;
  const std::stop_token stop_;
  const ModelPrograms programs_;
  const Clock::time_point end_;
  std::string base_;  // library of the configs in use
  double first_ms_ = 0;
  package::LockFile lock_;
  std::vector<Substitution> tried_;
  std::vector<double> quotients_;         // of the model with each of tried_; 0: not timed
  std::map<size_t, std::string> gained_;  // libraries with those of tried_ that gained
  std::atomic<Clock::duration> slowest_build_ = Clock::duration(0);
  // Of a library in a race.
  std::atomic<Clock::duration> slowest_timing_ = Clock::duration(0);
};

}  // namespace

Result<WholeModelResult> TryInWholeModel(const WholeModelOptions& options,
                                         const std::stop_token& stop) {
  const Clock::time_point began = Clock::now();
  const PrivateFolder folder = MLC_TRY(PrivateFolder::Create(FolderForTemporaries()));
  WholeModelResult result = MLC_TRY(Contest(options, folder.path(), stop).Run());
  result.seconds = std::chrono::duration<double>(Clock::now() - began).count();
  return result;
}

}  // namespace mlc::client
