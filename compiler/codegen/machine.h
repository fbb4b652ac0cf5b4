// LLVM's target machine: verification, instruction selection and emission of a module. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "compiler/codegen/features.h"

namespace llvm {
class Function;
class Module;
class TargetMachine;
}  // namespace llvm

namespace mlc::codegen {

enum class Emission { kObject, kAssembly };

// INTERNAL if this build of LLVM lacks the target.
Result<std::unique_ptr<llvm::TargetMachine>> CreateMachine(const Features& features);
// Names the features every function is selected for.
void SetAttributes(const Features& features, llvm::Function& function);
// INTERNAL with the verifier's message for a module that is not valid.
Status VerifyModule(const llvm::Module& module);
Result<std::string> EmitModule(llvm::TargetMachine& machine, llvm::Module& module,
                               Emission emission);

}  // namespace mlc::codegen
