// Kernels and libraries for another processor than this machine's: built here, run under an
// emulator, held against the reference evaluator.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>

#include "base/rng.h"
#include "compiler/backend/backend.h"
#include "compiler/codegen/llvm.h"
#include "compiler/front/front.h"
#include "compiler/graph/evaluate/evaluate.h"
#include "compiler/graph/tensor_io.h"
#include "compiler/ir/interpret/interpret.h"
#include "compiler/package/library.h"
#include "compiler/package/link.h"
#include "compiler/schedule/space/family.h"
#include "costmodel/default_config.h"
#include "tests/e2e/library/small_models.h"
#include "tests/e2e/models/run_program.h"
#include "tests/property/kernel_check/kernel_case.h"
#include "tests/workloads/attention.h"
#include "tests/workloads/contraction.h"
#include "tests/workloads/data_movement.h"
#include "tests/workloads/pointwise.h"
#include "tests/workloads/pool.h"
#include "tests/workloads/row_reduce.h"

namespace mlc::schedule {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTarget =
    "target v1 cpu arch=aarch64 isa=neon threads=2 l1=65536 l2=1048576 l3=33554432";

// What is missing on this machine; empty if nothing is.
std::string Missing() {
  if (std::string_view(MLC_QEMU).empty()) return "no qemu-aarch64: install qemu-user";
  if (std::string_view(MLC_RUN_KERNEL).empty()) {
    return "no aarch64-linux-gnu-gcc: install gcc-aarch64-linux-gnu and libc6-dev-arm64-cross";
  }
  return {};
}

class Cross : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = Missing(); !missing.empty()) GTEST_SKIP() << missing;
    folder_ = ::testing::TempDir() + "mlc_cross_test_" + std::to_string(getpid());
    fs::create_directories(folder_);
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  std::string File(const std::string& name) const { return folder_ + "/" + name; }
  void Write(const std::string& name, std::span<const std::byte> bytes) const {
    std::ofstream out(File(name), std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
    ASSERT_TRUE(out.flush()) << name;
  }
  void Read(const std::string& name, std::span<std::byte> bytes) const {
    std::ifstream in(File(name), std::ios::binary);
    in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    ASSERT_EQ(in.gcount(), static_cast<std::streamsize>(bytes.size())) << name;
  }
  void Run(std::vector<std::string> command) const {
    command.insert(command.begin(), {MLC_QEMU, "-L", MLC_CROSS_ROOT});
    const testing::Finished finished = testing::RunProgram(command);
    ASSERT_EQ(finished.exit_code, 0) << finished.output;
  }

  void CheckKernel(Case& c, const LoweredKernel& lowered, double tolerance);
  void CheckConfig(Case& c, const Config& config, double tolerance);
  void CheckWorkload(Rng& rng, const RandomWorkload& random);

  const target::Target target_ = *target::Target::Parse(kTarget);
  std::string folder_;
  std::set<std::string_view> met_;  // families
};

// Packed weights, by the interpreter: any processor may prepare them.
std::vector<Storage> Prepared(Case& c, const LoweredKernel& lowered) {
  std::vector<Storage> prepared;
  for (const Preparation& preparation : lowered.preparations) {
    Storage& result = prepared.emplace_back(preparation.elements * SizeOf(preparation.dtype));
    std::vector<std::span<std::byte>> params;
    for (const int i : preparation.operands) {
      params.push_back(c.operands[static_cast<size_t>(i)].span());
    }
    params.push_back(result.span());
    const Status status = ir::Interpret(preparation.kernel, params);
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  return prepared;
}

void Cross::CheckKernel(Case& c, const LoweredKernel& lowered, double tolerance) {
  const auto object = codegen::CompileToObject({&lowered.kernel}, target_);
  ASSERT_TRUE(object.ok()) << object.status().ToString();
  Write("kernel.o", std::as_bytes(std::span(*object)));
  const codegen::KernelLayout layout = codegen::LayoutOf(lowered.kernel);
  package::LinkJob job{{File("kernel.o")}, {},     "kernel.so", target_.cpu().arch,
                       File("kernel.so"),  folder_};
  for (size_t p = 0; p < layout.phase_extents.size(); ++p) {
    job.exported.push_back(lowered.kernel.name + "_p" + std::to_string(p));
  }
  const Status linked = package::LinkShared(job);
  ASSERT_TRUE(linked.ok()) << linked.ToString();

  std::vector<Storage> outputs = Outputs(c), prepared = Prepared(c, lowered);
  std::vector<std::string> command = {MLC_RUN_KERNEL, job.output,
                                      std::to_string(lowered.bindings.size() + 2)};
  const auto pass = [&](const std::string& name, int64_t bytes) {
    command.insert(command.end(), {std::to_string(bytes), File(name)});
  };
  std::vector<std::span<std::byte>> buffers;
  for (const Binding& binding : lowered.bindings) {
    auto& storage = binding.kind == Binding::Kind::kOperand  ? c.operands
                    : binding.kind == Binding::Kind::kOutput ? outputs
                                                             : prepared;
    buffers.push_back(storage[static_cast<size_t>(binding.index)].span());
    const std::string name = "buffer" + std::to_string(buffers.size() - 1);
    Write(name, buffers.back());
    pass(name, static_cast<int64_t>(buffers.back().size()));
  }
  for (const auto& [name, bytes] :
       {std::pair("shared", layout.workspace_bytes), std::pair("scratch", layout.thread_bytes)}) {
    Write(name, {});
    pass(name, bytes);
  }
  for (size_t p = 0; p < layout.phase_extents.size(); ++p) {
    command.insert(command.end(), {job.exported[p], std::to_string(layout.phase_extents[p])});
  }
  ASSERT_NO_FATAL_FAILURE(Run(command));
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (lowered.bindings[i].kind == Binding::Kind::kOutput) {
      Read("buffer" + std::to_string(i), buffers[i]);
    }
  }
  Compare(c, outputs, tolerance, "emulated");
}

