#include "worker/device/cuda/device_sets.h"

#include <algorithm>
#include <utility>

namespace mlc::worker {
namespace {

constexpr int64_t kAlign = 256;

int64_t BytesOf(const graph::TensorType& type) { return type.Extent() * SizeOf(type.dtype); }

}  // namespace

bool DeviceSets::Holds(uint64_t serial) const {
  return std::any_of(sets_.begin(), sets_.end(),
                     [&](const DeviceSet& set) { return set.serial == serial; });
}

Status DeviceSets::Add(const graph::Workload& workload, uint64_t serial, SharedMemory memory) {
  const graph::Graph& graph = workload.graph();
  const ReferenceLayout layout = ReferenceLayoutOf(workload);
  if (static_cast<int64_t>(memory.bytes().size()) < layout.bytes) {
    return InvalidArgument("the reference does not belong to the workload");
  }
  int64_t bytes = 0;
  std::vector<int64_t> offsets;
  for (graph::ValueId id : workload.operands()) {
    offsets.push_back(bytes);
    bytes += (BytesOf(graph[id].type) + kAlign - 1) / kAlign * kAlign;
  }
  MakeRoom(bytes);
  DeviceSet set{.serial = serial,
                .memory = std::move(memory),
                .operands_memory = MLC_TRY(DeviceMemory::Allocate(device_, bytes)),
                .operands = {},
                .expected = {}};
  const std::byte* host = set.memory.bytes().data();
  for (size_t i = 0; i < offsets.size(); ++i) {
    const mlc_cu_ptr to = set.operands_memory.address() + static_cast<uint64_t>(offsets[i]);
    const int64_t size = BytesOf(graph[workload.operands()[i]].type);
    MLC_TRY(device_.Upload(to, host + layout.operands[i], size));
    set.operands.push_back(to);
  }
  for (size_t i = 0; i < workload.outputs().size(); ++i) {
    set.expected.push_back(
        ExpectedOutput::Make(graph[workload.outputs()[i]].type, host + layout.results[i]));
  }
  sets_.push_back(std::move(set));
  return Status();
}

const DeviceSet& DeviceSets::Use(uint64_t serial) {
  const auto found = std::find_if(sets_.begin(), sets_.end(),
                                  [&](const DeviceSet& set) { return set.serial == serial; });
  found->last_use = ++uses_;
  return *found;
}

void DeviceSets::MakeRoom(int64_t bytes) {
  for (;;) {
    int64_t used = bytes;
    auto oldest = sets_.end();
    for (auto it = sets_.begin(); it != sets_.end(); ++it) {
      used += static_cast<int64_t>(it->memory.bytes().size());
      if (oldest == sets_.end() || it->last_use < oldest->last_use) oldest = it;
    }
    if (used <= budget_ || oldest == sets_.end()) return;
    sets_.erase(oldest);
  }
}

}  // namespace mlc::worker
