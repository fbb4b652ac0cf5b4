#include "tests/bench/gpu_trials.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/machine/cpus.h"
#include "worker/devices.h"
#include "worker/local_trial.h"

namespace mlc::bench {

Result<target::Target> TypicalH200() {
  return target::Target::Parse(
      "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560 fma_gflops=60000 "
      "tensor_gflops=800000 copy_gbps=4350");
}

Result<std::unique_ptr<worker::Engine>> FirstGpu(bool user_kernels) {
  worker::WorkerOptions options;
  options.gpus = MLC_TRY(worker::FindGpus());
  options.gpus.resize(1);
  options.cpu = false;
  options.allow_user_kernels = user_kernels;
  options.builders = target::UsableCpus();
  options.target = target::DetectHost(options.builders);
  options.target.fma_gflops = 1;
  const char* sandbox = std::getenv("MLC_TEST_SANDBOX");
  options.sandbox = sandbox == nullptr || std::string_view(sandbox) != "off";
  return worker::CreateEngine(options);
}

std::map<std::string, Measurement> Measure(worker::Engine& engine, const std::string& workload,
                                           const std::vector<std::string>& configs) {
  std::map<std::string, Measurement> results;
  const size_t most_held = 4 * static_cast<size_t>(target::UsableCpus());
  size_t next = 0;
  while (next < configs.size() || engine.held() > 0) {
    for (; next < configs.size() && engine.held() < most_held; ++next) {
      engine.Add({{1, next}, workload, configs[next], 7, 0, 0});
    }
    engine.Work(1000, -1);
    for (worker::TrialResult& result : engine.TakeResults()) {
      results[configs[result.uid.low]] = std::move(result.measurement);
    }
  }
  return results;
}

Status ForProblems(const std::vector<Problem>& problems, const std::vector<std::string>& names,
                   const std::function<Status(const Problem&, const graph::Workload&)>& body) {
  for (const Problem& problem : problems) {
    const bool wanted =
        names.empty() || std::any_of(names.begin(), names.end(), [&](const auto& name) {
          return problem.name.find(name) != std::string::npos;
        });
    if (!wanted) continue;
    const graph::Workload workload = MLC_TRY(graph::Workload::Parse(problem.workload));
    MLC_TRY(body(problem, workload));
  }
  return {};
}

}  // namespace mlc::bench
