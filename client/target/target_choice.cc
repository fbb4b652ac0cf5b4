#include "client/target/target_choice.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "client/target/answering_child.h"
#include "compiler/build/cuda_target.h"
#include "compiler/runtime/cuda_driver.h"

namespace mlc::client {

namespace {

struct KnownDevice {
  std::string_view name;
  std::string_view target;
};
constexpr KnownDevice kKnown[] = {
    {"h200", "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560"}};

// In the child: "+" and the target's text, or "-" and what is wrong.
std::string AskDriver(int ordinal) {
  mlc_cuda cuda;
  char error[512];
  if (mlc_cuda_open(&cuda, error, sizeof(error)) != 0) return std::string("-") + error;
  int count = 0;
  (void)cuda.device_get_count(&count);
  if (ordinal >= count) {
    return "-there is no GPU " + std::to_string(ordinal) + "; the driver shows " +
           std::to_string(count) + ": check CUDA_VISIBLE_DEVICES";
  }
  mlc_cuda_device_facts facts;
  if (const int result = mlc_cuda_query_device(&cuda, ordinal, &facts); result != 0) {
    mlc_cuda_error_text(&cuda, result, error, sizeof(error));
    return "-GPU " + std::to_string(ordinal) + " does not answer: " + error;
  }
  const Result<target::Target> target = TargetOf(facts);
  return target.ok() ? "+" + target->ToText() : "-" + target.status().message();
}

Result<target::Target> AskInChild(int ordinal) {
  const std::string answer = AnswerOfChild([ordinal] { return AskDriver(ordinal); });
  if (answer.empty()) return Unavailable("the NVIDIA driver does not answer: check nvidia-smi");
  if (answer[0] == '+') return target::Target::Parse(answer.substr(1));
  return Unavailable(answer.substr(1));
}

}  // namespace

Result<target::Target> TargetOf(const mlc_cuda_device_facts& facts) {
  const target::Target target = build::TargetOfDevice(facts);
  const Result<target::Target> checked = target::Target::Parse(target.ToText());
  if (checked.ok()) return checked;
  return InvalidArgument("the GPU " + std::string(facts.name) +
                         " cannot be used: " + checked.status().message());
}

std::optional<int> OrdinalOf(std::string_view text) {
  if (text == "cuda") return 0;
  if (!text.starts_with("cuda:")) return std::nullopt;
  text.remove_prefix(5);
  int ordinal = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ordinal);
  if (error != std::errc() || end != text.data() + text.size() || ordinal < 0) return std::nullopt;
  return ordinal;
}

bool IsLocalTarget(const std::string& text) { return text == "cpu" || OrdinalOf(text).has_value(); }

std::string TargetHelp() {
  return "auto (this machine's GPU if it has one that can be used, else its CPU), cpu (this "
         "machine's CPU), cuda or cuda:N (its GPU), h200, or a target's text";
}

Result<target::Target> ChooseTarget(const std::string& text, int threads,
                                    std::string_view without_gpu) {
  if (text == "cpu") return target::DetectHost(threads);
  if (const std::optional<int> ordinal = OrdinalOf(text)) {
    Result<target::Target> found = AskInChild(*ordinal);
    if (found.status().code() != StatusCode::kUnavailable) return found;
    return Unavailable(found.status().message() + "; without the GPU, " + std::string(without_gpu));
  }
  for (const KnownDevice& known : kKnown) {
    if (known.name == text) return target::Target::Parse(known.target);
  }
  const Result<target::Target> parsed = target::Target::Parse(text);
  if (parsed.ok() || text.starts_with("target ")) return parsed;
  return InvalidArgument("--target '" + text.substr(0, 60) + "' is not one of " + TargetHelp());
}

}  // namespace mlc::client
