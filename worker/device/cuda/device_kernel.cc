#include "worker/device/cuda/device_kernel.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "compiler/build/loaded_kernel.h"
#include "compiler/codegen/cuda/driver_launch.h"
#include "worker/device/cuda/gpu_timing.h"

namespace mlc::worker {
namespace {

using Kind = schedule::Binding::Kind;

constexpr int64_t kAlign = 256;
constexpr int64_t kGuard = 512;
// Copies of the weights take at most this much.
constexpr int64_t kCopyBudget = int64_t{2} << 30;

int64_t RoundUp(int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

// Memory aligned as kernels demand.
struct HostBuffer {
  explicit HostBuffer(int64_t size)
      : bytes(std::aligned_alloc(64, static_cast<size_t>(std::max<int64_t>(RoundUp(size), 64)))) {}
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;
  ~HostBuffer() { std::free(bytes); }
  void* bytes;
};

Status RunPreparation(const build::LoadedObject& object, const KernelPart& kernel,
                      std::vector<void*> buffers, mlc_pool* pool) {
  const int64_t threads = mlc_pool_threads(pool);
  const HostBuffer shared(kernel.layout.workspace_bytes);
  const HostBuffer own(kernel.layout.thread_bytes * threads);
  if (shared.bytes == nullptr || own.bytes == nullptr) return ResourceExhausted("no memory");
  const auto count = static_cast<int>(kernel.layout.phase_extents.size());
  const std::vector<mlc_phase_fn> functions = MLC_TRY(object.Phases(kernel.name, count));
  std::vector<mlc_phase> phases;
  for (size_t i = 0; i < functions.size(); ++i) {
    phases.push_back({functions[i], kernel.layout.phase_extents[i]});
  }
  buffers.insert(buffers.end(), {shared.bytes, own.bytes});
  mlc_run_phases(pool, phases.data(), count, buffers.data());
  return Status();
}

bool IsWeight(const graph::Workload& workload, const schedule::Binding& binding) {
  if (binding.kind == Kind::kPrepared) return true;
  if (binding.kind != Kind::kOperand) return false;
  const graph::ValueId id = workload.operands()[static_cast<size_t>(binding.index)];
  return workload.graph()[id].op == graph::Op::kWeight;
}

}  // namespace

Result<std::unique_ptr<DeviceKernel>> DeviceKernel::Bind(Device& device,
                                                         const graph::Workload& workload,
                                                         const BuiltKernel& built,
                                                         const DeviceSet& set, mlc_pool* pool) {
  if (!built.device) return InvalidArgument("a kernel for another kind of device");
  auto kernel = std::unique_ptr<DeviceKernel>(new DeviceKernel(device));
  MLC_TRY(kernel->LoadFunctions(*built.device));
  MLC_TRY(kernel->LayOutOutputs(workload));
  kernel->scratch_ = MLC_TRY(DeviceMemory::Allocate(device, built.device->workspace_bytes));
  kernel->counters_ = MLC_TRY(DeviceMemory::Allocate(device, built.device->counter_bytes));
  MLC_TRY(device.Check(device.cuda().memset_d8_async(kernel->counters_.address(), 0,
                                                     static_cast<size_t>(kernel->counters_.bytes()),
                                                     device.stream()),
                       "clearing counters"));
  MLC_TRY(kernel->Prepare(workload, built, set, pool));
  MLC_TRY(kernel->FillParameters(workload, built, set));
  MLC_TRY(kernel->EncodeMaps());
  return kernel;
}

Status DeviceKernel::LoadFunctions(const DevicePart& part) {
  Result<std::unique_ptr<DeviceCode>> code = DeviceCode::Load(device_, part.image);
  if (!code.ok()) {
    const bool memory = code.status().code() == StatusCode::kResourceExhausted;
    return memory ? code.status() : InvalidArgument(code.status().message());
  }
  code_ = *std::move(code);
  launches_ = part.launches;
  tensor_maps_ = part.tensor_maps;
  for (const codegen::CudaLaunch& launch : launches_) {
    Result<mlc_cu_function> function = code_->Function(launch.function, launch.block_bytes);
    if (!function.ok()) return InvalidArgument(function.status().message());
    functions_.push_back(*function);
  }
  return Status();
}

Status DeviceKernel::LayOutOutputs(const graph::Workload& workload) {
  int64_t bytes = kGuard;
  for (graph::ValueId id : workload.outputs()) {
    const graph::TensorType& type = workload.graph()[id].type;
    const int64_t size = type.Extent() * SizeOf(type.dtype);
    outputs_.push_back({bytes, size});
    bytes += RoundUp(size) + kGuard;
  }
  output_memory_ = MLC_TRY(DeviceMemory::Allocate(device_, bytes));
  return Status();
}

Status DeviceKernel::Prepare(const graph::Workload& workload, const BuiltKernel& built,
                             const DeviceSet& set, mlc_pool* pool) {
  if (built.preparations.empty()) return Status();
  const std::unique_ptr<build::LoadedObject> object = MLC_TRY(build::LoadObject(built.object));
  const ReferenceLayout layout = ReferenceLayoutOf(workload);
  for (const PreparedPart& part : built.preparations) {
    const HostBuffer made(part.bytes);
    if (made.bytes == nullptr) return ResourceExhausted("no memory for prepared weights");
    std::memset(made.bytes, 0xff, static_cast<size_t>(part.bytes));
    std::vector<void*> buffers;
    for (int operand : part.operands) {
      // Preparations do not write their inputs; the mapping forbids it.
      const std::byte* from =
          set.memory.bytes().data() + layout.operands[static_cast<size_t>(operand)];
      buffers.push_back(const_cast<std::byte*>(from));
    }
    buffers.push_back(made.bytes);
    MLC_TRY(RunPreparation(*object, part.kernel, std::move(buffers), pool));
    prepared_.push_back(MLC_TRY(DeviceMemory::Allocate(device_, RoundUp(part.bytes))));
    MLC_TRY(device_.Upload(prepared_.back().address(), made.bytes, part.bytes));
  }
  return Status();
}

Status DeviceKernel::FillParameters(const graph::Workload& workload, const BuiltKernel& built,
                                    const DeviceSet& set) {
  std::vector<mlc_cu_ptr> first;
  std::vector<int64_t> weight_bytes;  // parallel; 0 for what is no weight
  int64_t bytes = 0;
  for (const schedule::Binding& binding : built.bindings) {
    const auto index = static_cast<size_t>(binding.index);
    mlc_cu_ptr address = 0;
    int64_t size = 0;
    if (binding.kind == Kind::kOutput) {
      address = output_memory_.address() + static_cast<uint64_t>(outputs_[index].offset);
    } else if (binding.kind == Kind::kPrepared) {
      address = prepared_[index].address();
      size = built.preparations[index].bytes;
    } else {
      const graph::TensorType& type = workload.graph()[workload.operands()[index]].type;
      address = set.operands[index];
      size = type.Extent() * SizeOf(type.dtype);
    }
    first.push_back(address);
    weight_bytes.push_back(IsWeight(workload, binding) ? RoundUp(size) : 0);
    bytes += weight_bytes.back();
  }
  first.insert(first.end(), {scratch_.address(), counters_.address()});
  arguments_.push_back({first, {}});
  if (bytes == 0) return Status();
  const int64_t more = std::min<int64_t>(kGpuCopies - 1, kCopyBudget / bytes);
  copies_ = MLC_TRY(DeviceMemory::Allocate(device_, more * bytes));
  mlc_cu_ptr to = copies_.address();
  for (int64_t copy = 0; copy < more; ++copy) {
    arguments_.push_back({first, {}});
    for (size_t i = 0; i < weight_bytes.size(); ++i) {
      if (weight_bytes[i] == 0) continue;
      // Both ends lie in buffers that were rounded up alike.
      MLC_TRY(
          device_.Check(device_.cuda().memcpy_dtod_async(
                            to, first[i], static_cast<size_t>(weight_bytes[i]), device_.stream()),
                        "copying weights"));
      arguments_.back().addresses[i] = to;
      to += static_cast<uint64_t>(weight_bytes[i]);
    }
  }
  return Status();
}

Status DeviceKernel::EncodeMaps() {
  for (Arguments& arguments : arguments_) {
    for (const mlc_tensor_map& map : tensor_maps_) {
      const int result = mlc_cuda_encode_tensor_map(
          &device_.cuda(), &map, arguments.addresses.data(), &arguments.maps.emplace_back());
      MLC_TRY(device_.Check(result, "encoding a tensor map"));
    }
  }
  return Status();
}

Status DeviceKernel::Poison() {
  for (const DeviceMemory* memory : {&output_memory_, &scratch_}) {
    MLC_TRY(device_.Check(
        device_.cuda().memset_d8_async(memory->address(), 0xff,
                                       static_cast<size_t>(memory->bytes()), device_.stream()),
        "poisoning outputs"));
  }
  return Status();
}

Status DeviceKernel::Execute(int copy) {
  Arguments& arguments = arguments_[static_cast<size_t>(copy)];
  std::vector<void*> parameters;
  for (mlc_cu_ptr& address : arguments.addresses) parameters.push_back(&address);
  for (mlc_cu_tensor_map& map : arguments.maps) parameters.push_back(&map);
  for (size_t i = 0; i < functions_.size(); ++i) {
    const codegen::CudaLaunch& launch = launches_[i];
    MLC_TRY(device_.Check(
        mlc_cuda_launch(&device_.cuda(), functions_[i], codegen::ForDriver(launch.grid),
                        codegen::ForDriver(launch.block), static_cast<uint32_t>(launch.block_bytes),
                        device_.stream(), parameters.data(), 0),
        "launch of " + launch.function));
  }
  return Status();
}

Status DeviceKernel::ReadOutputs(std::vector<std::byte>& outputs) {
  MLC_TRY(device_.Synchronize("the kernel"));
  outputs.resize(static_cast<size_t>(output_memory_.bytes()));
  return device_.Download(outputs.data(), output_memory_.address(), output_memory_.bytes());
}

const std::byte* DeviceKernel::Output(const std::vector<std::byte>& outputs, size_t i) const {
  return outputs.data() + outputs_[i].offset;
}

std::string DeviceKernel::GuardError(const std::vector<std::byte>& outputs) const {
  int64_t at = 0;
  const auto whole = [&](int64_t end) {
    const auto* from = outputs.data() + at;
    return std::all_of(from, outputs.data() + end,
                       [](std::byte b) { return b == std::byte{0xff}; });
  };
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (!whole(outputs_[i].offset))
      return "written before the beginning of output " + std::to_string(i);
    at = outputs_[i].offset + outputs_[i].bytes;
  }
  if (!whole(static_cast<int64_t>(outputs.size()))) {
    return "written past the end of output " + std::to_string(outputs_.size() - 1);
  }
  return "";
}

}  // namespace mlc::worker
