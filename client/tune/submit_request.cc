#include "client/tune/submit_request.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "base/check.h"
#include "base/wire/protocol.h"
#include "client/tune/options/tune_flags.h"

namespace mlc::client {
namespace {

using google::protobuf::FieldDescriptor;

void Set(proto::JobOptions& job, const FieldDescriptor& field, int64_t value) {
  job.GetReflection()->SetInt64(&job, &field, value);
}

void Set(proto::JobOptions& job, const FieldDescriptor& field, uint64_t value) {
  job.GetReflection()->SetUInt64(&job, &field, value);
}

void Set(proto::JobOptions& job, const FieldDescriptor& field, int32_t value) {
  job.GetReflection()->SetInt32(&job, &field, value);
}

void Set(proto::JobOptions& job, const FieldDescriptor& field, bool value) {
  job.GetReflection()->SetBool(&job, &field, value);
}

proto::JobOptions JobOptionsOf(const TuneOptions& options) {
  proto::JobOptions job;
  ForEachFlag([&](const auto& flag) {
    using Value = std::decay_t<decltype(options.*(flag.member))>;
    if (flag.info.sent == nullptr) return;
    const FieldDescriptor* field = proto::JobOptions::descriptor()->FindFieldByName(flag.info.sent);
    MLC_CHECK(field != nullptr) << flag.info.sent;
    if constexpr (std::is_arithmetic_v<Value>) Set(job, *field, options.*(flag.member));
  });
  return job;
}

}  // namespace

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
  const std::string& file = !options.kernel.empty()        ? options.kernel
                            : !options.cuda_kernel.empty() ? options.cuda_kernel
                                                           : options.model;
  request.set_label(options.label.empty() ? file : options.label);
  request.set_user(user);
  *request.mutable_options() = JobOptionsOf(options);
  return request;
}

}  // namespace mlc::client
