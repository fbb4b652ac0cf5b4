#include "client/tune/cuda_kernel.h"

#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "compiler/schedule/cuda/user_kernel/packed_source.h"
#include "compiler/schedule/cuda/user_kernel/user_kernel.h"

namespace mlc::client {

// Workloads have no data, so their texts are as short as sources.
Result<std::string> ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(schedule::kMaxSource + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad() || (!file && file.gcount() == 0)) {
    return InvalidArgument("cannot read '" + path + "', or it is empty");
  }
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() <= schedule::kMaxSource) return text;
  return InvalidArgument("'" + path + "' is longer than 1 MiB");
}

Result<ModelTasks> ReadWorkload(const TuneOptions& options) {
  Result<graph::Workload> workload = graph::Workload::Parse(MLC_TRY(ReadText(options.workload)));
  if (!workload.ok()) return workload.status().WithPrefix("'" + options.workload + "'");
  ModelTasks tasks;
  tasks.Add("", {{*std::move(workload), 1, options.entry}});
  return tasks;
}

Result<proto::UserKernel> ReadCudaKernel(const TuneOptions& options, const target::Target& target) {
  schedule::UserKernel user_kernel;
  user_kernel.source = MLC_TRY(ReadText(options.cuda_kernel));
  user_kernel.entry = options.entry;
  user_kernel.grid = options.grid.value_or(user_kernel.grid);
  user_kernel.block = options.block.value_or(user_kernel.block);
  user_kernel.block_bytes = options.shared;
  Status status = user_kernel.ToConfig().status();
  if (status.ok()) status = schedule::CheckFits(user_kernel, target);
  if (!status.ok()) return status.WithPrefix("'" + options.cuda_kernel + "'");
  proto::UserKernel kernel;
  kernel.set_entry(user_kernel.entry);
  kernel.set_source(user_kernel.source);
  kernel.set_blocks(user_kernel.grid.x);
  kernel.set_blocks_y(user_kernel.grid.y);
  kernel.set_blocks_z(user_kernel.grid.z);
  kernel.set_threads(static_cast<int>(user_kernel.block.x));
  kernel.set_threads_y(static_cast<int>(user_kernel.block.y));
  kernel.set_threads_z(static_cast<int>(user_kernel.block.z));
  kernel.set_block_bytes(user_kernel.block_bytes);
  return kernel;
}

}  // namespace mlc::client
