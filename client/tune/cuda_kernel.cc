#include "client/tune/cuda_kernel.h"

#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "compiler/schedule/cuda/user_kernel/packed_source.h"
#include "compiler/schedule/cuda/user_kernel/raw_cuda.h"

namespace mlc::client {
namespace {

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

}  // namespace

Result<ModelTasks> ReadWorkload(const TuneOptions& options) {
  Result<graph::Workload> workload = graph::Workload::Parse(MLC_TRY(ReadText(options.workload)));
  if (!workload.ok()) return workload.status().WithPrefix("'" + options.workload + "'");
  ModelTasks tasks;
  tasks.Add("", {{*std::move(workload), 1, options.entry}});
  return tasks;
}

Result<proto::RawCuda> ReadCudaKernel(const TuneOptions& options, const target::Target& target) {
  schedule::RawCuda raw;
  raw.source = MLC_TRY(ReadText(options.cuda_kernel));
  raw.entry = options.entry;
  raw.grid = options.grid.value_or(raw.grid);
  raw.block = options.block.value_or(raw.block);
  raw.block_bytes = options.shared;
  Status status = raw.ToConfig().status();
  if (status.ok()) status = schedule::CheckFits(raw, target);
  if (!status.ok()) return status.WithPrefix("'" + options.cuda_kernel + "'");
  proto::RawCuda kernel;
  kernel.set_entry(raw.entry);
  kernel.set_source(raw.source);
  kernel.set_blocks(raw.grid.x);
  kernel.set_blocks_y(raw.grid.y);
  kernel.set_blocks_z(raw.grid.z);
  kernel.set_threads(static_cast<int>(raw.block.x));
  kernel.set_threads_y(static_cast<int>(raw.block.y));
  kernel.set_threads_z(static_cast<int>(raw.block.z));
  kernel.set_block_bytes(raw.block_bytes);
  return kernel;
}

}  // namespace mlc::client
