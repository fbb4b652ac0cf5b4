#include "worker/device/cuda/cupti.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>

#include "compiler/build/cupti_places.h"

namespace mlc::worker {
namespace {

// Facts of cupti_activity.h.
constexpr uint32_t kConcurrentKernel = 10;
constexpr int kZeroedBuffers = 5;
constexpr size_t kStartAt = 16;
constexpr size_t kEndAt = 24;
constexpr size_t kCorrelationAt = 92;
constexpr int kInsufficientPrivileges = 35;
constexpr int kVirtualizedPrivileges = 40;
constexpr int kQueueEmpty = 18;
constexpr int kMaxLimitReached = 12;

constexpr size_t kBufferBytes = size_t{8} << 20;

template <typename T>
T At(const void* record, size_t offset) {
  T value;
  std::memcpy(&value, static_cast<const char*>(record) + offset, sizeof(value));
  return value;
}

// CUPTI's callbacks carry no context, and it has one user per process: what they share lies here.
struct Collector {
  std::mutex mutex;
  std::vector<KernelRecord> records;
  std::vector<uint8_t*> free;
  int (*next_record)(uint8_t*, size_t, void**) = nullptr;
};
Collector& TheCollector() {
  static Collector collector;
  return collector;
}

void BufferRequested(uint8_t** buffer, size_t* size, size_t* most_records) {
  Collector& collector = TheCollector();
  std::lock_guard lock(collector.mutex);
  *most_records = 0;
  *size = kBufferBytes;
  if (collector.free.empty()) {
    *buffer = static_cast<uint8_t*>(std::calloc(1, kBufferBytes));
    if (*buffer == nullptr) *size = 0;
    return;
  }
  *buffer = collector.free.back();
  collector.free.pop_back();
}

void BufferCompleted(void* /*context*/, uint32_t /*stream*/, uint8_t* buffer, size_t /*size*/,
                     size_t valid) {
  Collector& collector = TheCollector();
  std::lock_guard lock(collector.mutex);
  void* record = nullptr;
  while (valid > 0 && collector.next_record(buffer, valid, &record) == 0) {
    if (const auto kernel = DecodeActivity(record)) collector.records.push_back(*kernel);
  }
  // The next user finds it zeroed, as its interface says.
  std::memset(buffer, 0, valid);
  collector.free.push_back(buffer);
}

uint64_t RawClock() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

std::optional<KernelRecord> DecodeActivity(const void* record) {
  if (At<uint32_t>(record, 0) != kConcurrentKernel) return std::nullopt;
  KernelRecord kernel;
  kernel.start_ns = At<uint64_t>(record, kStartAt);
  kernel.end_ns = At<uint64_t>(record, kEndAt);
  kernel.correlation = At<uint32_t>(record, kCorrelationAt);
  return kernel;
}

struct Cupti::Functions {
  int (*get_version)(uint32_t*) = nullptr;
  int (*result_string)(int, const char**) = nullptr;
  int (*set_attribute)(int, size_t*, void*) = nullptr;
  int (*register_clock)(uint64_t (*)()) = nullptr;
  int (*register_callbacks)(void (*)(uint8_t**, size_t*, size_t*),
                            void (*)(void*, uint32_t, uint8_t*, size_t, size_t)) = nullptr;
  int (*enable)(uint32_t) = nullptr;
  int (*flush_all)(uint32_t) = nullptr;
  int (*dropped)(void*, uint32_t, size_t*) = nullptr;
  int (*next_record)(uint8_t*, size_t, void**) = nullptr;

