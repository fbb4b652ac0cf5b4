#include "client/tune/submit_request.h"

#include <algorithm>

#include "base/wire/protocol.h"

namespace mlc::client {

proto::SubmitJobRequest SubmitRequestOf(const TuneOptions& options, const ModelTasks& model,
                                        const target::Target& target, const std::string& user) {
  proto::SubmitJobRequest request;
  const bool varies = model.variants.size() > 1;
  for (size_t v = 0; varies && v < model.variants.size(); ++v) {
    request.add_variants()->set_name(model.variants[v]);
  }
  for (const ModelTask& task : model.tasks) {
    proto::Task& wire = *request.add_tasks();
    wire.set_workload(task.workload.ToText());
    const int usual = task.uses.front();
    wire.set_occurrences(usual > 0 ? usual : *std::max_element(task.uses.begin(), task.uses.end()));
    wire.set_label(task.label);
    for (size_t v = 0; varies && v < task.uses.size(); ++v) wire.add_uses(task.uses[v]);
  }
  request.set_protocol(server::kWireProtocol);
  request.set_target(target.ToText());
  request.set_label(options.is_raw() ? options.cuda_kernel : options.model);
  request.set_user(user);
  proto::JobOptions& job = *request.mutable_options();
  job.set_trials(options.trials);
  job.set_seed(options.seed);
  job.set_fresh(options.fresh);
  job.set_time_budget_ms(options.time_budget_ms);
  job.set_priority(options.priority);
  return request;
}

}  // namespace mlc::client
