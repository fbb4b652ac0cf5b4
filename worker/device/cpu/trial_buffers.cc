#include "worker/device/cpu/trial_buffers.h"

#include <algorithm>

namespace mlc::worker {

namespace {

constexpr int64_t kMaxCopies = 256;

}  // namespace

int64_t OutputBytes(const graph::Workload& workload, size_t i) {
  const graph::TensorType& type = workload.graph()[workload.outputs()[i]].type;
  return type.Extent() * SizeOf(type.dtype);
}

std::vector<size_t> MadeByOthers(const RunTask& task, int threads) {
  const graph::Workload& workload = *task.workload;
  std::vector<size_t> made;
  if (threads < 2 || !task.spread) return made;
  for (size_t i = 0; i < workload.operands().size(); ++i) {
    if (workload.graph()[workload.operands()[i]].op == graph::Op::kInput) made.push_back(i);
  }
  return made;
}

int64_t OperandBytes(const graph::Workload& workload, size_t i) {
  const graph::TensorType& type = workload.graph()[workload.operands()[i]].type;
  return type.Extent() * SizeOf(type.dtype);
}

int64_t CopiesOf(const RunTask& task) {
  int64_t bytes = 0;
  for (const PreparedPart& p : task.built->preparations) bytes += p.bytes;
  if (bytes == 0) return 0;
  return std::clamp(task.rotation_bytes / bytes, int64_t{0}, kMaxCopies);
}

std::vector<int64_t> SizesOf(const RunTask& task, int threads) {
  const BuiltKernel& built = *task.built;
  int64_t shared = built.kernel.layout.workspace_bytes;
  int64_t scratch = built.kernel.layout.thread_bytes;
  std::vector<int64_t> sizes;
  for (const PreparedPart& p : built.preparations) {
    shared = std::max(shared, p.kernel.layout.workspace_bytes);
    scratch = std::max(scratch, p.kernel.layout.thread_bytes);
    sizes.insert(sizes.end(), static_cast<size_t>(CopiesOf(task)) + 1, p.bytes);
  }
  for (size_t i = 0; i < task.workload->outputs().size(); ++i) {
    sizes.push_back(OutputBytes(*task.workload, i));
  }
  for (const size_t i : MadeByOthers(task, threads)) {
    sizes.push_back(OperandBytes(*task.workload, i));
  }
  sizes.insert(sizes.end(), {shared, scratch * threads});
  return sizes;
}

}  // namespace mlc::worker
