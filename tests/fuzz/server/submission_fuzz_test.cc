// No text that somebody may submit makes the server fall, stall or fill memory: every text goes the
// whole way, from the request to the first proposal of the real search, in a child process of
// limited memory and time, while a worker of another job calls. Seeded: a failure prints the text.
#include <gtest/gtest.h>
#include <spdlog/sinks/null_sink.h>
#include <spdlog/spdlog.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <future>
#include <mutex>
#include <thread>

#include "base/rng.h"
#include "base/wire/protocol.h"
#include "server/search/portfolio_strategy.h"
#include "tests/fuzz/server/hostile_workloads.h"
#include "tests/golden/workloads.h"
#include "tests/support/db/memory_log.h"
#include "tests/support/server/wire_tuner.h"

namespace mlc::server {
namespace {

// Of one text. Much more than any takes: a stalled server would stay so.
constexpr unsigned kMostSeconds = 60;
constexpr rlim_t kMostMemory = rlim_t{3} << 30;
constexpr size_t kShownText = 4000;

// Why a child ended that did not end well.
enum Verdict : int { kWell = 0, kSlowCalls = 3, kOwnFault = 4, kNoEnd = 5 };

// What the parent shows of a child that has died.
struct Shared {
  char name[200];
  char text[kShownText];
  int refused;
  int opened;
};

// Tells when the search has made its first proposal.
class Opened {
 public:
  void Set() {
    std::lock_guard lock(mutex_);
    is_set_ = true;
    changed_.notify_all();
  }
  bool TakeWithin(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, time, [this] { return is_set_; });
    return std::exchange(is_set_, false);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_set_ = false;
};

class ToldStrategy : public Strategy {
 public:
  ToldStrategy(std::unique_ptr<Strategy> real, Opened& opened)
      : real_(std::move(real)), opened_(opened) {}
  std::vector<Proposal> Propose(int count) override {
    std::vector<Proposal> proposals = real_->Propose(count);
    opened_.Set();
    return proposals;
  }
  void Learn(std::span<const Observation> batch) override { real_->Learn(batch); }
  bool Done() const override { return real_->Done(); }
  std::string WhyDone() const override { return real_->WhyDone(); }
  std::vector<TaskProgress> Progress() const override { return real_->Progress(); }
  std::vector<SavedModel> Models() const override { return real_->Models(); }

 private:
  std::unique_ptr<Strategy> real_;
  Opened& opened_;
};

class Bench {
 public:
  explicit Bench(Shared& shared) : shared_(shared) {
    TunerOptions options;
    options.logger =
        std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::null_sink_mt>());
    options.strategy = [this](SearchInput input) {
      return std::make_unique<ToldStrategy>(MakePortfolioStrategy(std::move(input)), opened_);
    };
    tuner_ = std::make_unique<WireTuner>(*log_, std::move(options));
    if (!tuner_->Start().ok()) _exit(kOwnFault);
    for (const target::Target& target : {golden::Avx512(), golden::Hopper()}) Call(target);
    heart_ = std::thread([this] { Beat(); });
  }
  ~Bench() {
    stopping_ = true;
    heart_.join();
  }

  void Try(const std::string& text, const target::Target& target) {
    alarm(kMostSeconds);
    proto::SubmitJobRequest request;
    proto::Task& task = *request.add_tasks();
    const Result<graph::Workload> workload = graph::Workload::Parse(text);
    // As a hostile client would: in the form that the server takes.
    task.set_workload(workload.ok() ? workload->ToText() : text);
    task.set_occurrences(1);
    request.set_target(target.ToText());
    request.mutable_options()->set_trials(10);
    request.mutable_options()->set_fresh(true);
    const auto reply = tuner_->Submit(request, {"eve", Role::kSubmit, false});
    if (!reply.ok()) {
      ++shared_.refused;
      if (reply.status().code() == StatusCode::kInternal) _exit(kOwnFault);
      return;
    }
    // Ended, when it has nothing to propose.
    while (!opened_.TakeWithin(std::chrono::milliseconds(20))) {
      if (tuner_->Progress(reply->job())->state() != proto::RUNNING) break;
    }
    if (tuner_->Progress(reply->job())->state() == proto::FAILED) {
      const std::string why = tuner_->Progress(reply->job())->detail();
      std::strncpy(shared_.name + std::strlen(shared_.name), why.c_str(), 100);
      _exit(kOwnFault);
    }
    ++shared_.opened;
    (void)tuner_->Cancel(reply->job(), Caller::Local());
    Call(target);
  }

