// Does a server of a year cost more than a new one? Takes a year's names of workers through a real
// tuner on a real log, a sample of its jobs, and a log with the rows of all its jobs and a sample
// of its records; after a tenth, three tenths and all of it, prints one JSON object a line: what is
// kept in memory, what a look at the clock costs, how long a start takes, and how many steps
// SQLite makes for the statement that makes most. The clock jumps from day to day.
//   year_bench FOLDER [records=1000000] [jobs=100000] [names=1000000] [run=365]
#include <malloc.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/steady_time.h"
#include "db/sqlite/sqlite_log.h"
#include "tests/bench/arguments.h"
#include "tests/bench/measuring.h"
#include "tests/unit/db/statement_counts.h"
#include "tests/unit/server/tuner/year.h"

namespace mlc::bench {
namespace {

constexpr int kDays = 365;
constexpr double kIdleSeconds = 2;
constexpr double kTicksASecond = 5;
// Of an index's page: entries of some 40 bytes, two thirds full.
constexpr double kEntriesAPage = 4096 * 2.0 / 3 / 40;
constexpr double kRecordsOfTheYear = 1e8;

struct Scale {
  int64_t records = 1'000'000;
  int64_t jobs = 100'000;
  int64_t names = 1'000'000;
  int64_t run = kDays;  // jobs that really run, one a day
};

double ResidentMiB() {
  std::ifstream file("/proc/self/statm");
  double pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * 4 / 1024;
}

// CPU time of one look at the clock while nothing happens.
double TickMs() {
  const std::clock_t start = std::clock();
  std::this_thread::sleep_for(std::chrono::duration<double>(kIdleSeconds));
  const double took = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  return 1e3 * took / (kIdleSeconds * kTicksASecond);
}

double Depth(double rows) { return std::ceil(std::log(rows) / std::log(kEntriesAPage)); }

struct Reads {
  double start_ms = 0;
  double job_ms = 0;  // one job, run and answered, with all that people ask
  int64_t scanned = 0;
  double steps = 0;  // of the statement with the most, in one run of it
  std::string statement;
};

// A server's start on the log, a job, and what people and builds ask.
bool Read(const std::string& path, int64_t first_job, Reads& reads) {
  (void)db::StatementCounts::Take();
  const double begin = NowSeconds();
  auto log = db::OpenSqliteLog(path);
  if (!log.ok()) {
    std::fprintf(stderr, "year_bench: %s\n", log.status().ToString().c_str());
    return false;
  }
  {
    server::Year year(**log, first_job);
    reads.start_ms = 1e3 * (NowSeconds() - begin);
    const double job = NowSeconds();
    if (!year.Day(1, 1) || !year.Ask()) return false;
    reads.job_ms = 1e3 * (NowSeconds() - job);
  }
  log->reset();
  for (const auto& [text, count] : db::StatementCounts::Take()) {
    reads.scanned += count.scanned;
    if (count.steps_a_run() <= reads.steps) continue;
    reads.steps = count.steps_a_run();
    reads.statement = text.size() <= 80 ? text : "... " + text.substr(text.size() - 80);
  }
  return true;
}

void Print(double part, const Scale& scale, server::Year& year, const Reads& reads) {
  const server::TunerCounts counts = year.tuner().Count();
  std::printf(
      "{\"part\": %.1f, \"names\": %.0f, \"jobs\": %.0f, \"records\": %.0f, \"kept_names\": %lld, "
      "\"kept_of_jobs\": %lld, \"heap_mib\": %.1f, \"resident_mib\": %.1f, \"tick_ms\": %.3f, "
      "\"next_poll_ms\": %lld, \"start_ms\": %.1f, \"job_and_questions_ms\": %.1f, "
      "\"rows_scanned\": %lld, \"most_steps\": %.0f, \"of\": \"%s\", \"index_levels\": %.0f, "
      "\"index_levels_of_the_year\": %.0f}\n",
      part, part * static_cast<double>(scale.names), part * static_cast<double>(scale.jobs),
      part * static_cast<double>(scale.records), static_cast<long long>(counts.workers),
      static_cast<long long>(counts.jobs + counts.trials + counts.shares),
      static_cast<double>(mallinfo2().uordblks) / (1 << 20), ResidentMiB(), TickMs(),
      static_cast<long long>(year.NextPollMs()), reads.start_ms, reads.job_ms,
      static_cast<long long>(reads.scanned), reads.steps, reads.statement.c_str(),
      Depth(part * static_cast<double>(scale.records)), Depth(part * kRecordsOfTheYear));
  std::fflush(stdout);
}

int Run(const std::string& folder, const Scale& scale) {
  db::StatementCounts::Start();
  const std::string rows = folder + "/year-rows.db";
  const std::string live = folder + "/year-live.db";
  for (const std::string& path : {rows, live}) {
    for (const char* suffix : {"", "-wal", "-shm", ".lock"}) std::filesystem::remove(path + suffix);
  }
  auto log = db::OpenSqliteLog(live);
  if (!log.ok()) return 1;
  server::Year year(**log);
  server::YearRows filled;
  int day = 0;
  for (const double part : {0.1, 0.3, 1.0}) {
    const int until = static_cast<int>(part * kDays);
    for (; day < until; ++day) {
      const bool runs = (day + 1) * scale.run / kDays > day * scale.run / kDays;
      if (!year.Day(static_cast<int>(scale.names / kDays), runs ? 1 : 0)) return 1;
    }
    const server::YearRows to = {static_cast<int64_t>(part * static_cast<double>(scale.records)),
                                 static_cast<int64_t>(part * static_cast<double>(scale.jobs))};
    const Status status = server::FillYear(rows, filled, to);
    if (!status.ok()) {
      std::fprintf(stderr, "year_bench: %s\n", status.ToString().c_str());
      return 1;
    }
    filled = to;
    Reads reads;
    if (!Read(rows, to.jobs, reads)) return 1;
    Print(part, scale, year, reads);
  }
  return 0;
}

int Main(int argc, char** argv) {
  Scale scale;
  const std::map<std::string, int64_t*> figures = {{"records", &scale.records},
                                                   {"jobs", &scale.jobs},
                                                   {"names", &scale.names},
                                                   {"run", &scale.run}};
  std::string folder;
  for (const Argument& argument : Arguments(argc, argv)) {
    const auto figure = figures.find(argument.key);
    if (argument.has_value && figure != figures.end()) {
      *figure->second = std::atoll(argument.value.c_str());
    } else {
      folder = argument.word;
    }
  }
  if (folder.empty()) {
    std::fprintf(stderr,
                 "usage: year_bench FOLDER [records=1000000] [jobs=100000] [names=1000000] "
                 "[run=365]\n");
    return 2;
  }
  return Run(folder, scale);
}

}  // namespace
}  // namespace mlc::bench

int main(int argc, char** argv) { return mlc::bench::Main(argc, argv); }
