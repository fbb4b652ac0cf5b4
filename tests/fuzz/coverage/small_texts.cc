// The texts of a line or a small file: configs, user-supplied kernels and their specifications,
// targets, launches, digests, lock files, a job's options, quotas. Each is refused, or prints to a
// fixed point.
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "compiler/package/lock_file.h"
#include "compiler/schedule/cuda/user_kernel/tuned_kernel.h"
#include "compiler/schedule/cuda/user_kernel/user_kernel.h"
#include "compiler/schedule/kernel_spec/expression.h"
#include "compiler/schedule/kernel_spec/kernel_spec.h"
#include "compiler/schedule/space/config.h"
#include "compiler/target/launch.h"
#include "compiler/target/target.h"
#include "server/jobs/quotas.h"

namespace mlc {
namespace {

// Parse(ToText(x)) is x, and so is its text.
template <typename Value>
void RoundTrip(const std::string& text) {
  const Result<Value> value = Value::Parse(text);
  if (!value.ok()) {
    MLC_CHECK(!value.status().message().empty()) << text;
    return;
  }
  const std::string printed = value->ToText();
  const Result<Value> again = Value::Parse(printed);
  MLC_CHECK(again.ok()) << again.status().message() << "\n" << printed;
  MLC_CHECK(again->ToText() == printed) << printed << "\n" << again->ToText();
  if constexpr (std::equality_comparable<Value>) MLC_CHECK(*again == *value) << printed;
}

void ReadUserKernel(const std::string& text) {
  const Result<schedule::Config> config = schedule::Config::Parse(text);
  (void)schedule::IsUserKernel(text);
  (void)schedule::BriefConfig(text);
  if (!config.ok() || !schedule::IsUserKernel(*config)) return;
  const Result<schedule::UserKernel> user_kernel = schedule::UserKernel::FromConfig(*config);
  if (!user_kernel.ok() || schedule::IsTunedKernel(*config)) return;
  const Result<schedule::Config> written = user_kernel->ToConfig();
  MLC_CHECK(written.ok()) << written.status().message() << "\n" << text;
  const Result<schedule::UserKernel> again = schedule::UserKernel::FromConfig(*written);
  MLC_CHECK(again.ok() && *again == *user_kernel) << text;
}

// An expression has a value or an error, in bounded time.
void ReadExpression(const std::string& text) {
  const std::vector<std::string> names = {"a", "b"};
  const Result<schedule::Expression> expression = schedule::Expression::Parse(text, names);
  if (!expression.ok()) return;
  const std::vector<schedule::ExpressionValue> values = {int64_t{6}, std::string("x")};
  const Result<schedule::ExpressionValue> value = expression->Evaluate(values);
  MLC_CHECK(value.ok() || !value.status().message().empty()) << text;
}

void ReadTarget(const std::string& text) {
  const Result<target::Target> target = target::Target::Parse(text);
  if (!target.ok()) return;
  const Result<target::Target> of_class = target::Target::Parse(target->ClassText());
  MLC_CHECK(of_class.ok()) << of_class.status().message() << "\n" << target->ClassText();
  MLC_CHECK(of_class->ClassText() == target->ClassText()) << target->ClassText();
  if (target->As<target::GpuTarget>() == nullptr) return;
  for (const target::Target& newer : target::NewerDevices(*target)) {
    MLC_CHECK(target::Target::Parse(newer.ToText()).ok()) << newer.ToText();
  }
}

void ReadQuotas(const std::string& text) {
  const Result<server::Quotas> quotas = server::Quotas::Parse(text);
  if (!quotas.ok()) return;
  const server::Limits& limits = quotas->LimitsOf("ada");
  MLC_CHECK(limits.weight > 0) << text;
  for (const int64_t limit :
       {limits.running_jobs, limits.queued_trials, limits.tasks_per_job, limits.request_bytes}) {
    MLC_CHECK(limit >= 0) << text;
  }
}

}  // namespace
}  // namespace mlc

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  mlc::RoundTrip<mlc::schedule::Config>(text);
  mlc::RoundTrip<mlc::target::Target>(text);
  mlc::RoundTrip<mlc::package::LockFile>(text);
  mlc::RoundTrip<mlc::Digest>(text);
  mlc::ReadUserKernel(text);
  mlc::ReadExpression(text);
  mlc::RoundTrip<mlc::schedule::KernelSpec>(text);
  mlc::ReadTarget(text);
  if (const auto extent = mlc::target::ParseDim3(text); extent.ok()) {
    const auto again = mlc::target::ParseDim3(extent->ToText());
    MLC_CHECK(again.ok() && *again == *extent) << text;
  }
  mlc::ReadQuotas(text);
  return 0;
}
