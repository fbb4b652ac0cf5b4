#include "worker/build/built_kernel.h"

#include <chrono>

#include "base/process/bytes.h"
#include "compiler/build/c_compiler.h"
#include "compiler/schedule/cuda/user_kernel/user_kernel.h"

namespace mlc::worker {
namespace {

using Kind = schedule::Binding::Kind;

// Bytes that each takes in a message at least.
constexpr size_t kMinPart = ByteReader::kLeastText + 3 * sizeof(uint64_t);
constexpr size_t kMinLaunch = ByteReader::kLeastText + 7 * sizeof(int64_t);
constexpr size_t kMinBinding = sizeof(Kind) + sizeof(int);
constexpr size_t kMinPreparation = kMinPart + 2 * sizeof(uint64_t);

KernelPart PartOf(const ir::Kernel& kernel) { return {kernel.name, codegen::LayoutOf(kernel)}; }

void Put(ByteWriter& out, const KernelPart& part) {
  out.PutText(part.name);
  out.Put<uint64_t>(part.layout.phase_extents.size());
  for (int64_t extent : part.layout.phase_extents) out.Put(extent);
  out.Put(part.layout.workspace_bytes);
  out.Put(part.layout.thread_bytes);
}

KernelPart GetPart(ByteReader& in) {
  KernelPart part;
  part.name = in.GetText();
  part.layout.phase_extents.resize(in.GetCount(sizeof(int64_t)));
  for (int64_t& extent : part.layout.phase_extents) extent = in.Get<int64_t>();
  part.layout.workspace_bytes = in.Get<int64_t>();
  part.layout.thread_bytes = in.Get<int64_t>();
  return part;
}

void Put(ByteWriter& out, const target::Dim3& extent) {
  for (const int64_t n : {extent.x, extent.y, extent.z}) out.Put(n);
}

target::Dim3 GetDim3(ByteReader& in) {
  target::Dim3 extent;
  for (int64_t* n : {&extent.x, &extent.y, &extent.z}) *n = in.Get<int64_t>();
  return extent;
}

// Calls `number` with each of the map's.
void EachNumber(auto& map, auto&& number) {
  number(map.byte_offset);
  for (auto& n : map.sizes) number(n);
  for (auto& n : map.pitches) number(n);
  for (auto* n : {&map.argument, &map.type, &map.rank}) number(*n);
  for (auto& n : map.boxes) number(n);
  for (auto& n : map.steps) number(n);
  for (auto* n : {&map.swizzle, &map.promotion}) number(*n);
}

void Put(ByteWriter& out, const mlc_tensor_map& map) {
  EachNumber(map, [&](const auto& n) { out.Put(n); });
}

mlc_tensor_map GetTensorMap(ByteReader& in) {
  mlc_tensor_map map = {};
  EachNumber(map, [&]<typename T>(T& n) { n = in.Get<T>(); });
  return map;
}

void Put(ByteWriter& out, const DevicePart& device) {
  out.PutText(device.image);
  out.Put<uint64_t>(device.launches.size());
  for (const codegen::CudaLaunch& launch : device.launches) {
    out.PutText(launch.function);
    Put(out, launch.grid);
    Put(out, launch.block);
    out.Put(launch.block_bytes);
  }
  out.Put(device.workspace_bytes);
  out.Put(device.counter_bytes);
  out.Put<uint64_t>(device.tensor_maps.size());
  for (const mlc_tensor_map& map : device.tensor_maps) Put(out, map);
}

DevicePart GetDevicePart(ByteReader& in) {
  DevicePart device;
  device.image = in.GetText();
  device.launches.resize(in.GetCount(kMinLaunch));
  for (codegen::CudaLaunch& launch : device.launches) {
    launch.function = in.GetText();
    launch.grid = GetDim3(in);
    launch.block = GetDim3(in);
    launch.block_bytes = in.Get<int64_t>();
  }
  device.workspace_bytes = in.Get<int64_t>();
  device.counter_bytes = in.Get<int64_t>();
  device.tensor_maps.resize(in.GetCount(sizeof(mlc_tensor_map)));
  for (mlc_tensor_map& map : device.tensor_maps) map = GetTensorMap(in);
  return device;
}

// What no device could launch, or no memory hold; or a map of what is no argument,
// or of more dimensions than maps have.
bool Sane(const DevicePart& device, size_t arguments) {
  constexpr int64_t kMaxBytes = int64_t{1} << 40;
  const auto sane_bytes = [](int64_t bytes) { return bytes >= 0 && bytes < kMaxBytes; };
  for (const codegen::CudaLaunch& launch : device.launches) {
    if (!target::CheckLaunch(launch.grid, launch.block).ok()) return false;
    if (launch.block_bytes < 0 || launch.block_bytes > (1 << 24)) return false;
  }
  for (const mlc_tensor_map& map : device.tensor_maps) {
    if (map.argument < 0 || static_cast<size_t>(map.argument) >= arguments) return false;
    if (map.rank < 2 || map.rank > MLC_TENSOR_MAP_MAX_RANK) return false;
  }
  return !device.launches.empty() && sane_bytes(device.workspace_bytes) &&
         sane_bytes(device.counter_bytes);
}

bool Fits(const BuiltKernel& built, const graph::Workload& workload) {
  const auto within = [](int index, size_t count) {
    return index >= 0 && static_cast<size_t>(index) < count;
  };
  for (const schedule::Binding& binding : built.bindings) {
    const size_t count = binding.kind == Kind::kOperand  ? workload.operands().size()
                         : binding.kind == Kind::kOutput ? workload.outputs().size()
                                                         : built.preparations.size();
    if (binding.kind > Kind::kPrepared || !within(binding.index, count)) return false;
  }
  if (built.device && !Sane(*built.device, built.bindings.size() + 2)) return false;
  for (const PreparedPart& prepared : built.preparations) {
    if (prepared.bytes < 0) return false;
    for (int operand : prepared.operands) {
      if (!within(operand, workload.operands().size())) return false;
    }
  }
  return true;
}

// Verifies the preparations and lists their kernels.
Status AddPreparations(const schedule::LoweredKernel& lowered, BuiltKernel& built,
                       std::vector<const ir::Kernel*>& kernels) {
  for (const schedule::Preparation& p : lowered.preparations) {
    MLC_TRY(p.kernel.Verify());
    kernels.push_back(&p.kernel);
    built.preparations.push_back({PartOf(p.kernel), p.operands, p.elements * SizeOf(p.dtype)});
  }
  return Status();
}

// Why a compiled kernel is not worth running; OK if it is.
Status Judge(const build::CudaBinary& binary) {
  for (const build::CudaResources& r : binary.resources) {
    if (r.spill_store_bytes + r.spill_load_bytes == 0) continue;
    return InvalidArgument(r.function +
                           " spills registers: " + std::to_string(r.spill_store_bytes) +
                           " bytes stored, " + std::to_string(r.spill_load_bytes) +
                           " loaded with " + std::to_string(r.registers) + " registers");
  }
  if (binary.performance_warnings.empty()) return Status();
  return InvalidArgument("the compiler warns of slow code: " + binary.performance_warnings.front());
}

}  // namespace

Result<BuiltKernel> Compile(const schedule::LoweredKernel& lowered, const target::Target& target) {
  MLC_TRY(lowered.kernel.Verify());
  BuiltKernel built;
  built.kernel = PartOf(lowered.kernel);
  built.bindings = lowered.bindings;
  std::vector<const ir::Kernel*> kernels = {&lowered.kernel};
  MLC_TRY(AddPreparations(lowered, built, kernels));
  built.object = MLC_TRY(codegen::CompileToObject(kernels, target));
  return built;
}

Result<BuiltKernel> CompileForDevice(const schedule::LoweredKernel& lowered,
                                     const target::Target& target, const CudaToolchain& tools) {
  if (tools.nvrtc == nullptr) return FailedPrecondition("this worker has no CUDA compiler");
  MLC_TRY(lowered.kernel.Verify());
  BuiltKernel built;
  built.bindings = lowered.bindings;
  std::vector<const ir::Kernel*> kernels;
  MLC_TRY(AddPreparations(lowered, built, kernels));
  codegen::CudaSource source = MLC_TRY(codegen::PrintCuda(lowered.kernel, target));
  build::CudaBinary binary = MLC_TRY(tools.nvrtc->Compile(source.text, target.gpu().CudaArch()));
  MLC_TRY(Judge(binary));
  built.device =
      DevicePart{std::move(binary.image), std::move(source.launches), source.workspace_bytes,
                 source.counter_bytes, std::move(source.tensor_maps)};
  if (!kernels.empty()) built.object = MLC_TRY(codegen::CompileToObject(kernels, tools.host));
  return built;
}

Result<BuiltKernel> CompileUserKernel(const graph::Workload& workload,
                                      const schedule::Config& config, const target::Target& target,
                                      const CudaToolchain& tools) {
  if (tools.nvrtc == nullptr) return FailedPrecondition("this worker has no CUDA compiler");
  const schedule::UserKernel user_kernel = MLC_TRY(schedule::UserKernel::FromConfig(config));
  MLC_TRY(schedule::CheckFits(user_kernel, target));
  build::CudaBinary binary =
      MLC_TRY(tools.nvrtc->Compile(user_kernel.source, target.gpu().CudaArch()));
  // What spills may still be the fastest: its author decides, and the clock.
  MLC_TRY(build::CheckEntry(binary, user_kernel.entry));
  BuiltKernel built;
  built.bindings = schedule::UserKernelBindings(workload);
  built.device = DevicePart{
      std::move(binary.image),
      {{user_kernel.entry, user_kernel.grid, user_kernel.block, user_kernel.block_bytes}},
      0,
      0,
      {}};
  return built;
}

Result<BuiltKernel> CompileCKernel(const graph::Workload& workload, const schedule::Config& config,
                                   const target::Target& target, const CpuToolchain& tools) {
  const schedule::UserKernel user_kernel = MLC_TRY(schedule::UserKernel::FromConfig(config));
  MLC_TRY(schedule::CheckFits(user_kernel, target));
  BuiltKernel built;
  built.object = MLC_TRY(
      build::CompileC(tools.c_compiler, tools.scratch, {user_kernel.source, user_kernel.options}));
  const target::Dim3& grid = user_kernel.grid;
  built.kernel = {user_kernel.entry, {{grid.x * grid.y * grid.z}, 0, 0}};
  built.bindings = schedule::UserKernelBindings(workload);
  built.is_c = true;
  return built;
}

namespace {

constexpr char kNoUserKernels[] =
    "this worker runs no user-supplied kernels: it was started without --allow-user-kernels";

Result<schedule::LoweredKernel> Lower(std::string_view workload, const schedule::Config& config,
                                      const target::Target& target) {
  return schedule::LowerConfig(MLC_TRY(graph::Workload::Parse(workload)), target, config);
}

Result<BuiltKernel> BuildConfig(std::string_view workload, const schedule::Config& config,
                                const target::Target& target, const CudaToolchain& tools) {
  if (schedule::IsUserKernel(config)) {
    return CompileUserKernel(MLC_TRY(graph::Workload::Parse(workload)), config, target, tools);
  }
  return CompileForDevice(MLC_TRY(Lower(workload, config, target)), target, tools);
}

double MsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

}  // namespace

Result<BuiltKernel> BuildKernel(std::string_view workload, std::string_view config,
                                const target::Target& target, const CpuToolchain& tools) {
  const auto start = std::chrono::steady_clock::now();
  const schedule::Config point = MLC_TRY(schedule::Config::Parse(config));
  BuiltKernel built;
  if (!schedule::IsUserKernel(point)) {
    built = MLC_TRY(Compile(MLC_TRY(Lower(workload, point, target)), target));
  } else if (tools.c_compiler.empty()) {
    return FailedPrecondition(
        "this worker runs no user-supplied kernels on its CPU: that needs --allow-user-kernels and "
        "a C compiler (gcc or clang)");
  } else {
    built =
        MLC_TRY(CompileCKernel(MLC_TRY(graph::Workload::Parse(workload)), point, target, tools));
  }
  built.build_ms = MsSince(start);
  return built;
}

Result<BuiltKernel> BuildKernel(std::string_view workload, std::string_view config,
                                const target::Target& target, const CudaToolchain& tools) {
  const auto start = std::chrono::steady_clock::now();
  const schedule::Config point = MLC_TRY(schedule::Config::Parse(config));
  if (schedule::IsUserKernel(point) && !tools.allow_user_kernels) {
    return FailedPrecondition(kNoUserKernels);
  }
  BuiltKernel built = MLC_TRY(BuildConfig(workload, point, target, tools));
  built.build_ms = MsSince(start);
  return built;
}

std::string Encode(const BuiltKernel& built) {
  ByteWriter out;
  out.PutText(built.object);
  Put(out, built.kernel);
  out.Put(built.device.has_value());
  if (built.device) Put(out, *built.device);
  out.Put<uint64_t>(built.bindings.size());
  for (const schedule::Binding& binding : built.bindings) {
    out.Put(binding.kind);
    out.Put(binding.index);
  }
  out.Put<uint64_t>(built.preparations.size());
  for (const PreparedPart& prepared : built.preparations) {
    Put(out, prepared.kernel);
    out.Put<uint64_t>(prepared.operands.size());
    for (int operand : prepared.operands) out.Put(operand);
    out.Put(prepared.bytes);
  }
  out.Put(built.build_ms);
  out.Put(built.is_c);
  return out.Take();
}

Result<BuiltKernel> Decode(std::string_view bytes, const graph::Workload& workload) {
  ByteReader in(bytes);
  BuiltKernel built;
  built.object = in.GetText();
  built.kernel = GetPart(in);
  if (in.Get<bool>()) built.device = GetDevicePart(in);
  built.bindings.resize(in.GetCount(kMinBinding));
  for (schedule::Binding& binding : built.bindings) {
    binding.kind = in.Get<Kind>();
    binding.index = in.Get<int>();
  }
  built.preparations.resize(in.GetCount(kMinPreparation));
  for (PreparedPart& prepared : built.preparations) {
    prepared.kernel = GetPart(in);
    prepared.operands.resize(in.GetCount(sizeof(int)));
    for (int& operand : prepared.operands) operand = in.Get<int>();
    prepared.bytes = in.Get<int64_t>();
  }
  built.build_ms = in.Get<double>();
  built.is_c = in.Get<bool>();
  if (!in.AtEnd() || !Fits(built, workload)) {
    return DataLoss("the build child sent something else than a kernel");
  }
  return built;
}

}  // namespace mlc::worker
