#include "compiler/codegen/machine.h"

#include <array>
#include <mutex>
#include <string_view>

#include "base/check.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

namespace mlc::codegen {

namespace {

void InitializeTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    // Indices are already sums kept where they change (see IndexPool): reducing them again costs a
    // third of the time of code generation and gains nothing.
    auto& options = llvm::cl::getRegisteredOptions();
    const auto reduce = options.find("disable-lsr");
    if (reduce != options.end()) static_cast<llvm::cl::opt<bool>*>(reduce->second)->setValue(true);
  });
}

struct Processor {
  std::string_view arch;
  target::Isa isa;  // kPlain: any that no row before has
  Features features;
};

const std::array<Processor, 5>& Processors() {
  static const std::array<Processor, 5> rows = {
      {{"x86_64",
        target::Isa::kAvx512,
        {.triple = "x86_64-unknown-linux-gnu",
         .cpu = "x86-64-v4",
         .tune = "sapphirerapids",
         .attributes =
             "+avx2,+fma,+f16c,+bmi,+bmi2,+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512cd",
         .fma = true,
         .half = true,
         .rounding = true,
         .gather = true,
         .vector_bits = 512,
         .scaling = true}},
       {"x86_64",
        target::Isa::kAvx512Vnni,
        {.triple = "x86_64-unknown-linux-gnu",
         .cpu = "x86-64-v4",
         .tune = "sapphirerapids",
         .attributes = "+avx2,+fma,+f16c,+bmi,+bmi2,+avx512f,+avx512bw,+avx512dq,+avx512vl,"
                       "+avx512cd,+avx512vnni",
         .fma = true,
         .half = true,
         .rounding = true,
         .gather = true,
         .vector_bits = 512,
         .byte_dot = true,
         .scaling = true}},
       {"x86_64",
        target::Isa::kAvx2,
        {.triple = "x86_64-unknown-linux-gnu",
         .cpu = "x86-64-v3",
         .tune = "haswell",
         .attributes = "+avx2,+fma,+f16c,+bmi,+bmi2",
         .fma = true,
         .half = true,
         .rounding = true,
         .gather = true,
         .vector_bits = 256}},
       {"x86_64",
        target::Isa::kPlain,
        {.triple = "x86_64-unknown-linux-gnu",
         .cpu = "x86-64",
         .tune = "x86-64",
         .attributes = ""}},
       {"aarch64",
        target::Isa::kPlain,
        {.triple = "aarch64-unknown-linux-gnu",
         .cpu = "generic",
         .tune = "generic",
         .attributes = "+neon,+fp-armv8",
         .fma = true,
         .half = true,
         .rounding = true}}}};
  return rows;
}

}  // namespace

// Features are spelled out instead of naming a CPU: "sapphirerapids" would imply tile
// registers that virtual machines often mask. The CPU only tunes.
Features FeaturesOf(const target::Target& target) {
  for (const Processor& processor : Processors()) {
    const bool any_isa = processor.isa == target::Isa::kPlain;
    if (processor.arch != target.cpu().arch) continue;
    if (any_isa || processor.isa == target.cpu().isa) return processor.features;
  }
  MLC_CHECK(false) << "no code for " << target.ClassText();
  return {};
}

Result<std::unique_ptr<llvm::TargetMachine>> CreateMachine(const Features& features) {
  InitializeTargets();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(features.triple, error);
  if (target == nullptr) return Internal("LLVM has no target " + features.triple + ": " + error);
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      features.triple, features.cpu, features.attributes, llvm::TargetOptions(), llvm::Reloc::PIC_,
      llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
  return machine;
}

void SetAttributes(const Features& features, llvm::Function& function) {
  function.addFnAttr("target-cpu", features.cpu);
  function.addFnAttr("tune-cpu", features.tune);
  if (!features.attributes.empty()) function.addFnAttr("target-features", features.attributes);
  if (features.vector_bits == 512) function.addFnAttr("prefer-vector-width", "512");
  function.addFnAttr(llvm::Attribute::NoUnwind);
}

Status VerifyModule(const llvm::Module& module) {
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (!llvm::verifyModule(module, &stream)) return Status();
  return Internal("generated LLVM IR is not valid: " + message);
}

Result<std::string> EmitModule(llvm::TargetMachine& machine, llvm::Module& module,
                               Emission emission) {
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  const auto type = emission == Emission::kObject ? llvm::CodeGenFileType::ObjectFile
                                                  : llvm::CodeGenFileType::AssemblyFile;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type, /*DisableVerify=*/true)) {
    return Internal("LLVM cannot emit this kind of file");
  }
  passes.run(module);
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace mlc::codegen
