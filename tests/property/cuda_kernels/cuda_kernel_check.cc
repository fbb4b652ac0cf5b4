// CheckFamily for GPUs: the family that stands for the named one of CPUs is lowered for
// random devices and interpreted, all threads of a block in step.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/interpret/interpret.h"
#include "compiler/schedule/space/family.h"
#include "tests/property/kernel_check/kernel_case.h"
#include "tests/property/kernel_check/kernel_check.h"

namespace mlc::schedule {

namespace {

const char* const kTargets[] = {
    "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560 fma_gflops=60000 "
    "tensor_gflops=800000 copy_gbps=4350",
    "target v1 cuda arch=sm_80 sms=2 block=166912 sm=167936 l2=41943040 fma_gflops=19500 "
    "tensor_gflops=300000 copy_gbps=1500"};

const Family* GpuFamilyFor(std::string_view family) {
  static const std::map<std::string_view, std::string_view> names = {
      {"pointwise", "gpu_pointwise"},
      {"row_reduce", "gpu_row_reduce"},
      {"window", "gpu_pool"},
      {"depthwise", "gpu_depthwise"},
      {"attention", "gpu_attention"}};
  const auto found = names.find(family);
  return FindFamily(found == names.end() ? family : found->second);
}

std::vector<Storage> Prepare(Case& c, const LoweredKernel& lowered) {
  std::vector<Storage> prepared;
  for (const Preparation& preparation : lowered.preparations) {
    Storage& result =
        prepared.emplace_back(preparation.elements * SizeOf(preparation.dtype), std::byte{0xff});
    std::vector<std::span<std::byte>> params;
    for (int operand : preparation.operands) {
      params.push_back(c.operands[static_cast<size_t>(operand)].span());
    }
    params.push_back(result.span());
    const Status status = ir::Interpret(preparation.kernel, params);
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  return prepared;
}

void CheckConfig(Case& c, const target::Target& target, const Config& config, double tolerance) {
  SCOPED_TRACE(target.ToText() + "\n" + config.ToText() + "\n" + c.workload.ToText());
  const auto lowered = LowerConfig(c.workload, target, config);
  ASSERT_TRUE(lowered.ok()) << lowered.status().ToString();
  const Status verified = lowered->kernel.Verify();
  ASSERT_TRUE(verified.ok()) << verified.ToString() << "\n" << lowered->kernel.ToText();
  std::vector<Storage> prepared = Prepare(c, *lowered);
  std::vector<Storage> outputs = Outputs(c);
  std::vector<std::span<std::byte>> params;
  for (const Binding& binding : lowered->bindings) {
    const auto index = static_cast<size_t>(binding.index);
    params.push_back(binding.kind == Binding::Kind::kOperand  ? c.operands[index].span()
                     : binding.kind == Binding::Kind::kOutput ? outputs[index].span()
                                                              : prepared[index].span());
  }
  const Status status = ir::Interpret(lowered->kernel, params);
  EXPECT_TRUE(status.ok()) << status.ToString();
  if (status.ok()) Compare(c, outputs, tolerance, "interpreted");
  if (::testing::Test::HasFailure()) ADD_FAILURE() << lowered->kernel.ToText();
}

}  // namespace

void CheckFamily(Rng& rng, const RandomWorkload& random, std::string_view name, int configs) {
  const Family* family = GpuFamilyFor(name);
  ASSERT_NE(family, nullptr) << name;
  Case c;
  if (!MakeCase(rng, random, c)) return;
  const auto target = target::Target::Parse(kTargets[rng.Below(2)]);
  ASSERT_TRUE(target.ok()) << target.status().ToString();
  ASSERT_TRUE(family->Accepts(c.workload, *target)) << c.workload.ToText();
  const Config usual = family->Default(c.workload, *target);
  ASSERT_EQ(family->Check(c.workload, *target, usual), RejectReason::kNone) << usual.ToText();
  CheckConfig(c, *target, usual, random.tolerance);
  const Space space = family->MakeSpace(c.workload, *target);
  ASSERT_GE(space.RankOf(usual), 0) << usual.ToText();
  int legal = 0;
  for (int i = 0; i < 50 && legal < configs && !::testing::Test::HasFailure(); ++i) {
    const auto points = static_cast<uint64_t>(space.NumPoints());
    const Config config = space.At(static_cast<int64_t>(rng.Below(points)));
    if (family->Check(c.workload, *target, config) != RejectReason::kNone) continue;
    ++legal;
    const KernelFacts facts = family->Facts(c.workload, *target, config);
    EXPECT_GE(facts.blocks, 1);
    EXPECT_GE(facts.block_threads, 32);
    EXPECT_GT(facts.waves, 0);
    EXPECT_GE(facts.imbalance, 1 - 1e-9);
    CheckConfig(c, *target, config, random.tolerance);
  }
}

}  // namespace mlc::schedule
