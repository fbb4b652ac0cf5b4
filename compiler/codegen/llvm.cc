#include "compiler/codegen/llvm.h"

#include "compiler/codegen/emit_kernel.h"
#include "compiler/codegen/machine.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/PromoteMemToReg.h"

namespace mlc::codegen {

namespace {

Status EmitPhase(const ir::Kernel& kernel, size_t phase, const Features& features,
                 llvm::Module& module) {
  llvm::LLVMContext& context = module.getContext();
  llvm::IRBuilder<> builder(context);
  llvm::Type* i64 = builder.getInt64Ty();
  auto* type =
      llvm::FunctionType::get(builder.getVoidTy(), {builder.getPtrTy(), i64, i64, i64}, false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage,
                                          kernel.name + "_p" + std::to_string(phase), module);
  SetAttributes(features, *function);
  const auto* loop = std::get_if<ir::For>(&kernel.phases[phase]->node);
  if (loop == nullptr) return InvalidArgument("kernel " + kernel.name + ": a phase is not a loop");
  PhaseEmitter emitter(kernel, features, builder, *function);
  MLC_TRY(emitter.Emit(*loop));
  llvm::DominatorTree dominators(*function);
  llvm::PromoteMemToReg(emitter.registers(), dominators);
  return Status();
}

Result<std::unique_ptr<llvm::Module>> EmitKernels(const std::vector<const ir::Kernel*>& kernels,
                                                  const Features& features,
                                                  const llvm::TargetMachine& machine,
                                                  llvm::LLVMContext& context) {
  auto module = std::make_unique<llvm::Module>("mlc", context);
  module->setTargetTriple(features.triple);
  module->setDataLayout(machine.createDataLayout());
  for (const ir::Kernel* kernel : kernels) {
    for (size_t phase = 0; phase < kernel->phases.size(); ++phase) {
      MLC_TRY(EmitPhase(*kernel, phase, features, *module));
    }
  }
  MLC_TRY(VerifyModule(*module));
  return module;
}

Result<std::string> Compile(const std::vector<const ir::Kernel*>& kernels,
                            const target::Target& target, Emission emission) {
  const Features features = FeaturesOf(target);
  auto machine = MLC_TRY(CreateMachine(features));
  llvm::LLVMContext context;
  auto module = MLC_TRY(EmitKernels(kernels, features, *machine, context));
  return EmitModule(*machine, *module, emission);
}

}  // namespace

Result<std::string> CompileToObject(const std::vector<const ir::Kernel*>& kernels,
                                    const target::Target& target) {
  return Compile(kernels, target, Emission::kObject);
}

Result<std::string> PrintAssembly(const ir::Kernel& kernel, const target::Target& target) {
  return Compile({&kernel}, target, Emission::kAssembly);
}

Result<std::string> PrintLlvm(const ir::Kernel& kernel, const target::Target& target) {
  const Features features = FeaturesOf(target);
  auto machine = MLC_TRY(CreateMachine(features));
  llvm::LLVMContext context;
  auto module = MLC_TRY(EmitKernels({&kernel}, features, *machine, context));
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, nullptr);
  return text;
}

}  // namespace mlc::codegen
