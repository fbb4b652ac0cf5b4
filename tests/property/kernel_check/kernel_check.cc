#include "tests/property/kernel_check/kernel_check.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "compiler/build/loaded_kernel.h"
#include "compiler/codegen/llvm.h"
#include "compiler/ir/interpret/interpret.h"
#include "compiler/schedule/space/family.h"
#include "tests/property/kernel_check/kernel_case.h"

namespace mlc::schedule {

namespace {

void CheckInterpreted(Case& c, const LoweredKernel& lowered, double tolerance) {
  std::vector<Storage> outputs = Outputs(c);
  std::vector<std::span<std::byte>> params;
  for (const Binding& binding : lowered.bindings) {
    const auto index = static_cast<size_t>(binding.index);
    params.push_back(binding.kind == Binding::Kind::kOperand ? c.operands[index].span()
                                                             : outputs[index].span());
  }
  const Status status = ir::Interpret(lowered.kernel, params);
  ASSERT_TRUE(status.ok()) << status.ToString();
  Compare(c, outputs, tolerance, "interpreted");
}

void CheckCompiled(Case& c, const LoweredKernel& lowered, const target::Target& target,
                   double tolerance) {
  const auto object = codegen::CompileToObject({&lowered.kernel}, target);
  ASSERT_TRUE(object.ok()) << object.status().ToString();
  const auto loaded = build::LoadObject(*object);
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  const codegen::KernelLayout layout = codegen::LayoutOf(lowered.kernel);
  const auto phases =
      (*loaded)->Phases(lowered.kernel.name, static_cast<int>(layout.phase_extents.size()));
  ASSERT_TRUE(phases.ok()) << phases.status().ToString();
  std::vector<Storage> outputs = Outputs(c);
  Storage shared(layout.workspace_bytes + 64), scratch(layout.thread_bytes + 64);
  std::vector<void*> buffers;
  for (const Binding& binding : lowered.bindings) {
    const auto index = static_cast<size_t>(binding.index);
    buffers.push_back(binding.kind == Binding::Kind::kOperand ? c.operands[index].data()
                                                              : outputs[index].data());
  }
  buffers.push_back(shared.data());
  buffers.push_back(scratch.data());
  for (size_t i = 0; i < phases->size(); ++i) {
    (*phases)[i](buffers.data(), 0, layout.phase_extents[i], 0);
  }
  Compare(c, outputs, tolerance, "compiled");
}

void CheckConfig(Case& c, const target::Target& target, const Config& config, bool compiled,
                 double tolerance) {
  SCOPED_TRACE(target.ToText() + "\n" + config.ToText() + "\n" + c.workload.ToText());
  const auto lowered = LowerConfig(c.workload, target, config);
  ASSERT_TRUE(lowered.ok()) << lowered.status().ToString();
  ASSERT_TRUE(lowered->preparations.empty());
  const Status verified = lowered->kernel.Verify();
  ASSERT_TRUE(verified.ok()) << verified.ToString() << "\n" << lowered->kernel.ToText();
  if (compiled) {
    CheckCompiled(c, *lowered, target, tolerance);
  } else {
    CheckInterpreted(c, *lowered, tolerance);
  }
  if (::testing::Test::HasFailure()) ADD_FAILURE() << lowered->kernel.ToText();
}

void CheckTarget(Rng& rng, Case& c, const target::Target& target, const Family& family,
                 bool compiled, double tolerance, int configs) {
  ASSERT_TRUE(family.Accepts(c.workload, target)) << c.workload.ToText();
  const Config usual = family.Default(c.workload, target);
  ASSERT_EQ(family.Check(c.workload, target, usual), RejectReason::kNone) << usual.ToText();
  CheckConfig(c, target, usual, compiled, tolerance);
  const Space space = family.MakeSpace(c.workload, target);
  ASSERT_GE(space.RankOf(usual), 0) << usual.ToText();
  int legal = 0;
  for (int i = 0; i < 50 && legal < configs && !::testing::Test::HasFailure(); ++i) {
    const auto points = static_cast<uint64_t>(space.NumPoints());
    const Config config = space.At(static_cast<int64_t>(rng.Below(points)));
    if (family.Check(c.workload, target, config) != RejectReason::kNone) continue;
    ++legal;
    const KernelFacts facts = family.Facts(c.workload, target, config);
    EXPECT_GE(facts.parallel_chunks, 1);
    EXPECT_GE(facts.imbalance, 1 - 1e-9);
    CheckConfig(c, target, config, compiled, tolerance);
  }
}

}  // namespace

void CheckFamily(Rng& rng, const RandomWorkload& random, std::string_view family, int configs) {
  const Family* found = FindFamily(family);
  ASSERT_NE(found, nullptr) << family;
  Case c;
  if (!MakeCase(rng, random, c)) return;
  target::Target target;
  const target::Isa isas[] = {target::Isa::kAvx512, target::Isa::kAvx2, target::Isa::kPlain};
  target.cpu().isa = isas[rng.Below(3)];
  target.cpu().threads = 1 + static_cast<int>(rng.Below(2));
  CheckTarget(rng, c, target, *found, false, random.tolerance, configs);
  if (::testing::Test::HasFailure()) return;
  CheckTarget(rng, c, target::DetectHost(2), *found, true, random.tolerance, configs);
}

}  // namespace mlc::schedule
