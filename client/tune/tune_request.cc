#include "client/tune/tune_request.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/machine/cpus.h"
#include "client/model/constants.h"
#include "client/model/dims.h"
#include "client/model/model_variants.h"
#include "client/progress/model_info.h"
#include "client/target/auto_target.h"
#include "client/tune/cuda_kernel.h"
#include "client/tune/kernel_file.h"
#include "client/tune/submit_request.h"
#include "compiler/front/front.h"

namespace mlc::client {
namespace {

Result<ModelTasks> ReadModel(const TuneOptions& options, const target::Target& target) {
  const DimSizes sizes = MLC_TRY(ParseDimSizes(options.dims, ClassStepsFor(target)));
  front::FrontOptions front;
  front.precision = MLC_TRY(graph::ParsePrecision(options.precision));
  front.tolerance = options.tolerance;
  front.skip = {options.skipped_passes.begin(), options.skipped_passes.end()};
  const Constants constants = MLC_TRY(ReadConstants(options.model, options.constants));
  return TasksOfModel(options.model, sizes, constants, front::ForTarget(std::move(front), target),
                      target);
}

}  // namespace

int ThreadsOf(const TuneOptions& options) { return target::ThreadsFor(options.threads); }

std::string UserName() {
  const passwd* user = getpwuid(geteuid());
  std::string name = user == nullptr ? std::to_string(geteuid()) : user->pw_name;
  for (char& c : name) {
    if (isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-') c = '_';
  }
  return name.substr(0, 64);
}

namespace {

Result<TuneRequest> RequestOfKernel(const TuneOptions& options, const target::Target& target) {
  const KernelFile file = MLC_TRY(ReadKernelFile(options));
  MLC_TRY(CheckKernelTarget(file.spec, options, target));
  TuneRequest tune;
  tune.searches = false;
  tune.model = InfoOf(file.tasks);
  *tune.request.mutable_job() = SubmitRequestOf(options, file.tasks, target, UserName());
  tune.request.set_specification(file.spec.ToText());
  return tune;
}

}  // namespace

Status SetKernelTarget(TuneOptions& options) {
  if (options.kernel.empty() || options.target != kAutoTarget) return Status();
  options.target = MLC_TRY(TargetOfKernel(options));
  return Status();
}

Result<TuneRequest> TuneRequestOf(const TuneOptions& options, const target::Target& target) {
  if (!options.kernel.empty()) return RequestOfKernel(options, target);
  const ModelTasks tasks =
      MLC_TRY(options.is_raw() ? ReadWorkload(options) : ReadModel(options, target));
  TuneRequest tune;
  tune.searches = !options.is_raw();
  tune.model = InfoOf(tasks);
  *tune.request.mutable_job() = SubmitRequestOf(options, tasks, target, UserName());
  if (options.is_raw()) {
    *tune.request.mutable_kernel() = MLC_TRY(ReadCudaKernel(options, target));
  }
  return tune;
}

Result<proto::SubmitJobReply> Submit(TunerClient& client, const TuneRequest& tune) {
  return tune.searches ? client.Submit(tune.request.job()) : client.SubmitUserKernel(tune.request);
}

}  // namespace mlc::client