  // The name of the first function that the library lacks, or null.
  const char* Fill(void* library) {
    const struct {
      const char* name;
      void* slot;
    } entries[] = {{"cuptiGetVersion", &get_version},
                   {"cuptiGetResultString", &result_string},
                   {"cuptiActivitySetAttribute", &set_attribute},
                   {"cuptiActivityRegisterTimestampCallback", &register_clock},
                   {"cuptiActivityRegisterCallbacks", &register_callbacks},
                   {"cuptiActivityEnable", &enable},
                   {"cuptiActivityFlushAll", &flush_all},
                   {"cuptiActivityGetNumDroppedRecords", &dropped},
                   {"cuptiActivityGetNextRecord", &next_record}};
    for (const auto& entry : entries) {
      void* const found = dlsym(library, entry.name);
      if (found == nullptr) return entry.name;
      std::memcpy(entry.slot, &found, sizeof(found));
    }
    return nullptr;
  }
};

Cupti::Cupti() : functions_(std::make_unique<Functions>()) {}
Cupti::~Cupti() = default;

Status Cupti::Failed(const char* what, int result) const {
  const char* text = nullptr;
  functions_->result_string(result, &text);
  const std::string message = std::string(what) + ": " + (text != nullptr ? text : "CUPTI error") +
                              " (" + std::to_string(result) + ")";
  if (result == kInsufficientPrivileges || result == kVirtualizedPrivileges) {
    return Status(StatusCode::kPermissionDenied,
                  message +
                      "; the host must allow profiling: NVreg_RestrictProfilingToAdminUsers=0"
                      " or CAP_SYS_ADMIN");
  }
  return FailedPrecondition(message +
                            "; no other profiler may run in this process, and CUPTI must "
                            "not be newer than the driver");
}

Status Cupti::Enable() {
  Collector& collector = TheCollector();
  collector.next_record = functions_->next_record;
  uint8_t zeroed = 1;
  size_t size = sizeof(zeroed);
  // Only speeds launches up; older libraries do not know it.
  (void)functions_->set_attribute(kZeroedBuffers, &size, &zeroed);
  // The default clock follows corrections of the system's time, which would bend durations.
  if (const int r = functions_->register_clock(RawClock); r != 0) return Failed("CUPTI's clock", r);
  if (const int r = functions_->register_callbacks(BufferRequested, BufferCompleted); r != 0) {
    return Failed("CUPTI's buffers", r);
  }
  if (const int r = functions_->enable(kConcurrentKernel); r != 0) {
    return Failed("CUPTI's kernel records", r);
  }
  return Status();
}

Result<std::unique_ptr<Cupti>> Cupti::Open(const std::string& cuda_home) {
  auto cupti = std::unique_ptr<Cupti>(new Cupti());
  const std::vector<std::string> places = build::CuptiCandidates(cuda_home);
  void* library = nullptr;
  for (const std::string& place : places) {
    library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    cupti->path_ = place;
    break;
  }
  if (library == nullptr) {
    return NotFound("no CUPTI: kernels cannot be timed; looked for " + places.front() + " and in " +
                    std::to_string(places.size() - 1) +
                    " more places; install the CUDA toolkit's CUPTI (or the Python wheel "
                    "nvidia-cuda-cupti) and pass --cuda-home");
  }
  if (const char* missing = cupti->functions_->Fill(library)) {
    return FailedPrecondition(cupti->path_ + " has no " + missing +
                              ": install CUPTI of CUDA 12 or newer");
  }
  (void)cupti->functions_->get_version(&cupti->version_);
  MLC_TRY(cupti->Enable());
  return cupti;
}

Result<std::vector<KernelRecord>> Cupti::Take() {
  if (const int r = functions_->flush_all(0); r != 0) return Failed("CUPTI's flush", r);
  size_t dropped = 0;
  const int counted = functions_->dropped(nullptr, 0, &dropped);
  std::vector<KernelRecord> records;
  {
    std::lock_guard lock(TheCollector().mutex);
    records.swap(TheCollector().records);
  }
  if (counted != 0 && counted != kQueueEmpty && counted != kMaxLimitReached) dropped = 0;
  if (dropped > 0) return DataLoss("CUPTI dropped " + std::to_string(dropped) + " records");
  std::sort(records.begin(), records.end(), [](const KernelRecord& a, const KernelRecord& b) {
    return a.correlation < b.correlation;
  });
  return records;
}

}  // namespace mlc::worker
