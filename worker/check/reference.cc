#include "worker/check/reference.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "compiler/graph/evaluate/evaluate.h"
#include "compiler/graph/physical/strided_data.h"
#include "worker/check/inputs.h"

namespace mlc::worker {
namespace {

constexpr int64_t kPage = 4096;

// Tensors start in different sets of the first-level cache, as they do in a memory plan.
int64_t Place(ReferenceLayout& layout, int64_t bytes, int count) {
  const int64_t offset = (layout.bytes + kPage - 1) / kPage * kPage + count * 13 % 64 * 64;
  layout.bytes = offset + bytes;
  return offset;
}

}  // namespace

ReferenceLayout ReferenceLayoutOf(const graph::Workload& workload) {
  ReferenceLayout layout;
  int count = 0;
  for (graph::ValueId id : workload.operands()) {
    const graph::TensorType& type = workload.graph()[id].type;
    layout.operands.push_back(Place(layout, type.Extent() * SizeOf(type.dtype), count++));
  }
  for (graph::ValueId id : workload.outputs()) {
    const graph::TensorType& type = workload.graph()[id].type;
    layout.results.push_back(Place(layout, type.NumElements() * SizeOf(type.dtype), count++));
  }
  // Vector loads may read past the end of a tensor, never past its page.
  layout.bytes = (layout.bytes + kPage) / kPage * kPage;
  return layout;
}

Status MakeReference(const graph::Workload& workload, uint64_t seed, std::span<std::byte> memory,
                     int threads) {
  const ReferenceLayout layout = ReferenceLayoutOf(workload);
  const std::vector<InputDomain> domains = InputDomains(workload);
  Rng rng(seed);
  std::vector<graph::TensorDataRef> sources;
  for (size_t i = 0; i < workload.operands().size(); ++i) {
    const graph::TensorType& type = workload.graph()[workload.operands()[i]].type;
    const graph::TensorDataRef drawn = RandomTensor(rng, type, domains[i]);
    std::byte* storage = memory.data() + layout.operands[i];
    std::memset(storage, 0xff, static_cast<size_t>(type.Extent() * SizeOf(type.dtype)));
    graph::ScatterStrided(drawn->bytes.data(), type, storage);
    // Read back: elements of a broadcast dimension share one place.
    sources.push_back(
        graph::MakeTensorData(type.dtype, type.dims, graph::GatherStrided(storage, type)));
  }
  const std::vector<graph::TensorDataRef> results =
      MLC_TRY(graph::Evaluate(workload.graph(), sources, threads));
  for (size_t i = 0; i < results.size(); ++i) {
    std::memcpy(memory.data() + layout.results[i], results[i]->bytes.data(),
                results[i]->bytes.size());
  }
  return Status();
}

Result<SharedMemory> SharedMemory::Create(int64_t bytes) {
  static uint64_t serials = 0;
  const int descriptor = memfd_create("reference", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) return ResourceExhausted("cannot create shared memory: too many open files");
  void* memory = MAP_FAILED;
  if (ftruncate(descriptor, bytes) == 0) {
    memory = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED,
                  descriptor, 0);
  }
  if (memory == MAP_FAILED) {
    close(descriptor);
    return ResourceExhausted("no memory for " + std::to_string(bytes) + " bytes of inputs");
  }
  SharedMemory made(descriptor, {static_cast<std::byte*>(memory), static_cast<size_t>(bytes)});
  made.serial_ = ++serials;
  return made;
}

Result<SharedMemory> SharedMemory::Map(int descriptor) {
  const off_t bytes = lseek(descriptor, 0, SEEK_END);
  void* memory = MAP_FAILED;
  if (bytes > 0) {
    memory = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ, MAP_SHARED, descriptor, 0);
  }
  if (memory == MAP_FAILED) {
    close(descriptor);
    return ResourceExhausted("cannot map " + std::to_string(bytes) + " bytes of inputs");
  }
  return SharedMemory(descriptor, {static_cast<std::byte*>(memory), static_cast<size_t>(bytes)});
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      serial_(std::exchange(other.serial_, 0)),
      bytes_(std::exchange(other.bytes_, {})) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(serial_, other.serial_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

SharedMemory::~SharedMemory() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
  if (descriptor_ >= 0) close(descriptor_);
}

void SharedMemory::KeepFromChildren() {
  (void)madvise(bytes_.data(), bytes_.size(), MADV_DONTFORK);
}

void SharedMemory::Protect() {
  // What runs beside it could take a protection of its own mapping away again: a file that is
  // sealed cannot be mapped to be written, nor a mapping of it become so.
  constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE;
  if (fcntl(descriptor_, F_ADD_SEALS, kSeals) == 0 &&
      mmap(bytes_.data(), bytes_.size(), PROT_READ, MAP_SHARED | MAP_FIXED, descriptor_, 0) !=
          MAP_FAILED) {
    return;
  }
  mprotect(bytes_.data(), bytes_.size(), PROT_READ);
}

}  // namespace mlc::worker