 private:
  void Call(const target::Target& target) {
    proto::SynchronizeRequest request;
    request.set_protocol(kWireProtocol);
    request.set_worker(target.As<target::GpuTarget>() != nullptr ? "gpu" : "cpu");
    request.set_incarnation("1");
    request.set_build("test");
    request.set_target(target.ToText());
    std::promise<void> answered;
    tuner_->Synchronize(request,
                        [&](const Result<proto::SynchronizeReply>&) { answered.set_value(); });
    // A lease lasts longer, so that nobody loses work by it.
    const auto limit = std::chrono::seconds(10);
    if (answered.get_future().wait_for(limit) != std::future_status::ready) _exit(kSlowCalls);
  }
  void Beat() {
    while (!stopping_) Call(golden::Avx512());
  }

  Shared& shared_;
  Opened opened_;
  std::unique_ptr<db::TuningLog> log_ = db::MakeMemoryLog();
  std::unique_ptr<WireTuner> tuner_;
  std::atomic<bool> stopping_ = false;
  std::thread heart_;
};

// Tries the texts in a child; false after a failure, which it reports.
class SubmissionFuzz : public ::testing::Test {
 protected:
  SubmissionFuzz() {
    void* memory =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shared_ = new (memory) Shared{};
  }
  ~SubmissionFuzz() override { munmap(shared_, sizeof(Shared)); }

  bool Survives(const std::vector<Hostile>& texts) {
    const pid_t child = fork();
    if (child == 0) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
      const rlimit memory{kMostMemory, kMostMemory};
      (void)setrlimit(RLIMIT_AS, &memory);
#endif
      {
        Bench bench(*shared_);
        for (const Hostile& hostile : texts) {
          for (const target::Target& target : {golden::Avx512(), golden::Hopper()}) {
            std::snprintf(shared_->name, sizeof(shared_->name) / 2,
                          "%s on %s: ", hostile.name.c_str(),
                          target.As<target::GpuTarget>() != nullptr ? "cuda" : "cpu");
            std::strncpy(shared_->text, hostile.text.c_str(), kShownText - 1);
            bench.Try(hostile.text, target);
          }
        }
      }
      _exit(kWell);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == kWell) return true;
    ADD_FAILURE() << shared_->name << "\n"
                  << (WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "ended with ")
                  << (WIFEXITED(status) ? std::to_string(WEXITSTATUS(status)) : "") << "\n"
                  << shared_->text;
    return false;
  }

  // In children of so many texts each, so that a new one costs little.
  void AllSurvive(const std::vector<Hostile>& texts, size_t at_a_time) {
    int failures = 0;
    for (size_t from = 0; from < texts.size() && failures < 10; from += at_a_time) {
      const size_t to = std::min(texts.size(), from + at_a_time);
      const auto begin = texts.begin() + static_cast<std::ptrdiff_t>(from);
      if (Survives({begin, texts.begin() + static_cast<std::ptrdiff_t>(to)})) continue;
      ++failures;
    }
  }

  Shared* shared_ = nullptr;
};

