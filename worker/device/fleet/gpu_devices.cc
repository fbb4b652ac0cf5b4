#include "worker/device/fleet/gpu_devices.h"

#include <poll.h>

#include "base/process/bytes.h"
#include "base/process/child.h"
#include "base/sandbox/child_limits.h"
#include "compiler/build/cuda_target.h"

namespace mlc::worker {
namespace {

constexpr int kTimeoutMs = 60'000;
// The driver waits by computing, and starts threads of its own.
constexpr int kDriverThreads = 4;
constexpr int kPageableMemoryAccess = 88;  // CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS

// What one multiprocessor does each cycle: fp32 operations of its plain units, and fp16 operations
// of its matrix units (a multiply-add counts two).
struct Rates {
  int compute;  // from this capability on
  int fp32;
  int tensor;
};
constexpr Rates kRates[] = {{80, 128, 2048}, {86, 256, 1024},  {89, 256, 1024},
                            {90, 256, 4096}, {100, 256, 8192}, {120, 256, 2048}};

void Put(ByteWriter& out, const GpuDevice& gpu) {
  out.Put(gpu.ordinal);
  out.PutText(gpu.name);
  out.PutText(gpu.pci);
  out.PutText(gpu.uuid);
  out.Put(gpu.driver);
  out.Put(gpu.memory_bytes);
  out.Put(gpu.reaches_host);
  out.PutText(gpu.target.ToText());
}

Result<GpuDevice> GetGpu(ByteReader& in) {
  GpuDevice gpu;
  gpu.ordinal = in.Get<int>();
  gpu.name = in.GetText();
  gpu.pci = in.GetText();
  gpu.uuid = in.GetText();
  gpu.driver = in.Get<int>();
  gpu.memory_bytes = in.Get<int64_t>();
  gpu.reaches_host = in.Get<bool>();
  const std::string target = in.GetText();
  if (!in.ok()) return Internal("the driver did not answer");
  gpu.target = MLC_TRY(target::Target::Parse(target));
  return gpu;
}

std::string UuidText(const mlc_cuda_device_facts& facts) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : facts.uuid) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

// What is not known is taken for the worse.
bool ReachesHost(const mlc_cuda& cuda, int ordinal) {
  mlc_cu_device device = 0;
  int reaches = 0;
  const bool told = cuda.device_get(&device, ordinal) == 0 &&
                    cuda.device_get_attribute(&reaches, kPageableMemoryAccess, device) == 0;
  return !told || reaches != 0;
}

// In the child.
Result<std::string> AskDriver() {
  mlc_cuda cuda;
  char error[512];
  if (mlc_cuda_open(&cuda, error, sizeof(error)) != 0) return FailedPrecondition(error);
  int count = 0;
  (void)cuda.device_get_count(&count);
  ByteWriter out;
  std::string refused;
  for (int i = 0; i < count; ++i) {
    mlc_cuda_device_facts facts;
    if (const int result = mlc_cuda_query_device(&cuda, i, &facts); result != 0) {
      mlc_cuda_error_text(&cuda, result, error, sizeof(error));
      refused += "; GPU " + std::to_string(i) + ": " + error;
      continue;
    }
    Result<target::Target> target = TargetOf(facts);
    if (!target.ok()) {
      refused += "; " + target.status().message();
      continue;
    }
    Put(out, {.ordinal = i,
              .name = facts.name,
              .pci = facts.pci,
              .uuid = UuidText(facts),
              .driver = cuda.version,
              .memory_bytes = static_cast<int64_t>(facts.memory_bytes),
              .reaches_host = ReachesHost(cuda, i),
              .target = *std::move(target)});
  }
  std::string answer = out.Take();
  if (answer.empty()) return FailedPrecondition("no CUDA device can be used" + refused);
  return answer;
}

}  // namespace

Result<target::Target> TargetOf(const mlc_cuda_device_facts& facts) {
  target::Target target = build::TargetOfDevice(facts);
  const Rates* rates = nullptr;
  for (const Rates& row : kRates) {
    if (row.compute <= facts.compute) rates = &row;
  }
  if (rates == nullptr) {
    return InvalidArgument(std::string(facts.name) + " has compute capability " +
                           std::to_string(facts.compute / 10) + "." +
                           std::to_string(facts.compute % 10) + ": at least 8.0 is needed");
  }
  const double ghz = facts.clock_khz / 1e6;
  target.fma_gflops = facts.sms * rates->fp32 * ghz;
  target.gpu().tensor_gflops = facts.sms * rates->tensor * ghz;
  return target::Target::Parse(target.ToText());
}

Result<std::vector<GpuDevice>> FindGpus() {
  Child::Options options;
  options.limits =
      build::LimitsFor({.threads = kDriverThreads, .ms = kTimeoutMs, .memory_bytes = 0});
  options.limits.open_files = 4096;
  options.limits.sandbox = false;  // runs nothing but the driver
  Child child = MLC_TRY(Child::Start(options, [](int pipe) {
    const Result<std::string> answer = AskDriver();
    WriteAll(pipe, answer.ok() ? "+" + *answer : "-" + answer.status().message());
  }));
  pollfd waiting = {child.pipe(), POLLIN, 0};
  while (child.Read()) {
    if (poll(&waiting, 1, kTimeoutMs) == 0) return Unavailable("the NVIDIA driver does not answer");
  }
  const int end = child.Reap();
  const std::string answer = child.received();
  if (answer.empty()) {
    return Internal("asking the NVIDIA driver " + DescribeEnd(end) + " " + child.ErrorText());
  }
  if (!answer.starts_with('+')) return FailedPrecondition(answer.substr(1));
  std::vector<GpuDevice> gpus;
  ByteReader in(std::string_view{answer}.substr(1));
  while (!in.AtEnd()) gpus.push_back(MLC_TRY(GetGpu(in)));
  return gpus;
}

}  // namespace mlc::worker
