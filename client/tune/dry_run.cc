#include "client/tune/dry_run.h"

#include <iostream>
#include <utility>

#include "base/machine/cpus.h"
#include "client/model/constants.h"
#include "client/model/dims.h"
#include "client/model/tuning_time.h"
#include "client/tune/dry_run_report.h"
#include "client/tune/tune_local.h"
#include "client/tune/tune_request.h"
#include "compiler/schedule/space/family.h"
#include "costmodel/roofline.h"

namespace mlc::client {
namespace {

// Usual for networks of full size.
constexpr int64_t kTrialsOfTask = 64;

void AddTasks(const TuneOptions& options, const target::Target& target, server::ModelInfo model,
              DryRunResult& result) {
  std::vector<costmodel::RooflineInput> work;
  for (const server::TaskInfo& task : model.tasks) {
    work.push_back({task.flops, task.min_bytes, task.narrow});
    if (schedule::FamiliesFor(*task.definition, target).empty()) {
      result.without_kernel.push_back(task.summary);
    }
  }
  result.trials_are_usual = options.trials == 0;
  result.trials = result.trials_are_usual ? kTrialsOfTask * static_cast<int64_t>(model.tasks.size())
                                          : options.trials;
  result.seconds =
      static_cast<double>(result.trials) * SecondsPerTrial(work, target, target::ThreadsFor(0));
  if (options.time_budget_ms > 0) {
    result.seconds = std::min(result.seconds, static_cast<double>(options.time_budget_ms) / 1000);
  }
  result.tasks = std::move(model);
}

}  // namespace

Result<ExitCode> DryRun(const TuneSession& session) {
  TuneOptions options = session.options;
  const target::Target target = MLC_TRY(LocalTargetOf(options));
  DryRunResult result;
  result.model = options.model;
  result.target = target.ClassText();
  graph::onnx::ImportOptions import;
  const DimSizes sizes = MLC_TRY(ParseDimSizes(options.dims, ClassStepsFor(target)));
  // Support of an operator hardly depends on sizes; the tasks below are those of all of them.
  import.dims = sizes.combinations.front();
  import.bounded_shapes = true;
  import.bound_inputs = MLC_TRY(ReadConstants(options.model, options.constants));
  for (size_t i = 0; sizes.varies() && i < sizes.combinations.size(); ++i) {
    result.sizes.push_back(sizes.TextAt(i));
  }
  result.survey = MLC_TRY(graph::onnx::SurveyOnnx(options.model, import));
  if (result.survey.obstacles.empty()) {
    TuneRequest tune = MLC_TRY(TuneRequestOf(options, target));
    AddTasks(options, target, std::move(tune.model), result);
  }
  std::cout << (options.json || options.json_lines ? DryRunJson(result) + "\n" : DryRunText(result))
            << std::flush;
  return result.CanBeTuned() ? ExitCode::kOk : ExitCode::kBadInput;
}

}  // namespace mlc::client