void Cross::CheckConfig(Case& c, const Config& config, double tolerance) {
  SCOPED_TRACE(config.ToText() + "\n" + c.workload.ToText());
  const auto lowered = LowerConfig(c.workload, target_, config);
  ASSERT_TRUE(lowered.ok()) << lowered.status().ToString();
  CheckKernel(c, *lowered, tolerance);
}

// The default and one random config of each family that accepts it.
void Cross::CheckWorkload(Rng& rng, const RandomWorkload& random) {
  Case c;
  if (!MakeCase(rng, random, c)) return;
  for (const Family* family : FamiliesFor(c.workload, target_)) {
    met_.insert(family->name());
    CheckConfig(c, family->Default(c.workload, target_), random.tolerance);
    const Space space = family->MakeSpace(c.workload, target_);
    for (int tries = 0; tries < 50; ++tries) {
      const auto points = static_cast<uint64_t>(space.NumPoints());
      const Config config = space.At(static_cast<int64_t>(rng.Below(points)));
      if (family->Check(c.workload, target_, config) != RejectReason::kNone) continue;
      CheckConfig(c, config, random.tolerance);
      break;
    }
  }
}

TEST_F(Cross, KernelsOfEveryFamilyAgreeWithTheReference) {
  const auto of = [](graph::Workload (*draw)(Rng&), double tolerance) {
    return [=](Rng& rng) { return RandomWorkload{draw(rng).ToText(), tolerance}; };
  };
  const std::function<RandomWorkload(Rng&)> draws[] = {of(RandomContraction, 1e-5),
                                                       of(RandomDeepContraction, 2e-5),
                                                       of(RandomDepthwise, 1e-5),
                                                       of(RandomNarrowGroups, 1e-5),
                                                       of(RandomWinograd, 2e-5),
                                                       RandomAttention,
                                                       RandomMaskedAttention,
                                                       RandomPool,
                                                       RandomSoftmax,
                                                       RandomLayerNorm,
                                                       RandomReduction,
                                                       RandomChain,
                                                       RandomIntegers,
                                                       RandomScanOrScatter,
                                                       RandomTransposes,
                                                       RandomGather,
                                                       RandomResize};
  Rng rng(20261125);
  for (const auto& draw : draws) {
    for (int i = 0; i < 4 && !HasFailure(); ++i) CheckWorkload(rng, draw(rng));
  }
  for (const Family* family : backend::BackendOf(target_).families()) {
    if (family->name() == "fixed_point") continue;  // of AVX-512 VNNI alone
    EXPECT_TRUE(met_.contains(family->name())) << family->name();
  }
}

// The runtime, too: its threads, its memory, its tables.
TEST_F(Cross, LibrariesAgreeWithTheReference) {
  for (const auto& [name, graph] : {std::pair("perceptron", testing::Perceptron()),
                                    std::pair("convolutional", testing::Convolutional())}) {
    SCOPED_TRACE(name);
    const Result<graph::Program> program =
        front::BuildProgram(graph, front::ForTarget({}, target_));
    ASSERT_TRUE(program.ok()) << program.status().ToString();
    std::vector<package::Choice> choices;
    for (const graph::Task& task : program->tasks) {
      const auto config = costmodel::DefaultConfig(task.workload, target_);
      ASSERT_TRUE(config.ok()) << config.status().ToString();
      choices.push_back({*config, package::FromDefault(), 0, {}});
    }
    package::LibraryOptions options;
    options.directory = File(name);
    options.name = name;
    const auto report = package::WriteLibrary(*program, choices, target_, options);
    ASSERT_TRUE(report.ok()) << report.status().ToString();

    std::vector<graph::TensorDataRef> inputs;
    std::vector<std::string> command = {MLC_RUN_MODEL, report->shared_library, "2"};
    for (size_t i = 0; i < program->inputs.size(); ++i) {
      inputs.push_back(testing::InputTensor(graph, static_cast<int>(i)));
      const std::string file = "input" + std::to_string(i);
      Write(file, std::span(inputs.back()->bytes));
      command.push_back(File(file));
    }
    const auto expected = graph::Evaluate(graph, inputs);
    ASSERT_TRUE(expected.ok()) << expected.status().ToString();
    for (size_t i = 0; i < expected->size(); ++i) {
      command.push_back(File("output" + std::to_string(i)));
    }
    ASSERT_NO_FATAL_FAILURE(Run(command));
    for (size_t i = 0; i < expected->size(); ++i) {
      const graph::TensorData& want = *(*expected)[i];
      std::vector<std::byte> bytes(want.bytes.size());
      Read("output" + std::to_string(i), bytes);
      const auto wanted = graph::ReadDoubles(want);
      const auto got =
          graph::ReadDoubles(*graph::MakeTensorData(want.dtype, want.dims, std::move(bytes)));
      for (size_t k = 0; k < wanted.size(); ++k) ASSERT_NEAR(got[k], wanted[k], 1e-4) << i;
    }
  }
}

}  // namespace
}  // namespace mlc::schedule
