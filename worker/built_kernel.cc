#include "worker/built_kernel.h"

#include <chrono>

#include "worker/bytes.h"

namespace mlc::worker {
namespace {

using Kind = schedule::Binding::Kind;

KernelPart PartOf(const ir::Kernel& kernel) { return {kernel.name, codegen::LayoutOf(kernel)}; }

void Put(ByteWriter& out, const KernelPart& part) {
  out.PutText(part.name);
  out.Put<uint64_t>(part.layout.phase_extents.size());
  for (int64_t extent : part.layout.phase_extents) out.Put(extent);
  out.Put(part.layout.shared_bytes);
  out.Put(part.layout.thread_bytes);
}

KernelPart GetPart(ByteReader& in) {
  KernelPart part;
  part.name = in.GetText();
  part.layout.phase_extents.resize(in.GetCount());
  for (int64_t& extent : part.layout.phase_extents) extent = in.Get<int64_t>();
  part.layout.shared_bytes = in.Get<int64_t>();
  part.layout.thread_bytes = in.Get<int64_t>();
  return part;
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
  for (const PreparedPart& prepared : built.preparations) {
    for (int operand : prepared.operands) {
      if (!within(operand, workload.operands().size())) return false;
    }
  }
  return true;
}

}  // namespace

Result<BuiltKernel> Compile(const schedule::LoweredKernel& lowered, const target::Target& target) {
  MLC_TRY(lowered.kernel.Verify());
  BuiltKernel built;
  built.kernel = PartOf(lowered.kernel);
  built.bindings = lowered.bindings;
  std::vector<const ir::Kernel*> kernels = {&lowered.kernel};
  for (const schedule::Preparation& p : lowered.preparations) {
    MLC_TRY(p.kernel.Verify());
    kernels.push_back(&p.kernel);
    built.preparations.push_back({PartOf(p.kernel), p.operands, p.elements * SizeOf(p.dtype)});
  }
  built.object = MLC_TRY(codegen::CompileToObject(kernels, target));
  return built;
}

Result<BuiltKernel> BuildKernel(std::string_view workload, std::string_view config,
                                const target::Target& target) {
  const auto start = std::chrono::steady_clock::now();
  const graph::Workload parsed = MLC_TRY(graph::Workload::Parse(workload));
  const schedule::Config point = MLC_TRY(schedule::Config::Parse(config));
  BuiltKernel built =
      MLC_TRY(Compile(MLC_TRY(schedule::LowerConfig(parsed, target, point)), target));
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
  built.build_ms = taken.count();
  return built;
}

std::string Encode(const BuiltKernel& built) {
  ByteWriter out;
  out.PutText(built.object);
  Put(out, built.kernel);
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
  return out.Take();
}

Result<BuiltKernel> Decode(std::string_view bytes, const graph::Workload& workload) {
  ByteReader in(bytes);
  BuiltKernel built;
  built.object = in.GetText();
  built.kernel = GetPart(in);
  built.bindings.resize(in.GetCount());
  for (schedule::Binding& binding : built.bindings) {
    binding.kind = in.Get<Kind>();
    binding.index = in.Get<int>();
  }
  built.preparations.resize(in.GetCount());
  for (PreparedPart& prepared : built.preparations) {
    prepared.kernel = GetPart(in);
    prepared.operands.resize(in.GetCount());
    for (int& operand : prepared.operands) operand = in.Get<int>();
    prepared.bytes = in.Get<int64_t>();
  }
  built.build_ms = in.Get<double>();
  if (!in.AtEnd() || !Fits(built, workload)) {
    return DataLoss("the build child sent something else than a kernel");
  }
  return built;
}

}  // namespace mlc::worker