std::string Mutate(std::string text, const std::vector<Hostile>& others, Rng& rng) {
  static constexpr std::string_view kPieces[] = {"0",   "-1",  "1",    "2",    "1048576", "4096",
                                                 "f16", "i64", "bool", "f64",  "i8",      "%0",
                                                 "%1",  "max", "mean", "wrap", "linear",  "7"};
  const uint64_t edits = 1 + rng.Below(3);
  for (uint64_t i = 0; i < edits; ++i) {
    const size_t at = text.find_first_of("0123456789", rng.Below(text.size()));
    if (at == std::string::npos) continue;
    if (rng.Below(3) == 0) {
      const std::string& other = others[rng.Below(others.size())].text;
      text.insert(at, other.substr(rng.Below(other.size()), rng.Below(80)));
    } else if (rng.Below(2) == 0) {
      text[at] = static_cast<char>('0' + rng.Below(10));
    } else {
      text.replace(at, 1, kPieces[rng.Below(std::size(kPieces))]);
    }
  }
  return text;
}

// Every whole number of a text that stands there more than once becomes another one, everywhere:
// most mutations of a single digit break a rule of shapes.
std::string Resize(std::string text, Rng& rng) {
  static constexpr const char* kSizes[] = {"0",   "1",    "2",    "3",     "5",
                                           "7",   "8",    "16",   "31",    "64",
                                           "127", "1000", "4096", "65536", "1048576"};
  std::set<std::string> numbers;
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t open = text.find_first_of("[,", i);
    if (open == std::string::npos) break;
    const size_t end = text.find_first_not_of("0123456789", open + 1);
    if (end > open + 1 && end != std::string::npos) {
      numbers.insert(text.substr(open + 1, end - open - 1));
    }
    i = open;
  }
  if (numbers.empty()) return text;
  auto chosen = numbers.begin();
  std::advance(chosen, rng.Below(numbers.size()));
  const std::string to = kSizes[rng.Below(std::size(kSizes))];
  for (size_t at = text.find(*chosen); at != std::string::npos; at = text.find(*chosen, at)) {
    const bool whole =
        (at == 0 || text[at - 1] == '[' || text[at - 1] == ',' || text[at - 1] == '{') &&
        !std::isdigit(static_cast<unsigned char>(text[at + chosen->size()]));
    if (whole) text.replace(at, chosen->size(), to);
    at += whole ? to.size() : chosen->size();
  }
  return text;
}

TEST_F(SubmissionFuzz, HostileWorkloadsAreRefusedOrOpened) {
  const std::vector<Hostile> texts = HostileWorkloads();
  AllSurvive(texts, 1);
  EXPECT_GT(shared_->refused, 40);
  EXPECT_GT(shared_->opened, 20);
}

TEST_F(SubmissionFuzz, OddWorkloadsAreRefusedOrOpened) {
  AllSurvive(OddWorkloads(), 20);
  EXPECT_GT(shared_->opened, 500);
}

TEST_F(SubmissionFuzz, MutatedWorkloadsAreRefusedOrOpened) {
  std::vector<Hostile> seeds;
  for (const golden::NamedWorkload& kind : golden::AllKinds()) {
    seeds.push_back({kind.name, kind.workload.ToText()});
  }
  const std::vector<Hostile> odd = OddWorkloads();
  Rng rng(20261124);
  std::vector<Hostile> texts;
  for (int round = 0; round < 5000; ++round) {
    // Half of the golden ones, whose spaces are the large ones.
    const std::vector<Hostile>& from = rng.Below(2) == 0 ? seeds : odd;
    const Hostile& seed = from[rng.Below(from.size())];
    const std::string text =
        rng.Below(2) == 0 ? Resize(seed.text, rng) : Mutate(seed.text, seeds, rng);
    // Only what parses costs more than its reading.
    if (round % 10 == 0 || graph::Workload::Parse(text).ok()) {
      texts.push_back({"round " + std::to_string(round), text});
    }
  }
  AllSurvive(texts, 20);
  EXPECT_GT(shared_->opened, 200);
}

}  // namespace
}  // namespace mlc::server
