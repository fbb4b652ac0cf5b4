// Writes the log of a made-up job, for the tests of its report in Python.
//   write_tuning_log LOG TRIALS [--hostile]
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/unit/db/report/tuning_log_fixture.h"

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  mlc::report::TuningLogOptions options;
  options.trials = std::atoll(argv[2]);
  options.hostile = argc > 3 && std::string_view(argv[3]) == "--hostile";
  const auto job = mlc::report::WriteTuningLog(argv[1], options);
  if (!job.ok()) {
    std::fprintf(stderr, "%s\n", job.status().ToString().c_str());
    return 1;
  }
  std::printf("%s\n", job->id.ToText().c_str());
  return 0;
}
