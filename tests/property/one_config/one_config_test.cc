// The kernels of one config against the reference, all in this process: for someone who looks at a
// record of the log (docs/how-to/debugging.md). Which one, the environment says:
//   MLC_TEST_WORKLOAD   file with the workload's text
//   MLC_TEST_CONFIG     the config's text
//   MLC_TEST_TARGET     the target's class text; a CPU with AVX-512 if not given
//   MLC_TEST_SEED       of the inputs
// Without them a small product is tried. The interpreter needs no GPU and finds races, but is slow:
// make the dimensions of a large workload smaller.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/build/loaded_kernel.h"
#include "compiler/codegen/llvm.h"
#include "compiler/ir/interpret/interpret.h"
#include "compiler/schedule/space/family.h"
#include "tests/property/kernel_check/kernel_case.h"
#include "tests/workloads/case_range.h"

namespace mlc::schedule {
namespace {

constexpr char kProduct[] =
    "workload v1 tolerance=1e-04 {\n"
    "%0 = input() : f32[8,16]\n"
    "%1 = weight() : f32[16,32]\n"
    "%2 = matmul(%0, %1) : f32[8,32]\n"
    "return %2\n}\n";
constexpr char kTarget[] =
    "target v1 cpu arch=x86_64 isa=avx512 threads=2 l1=49152 l2=2097152 l3=33554432";

std::string FromEnvironment(const char* name, const char* usual) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : usual;
}

std::string WorkloadText() {
  const std::string path = FromEnvironment("MLC_TEST_WORKLOAD", "");
  if (path.empty()) return kProduct;
  std::ifstream file(path);
  EXPECT_TRUE(file.is_open()) << "MLC_TEST_WORKLOAD: cannot read '" << path << "'";
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Config ConfigOf(const graph::Workload& workload, const target::Target& target) {
  const std::string text = FromEnvironment("MLC_TEST_CONFIG", "");
  if (text.empty()) {
    const std::vector<const Family*> families = FamiliesFor(workload, target);
    EXPECT_FALSE(families.empty()) << "no family covers " << workload.Summary();
    return families.empty() ? Config() : families.front()->Default(workload, target);
  }
  const Result<Config> config = Config::Parse(text);
  EXPECT_TRUE(config.ok()) << "MLC_TEST_CONFIG: " << config.status().ToString();
  return config.ok() ? *config : Config();
}

// Runs a kernel in the interpreter; a failure names the buffer, the index and the thread.
void Interpret(const ir::Kernel& kernel, const std::vector<std::span<std::byte>>& params) {
  const Status verified = kernel.Verify();
  ASSERT_TRUE(verified.ok()) << verified.ToString() << "\n" << kernel.ToText();
  const Status status = ir::Interpret(kernel, params);
  ASSERT_TRUE(status.ok()) << status.ToString() << "\n" << kernel.ToText();
}

// What a config gives, and the values that its kernels read.
struct Subject {
  Case values;
  target::Target target;
  LoweredKernel lowered;
  std::vector<Storage> prepared;  // packed weights, by the interpreter
};

void Prepare(Subject& subject) {
  for (const Preparation& preparation : subject.lowered.preparations) {
    Storage& result = subject.prepared.emplace_back(
        preparation.elements * SizeOf(preparation.dtype), std::byte{0xff});
    std::vector<std::span<std::byte>> params;
    for (const int i : preparation.operands) {
      params.push_back(subject.values.operands[static_cast<size_t>(i)].span());
    }
    params.push_back(result.span());
    ASSERT_NO_FATAL_FAILURE(Interpret(preparation.kernel, params));
  }
}

// False, with a failure, if the environment does not name a config that can be lowered.
bool MakeSubject(Subject& subject) {
  const Result<target::Target> target =
      target::Target::Parse(FromEnvironment("MLC_TEST_TARGET", kTarget));
  EXPECT_TRUE(target.ok()) << "MLC_TEST_TARGET: " << target.status().ToString();
  Rng rng(CasesFromEnvironment(1).seed);
  if (!target.ok() || !MakeCase(rng, {WorkloadText()}, subject.values)) return false;
  const graph::Workload& workload = subject.values.workload;
  Result<LoweredKernel> lowered = LowerConfig(workload, *target, ConfigOf(workload, *target));
  EXPECT_TRUE(lowered.ok()) << lowered.status().ToString();
  if (!lowered.ok()) return false;
  subject.target = *target;
  subject.lowered = *std::move(lowered);
  Prepare(subject);
  return !::testing::Test::HasFailure();
}

std::vector<std::span<std::byte>> Params(Subject& subject, std::vector<Storage>& outputs) {
  std::vector<std::span<std::byte>> params;
  for (const Binding& binding : subject.lowered.bindings) {
    const auto index = static_cast<size_t>(binding.index);
    params.push_back(binding.kind == Binding::Kind::kOperand ? subject.values.operands[index].span()
                     : binding.kind == Binding::Kind::kOutput ? outputs[index].span()
                                                              : subject.prepared[index].span());
  }
  return params;
}

void CompareWithReference(Subject& subject, std::vector<Storage>& outputs, const char* how) {
  const double tolerance = std::max(subject.values.workload.tolerance(), 1e-5);
  Compare(subject.values, outputs, tolerance, how);
  if (::testing::Test::HasFailure()) ADD_FAILURE() << subject.lowered.kernel.ToText();
}

TEST(OneConfigTest, InterpretedKernelGivesTheReference) {
  Subject subject;
  if (!MakeSubject(subject)) return;
  std::vector<Storage> outputs = Outputs(subject.values);
  ASSERT_NO_FATAL_FAILURE(Interpret(subject.lowered.kernel, Params(subject, outputs)));
  CompareWithReference(subject, outputs, "interpreted");
}

// Neither a child nor a sandbox: a crash of the compiler or of the kernel is one of this program.
TEST(OneConfigTest, CompiledKernelGivesTheReference) {
  Subject subject;
  if (!MakeSubject(subject)) return;
  if (subject.target.As<target::GpuTarget>() != nullptr)
    GTEST_SKIP() << "kernels for GPUs: mlc-worker --trial";
  if (subject.target.cpu().vector_bits() > target::DetectHost(1).cpu().vector_bits()) {
    GTEST_SKIP() << "this machine has shorter vectors than the target";
  }
  const ir::Kernel& kernel = subject.lowered.kernel;
  const Result<std::string> object = codegen::CompileToObject({&kernel}, subject.target);
  ASSERT_TRUE(object.ok()) << object.status().ToString();
  const auto loaded = build::LoadObject(*object);
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  const codegen::KernelLayout layout = codegen::LayoutOf(kernel);
  const auto phases = (*loaded)->Phases(kernel.name, static_cast<int>(layout.phase_extents.size()));
  ASSERT_TRUE(phases.ok()) << phases.status().ToString();
  std::vector<Storage> outputs = Outputs(subject.values);
  Storage shared(layout.workspace_bytes + 64), scratch(layout.thread_bytes + 64);
  std::vector<void*> buffers;
  for (const std::span<std::byte> param : Params(subject, outputs)) buffers.push_back(param.data());
  buffers.push_back(shared.data());
  buffers.push_back(scratch.data());
  for (size_t i = 0; i < phases->size(); ++i) {
    (*phases)[i](buffers.data(), 0, layout.phase_extents[i], 0);
  }
  CompareWithReference(subject, outputs, "compiled");
}

}  // namespace
}  // namespace mlc::schedule
