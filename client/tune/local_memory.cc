#include "client/tune/local_memory.h"

#include <cmath>
#include <string>

namespace mlc::client {
namespace {

std::string Gib(double bytes) {
  return std::to_string(static_cast<int64_t>(std::ceil(bytes / (int64_t{1} << 30)))) + " GiB";
}

}  // namespace

Status CheckMemory(const server::ModelInfo& model, int64_t memory) {
  for (const server::TaskInfo& task : model.tasks) {
    if (task.min_bytes <= static_cast<double>(memory)) continue;
    return FailedPrecondition("the tensors of the task '" + task.summary + "' take " +
                              Gib(task.min_bytes) + ", and this machine has " +
                              Gib(static_cast<double>(memory)) +
                              " of memory: give smaller sizes, or tune with --server ADDRESS, "
                              "which has a larger worker");
  }
  return Status();
}

}  // namespace mlc::client
