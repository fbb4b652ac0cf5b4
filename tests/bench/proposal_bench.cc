// How many configs does a search propose in a second? Real searches of whole jobs on one thread:
// filling the pools, proposing, scoring, fitting the models, learning. The device is a formula that
// answers at once and is not counted.
//   proposal_bench [MODEL.onnx...] [trials=2000] [batch=16] [seed=1] [target=cpu|cuda]
// First jobs of the workloads of one kind, by the families that can compute them; then each model's
// tasks. Per job: CPU time from the first to the last call, its parts, and a digest of all
// that was proposed: the same before and after a change that only makes the search faster.
#include <ctime>

#include <cmath>
#include <cstdio>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "compiler/front/front.h"
#include "compiler/schedule/space/family.h"
#include "server/search/portfolio_strategy.h"
#include "tests/bench/arguments.h"
#include "tests/golden/workloads.h"

namespace mlc::bench {
namespace {

struct Options {
  std::vector<std::string> models;
  int64_t trials = 2000;
  int batch = 16;
  uint64_t seed = 1;
  target::Target target = golden::Avx512();
};

// Of this thread, so that other work on the machine does not count.
double Seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Every knob's value has its factor, every config some noise: there is something to learn, and
// something that cannot be learned.
Measurement Answer(const server::Proposal& proposal) {
  const auto share = [](const std::string& text) {
    return static_cast<double>(DigestOf(text).low % 1024) / 1024;
  };
  double log_ns = std::log(1e5);
  for (const auto& [name, value] : proposal.config.knobs) {
    log_ns += 0.2 * share(proposal.config.family + name + std::to_string(value));
  }
  Measurement m;
  m.outcome = Outcome::kOk;
  m.median_ns = std::exp(log_ns + 0.02 * share(proposal.config.ToText()));
  if (proposal.early_stop_ns > 0 && m.median_ns > proposal.early_stop_ns)
    m.outcome = Outcome::kTooSlow;
  return m;
}

struct Rate {
  int64_t proposed = 0;
  double start_s = 0, propose_s = 0, learn_s = 0;
  std::string texts;
};

class Job {
 public:
  Job(server::SearchInput input, int batch) : trials_(input.trials), batch_(batch) {
    const double start = Seconds();
    strategy_ = server::MakePortfolioStrategy(std::move(input));
    rate_.start_s = Seconds() - start;
  }

  Rate Run() {
    std::deque<std::vector<server::Proposal>> flight;
    flight.push_back(Propose());
    flight.push_back(Propose());
    while (!flight.front().empty()) {
      std::vector<server::Observation> seen;
      for (const server::Proposal& proposal : flight.front()) {
        seen.push_back({proposal, Answer(proposal)});
      }
      flight.pop_front();
      const double start = Seconds();
      strategy_->Learn(seen);
      rate_.learn_s += Seconds() - start;
      flight.push_back(Propose());
    }
    return std::move(rate_);
  }

 private:
  std::vector<server::Proposal> Propose() {
    const int64_t left = trials_ - rate_.proposed;
    if (left <= 0) return {};
    const double start = Seconds();
    auto proposals = strategy_->Propose(static_cast<int>(std::min<int64_t>(batch_, left)));
    rate_.propose_s += Seconds() - start;
    rate_.proposed += static_cast<int64_t>(proposals.size());
    for (const server::Proposal& proposal : proposals) {
      rate_.texts += std::to_string(proposal.task) + proposal.config.ToText() + proposal.arm;
    }
    return proposals;
  }

  const int64_t trials_;
  const int batch_;
  std::unique_ptr<server::Strategy> strategy_;
  Rate rate_;
};

void Print(const std::string& name, std::vector<server::SearchTask> tasks, const Options& options) {
  server::SearchInput input;
  const size_t count = tasks.size();
  input.tasks = std::move(tasks);
  input.target = options.target;
  input.seed = options.seed;
  input.trials = options.trials;
  const Rate rate = Job(std::move(input), options.batch).Run();
  const double running = rate.propose_s + rate.learn_s;
  const auto proposed = static_cast<double>(rate.proposed);
  std::printf("| %s | %zu | %lld | %.0f | %.0f | %.2f | %.2f | %.2f | %s |\n", name.c_str(), count,
              static_cast<long long>(rate.proposed), proposed / (rate.start_s + running),
              proposed / running, rate.start_s, rate.propose_s, rate.learn_s,
              DigestOf(rate.texts).ToText().substr(0, 8).c_str());
  std::fflush(stdout);
}

void PrintKinds(const Options& options) {
  std::map<std::string, std::vector<server::SearchTask>> kinds;
  for (const golden::NamedWorkload& named : golden::AllKinds()) {
    std::string name;
    for (const schedule::Family* family : schedule::FamiliesFor(named.workload, options.target)) {
      name += (name.empty() ? "" : ", ") + std::string(family->name());
    }
    if (!name.empty()) kinds[name].push_back({named.workload, 1, {}});
  }
  for (auto& [name, tasks] : kinds) Print(name, std::move(tasks), options);
}

int PrintModel(const std::string& path, const Options& options) {
  const auto program =
      front::CompileFront(path, {}, front::ForTarget(front::FrontOptions(), options.target));
  if (!program.ok()) {
    std::fprintf(stderr, "proposal_bench: %s\n", program.status().ToString().c_str());
    return 1;
  }
  std::vector<server::SearchTask> tasks;
  for (const graph::Task& task : program->tasks) {
    tasks.push_back({task.workload, static_cast<int>(task.occurrences), {}});
  }
  Print("all of " + path.substr(path.rfind('/') + 1), std::move(tasks), options);
  return 0;
}

int Main(const Options& options) {
  std::printf(
      "| job | tasks | proposals | a second | without the start | start, s | propose, s | "
      "learn, s | digest |\n|---|---|---|---|---|---|---|---|---|\n");
  PrintKinds(options);
  for (const std::string& path : options.models) {
    const int code = PrintModel(path, options);
    if (code != 0) return code;
  }
  return 0;
}

}  // namespace
}  // namespace mlc::bench

int main(int argc, char** argv) {
  mlc::bench::Options options;
  for (const auto& [word, key, value, has_value] : mlc::bench::Arguments(argc, argv)) {
    if (!has_value) {
      options.models.push_back(word);
    } else if (key == "trials") {
      options.trials = std::stoll(value);
    } else if (key == "batch") {
      options.batch = std::stoi(value);
    } else if (key == "seed") {
      options.seed = std::stoull(value);
    } else if (key == "target" && (value == "cpu" || value == "cuda")) {
      options.target = value == "cuda" ? mlc::golden::Hopper() : mlc::golden::Avx512();
    } else {
      std::fprintf(stderr,
                   "usage: proposal_bench [MODEL.onnx...] [trials=N] [batch=N] [seed=N] "
                   "[target=cpu|cuda]\n");
      return 64;
    }
  }
  return mlc::bench::Main(options);
}
