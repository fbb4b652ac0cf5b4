// What clients and workers send to the server: the first byte chooses the message, the others are
// its bytes on the wire. A request is refused or becomes a job that the server can write down and
// read again; a result becomes a record that is refused or kept as it is.
#include <google/protobuf/stubs/logging.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/wire/protocol.h"
#include "db/record.h"
#include "server/api/job_messages.h"
#include "server/jobs/job_request.h"

namespace mlc {
namespace {

template <typename Message>
bool Decode(std::string_view bytes, Message& message) {
  return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

void CheckJob(const Result<server::JobRequest>& job) {
  if (!job.ok()) {
    MLC_CHECK(!job.status().message().empty());
    return;
  }
  MLC_CHECK(!job->tasks.empty() && job->tasks.size() == job->workloads.size());
  const std::string text = job->options.ToText();
  const Result<server::JobOptions> options = server::JobOptions::Parse(text);
  MLC_CHECK(options.ok()) << options.status().message() << "\n" << text;
  MLC_CHECK(options->ToText() == text) << text;
  MLC_CHECK(server::JobIdOf(*job, 0) == server::JobIdOf(*job, 0));
}

void ReadJob(std::string_view bytes) {
  proto::SubmitJobRequest request;
  if (Decode(bytes, request))
    CheckJob(server::ParseJobRequest(server::FromWire(std::move(request))));
}

void ReadUserKernel(std::string_view bytes) {
  proto::SubmitUserKernelRequest request;
  if (Decode(bytes, request))
    CheckJob(server::ParseUserKernelRequest(server::FromWire(std::move(request))));
}

void ReadResults(std::string_view bytes) {
  proto::SynchronizeRequest request;
  if (!Decode(bytes, request)) return;
  (void)server::CheckProtocol("worker", request.protocol());
  const Result<target::Target> target = target::Target::Parse(request.target());
  for (const proto::TrialResult& result : request.finished()) {
    (void)server::DigestFromWire(result.task_uid());
    if (const auto seconds = server::DeviceSeconds(result)) MLC_CHECK(*seconds >= 0);
    db::Record record;
    record.measurement = server::FromWire(result.measurement());
    record.workload = DigestOf(std::string_view("workload"));
    record.task_uid = record.workload;
    record.target = target.ok() ? target->ClassText() : "target v1 cpu arch=x86_64 isa=avx2";
    record.config = "pointwise/1";
    record.toolchain = request.build();
    record.worker = request.worker();
    record.arm = "given";
    if (!db::Validate(record).ok()) continue;
    const Measurement again = server::FromWire(server::ToWire(record.measurement));
    MLC_CHECK(again.outcome == record.measurement.outcome);
    MLC_CHECK(again.detail == record.measurement.detail);
    (void)db::DigestOf(record);
  }
}

void ReadOptions(std::string_view bytes) {
  const Result<server::JobOptions> options = server::JobOptions::Parse(std::string(bytes));
  if (!options.ok()) return;
  const std::string text = options->ToText();
  const Result<server::JobOptions> again = server::JobOptions::Parse(text);
  MLC_CHECK(again.ok() && again->ToText() == text) << text;
}

constexpr void (*kReaders[])(std::string_view) = {ReadJob, ReadUserKernel, ReadResults,
                                                  ReadOptions};

}  // namespace
}  // namespace mlc

// The library would write a line for each text that is no UTF-8.
extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  google::protobuf::SetLogHandler(nullptr);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  mlc::kReaders[data[0] % std::size(mlc::kReaders)](bytes);
  return 0;
}
