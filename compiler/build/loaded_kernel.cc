#include "compiler/build/loaded_kernel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>

#include "llvm/ExecutionEngine/RuntimeDyld.h"
#include "llvm/ExecutionEngine/SectionMemoryManager.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"

namespace mlc::build {

namespace {

struct Function {
  std::string_view name;
  void* address;
};

template <typename Call>
void* AddressOf(Call* call) {
  return reinterpret_cast<void*>(call);
}

// Functions without any effect but on the memory that they are given.
const Function kMathFunctions[] = {
    {"memcpy", AddressOf<void*(void*, const void*, size_t)>(std::memcpy)},
    {"memmove", AddressOf<void*(void*, const void*, size_t)>(std::memmove)},
    {"memset", AddressOf<void*(void*, int, size_t)>(std::memset)},
    {"expf", AddressOf<float(float)>(::expf)},
    {"exp", AddressOf<double(double)>(::exp)},
    {"exp2f", AddressOf<float(float)>(::exp2f)},
    {"logf", AddressOf<float(float)>(::logf)},
    {"log", AddressOf<double(double)>(::log)},
    {"sinf", AddressOf<float(float)>(::sinf)},
    {"sin", AddressOf<double(double)>(::sin)},
    {"cosf", AddressOf<float(float)>(::cosf)},
    {"cos", AddressOf<double(double)>(::cos)},
    {"tanhf", AddressOf<float(float)>(::tanhf)},
    {"tanh", AddressOf<double(double)>(::tanh)},
    {"erff", AddressOf<float(float)>(::erff)},
    {"erf", AddressOf<double(double)>(::erf)},
    {"powf", AddressOf<float(float, float)>(::powf)},
    {"pow", AddressOf<double(double, double)>(::pow)},
    {"sqrtf", AddressOf<float(float)>(::sqrtf)},
    {"sqrt", AddressOf<double(double)>(::sqrt)},
    {"fmaf", AddressOf<float(float, float, float)>(::fmaf)},
    {"floorf", AddressOf<float(float)>(::floorf)},
    {"fmaxf", AddressOf<float(float, float)>(::fmaxf)},
    {"fminf", AddressOf<float(float, float)>(::fminf)},
};

// Whatever else an object asks for is an error.
class KnownSymbols : public llvm::JITSymbolResolver {
 public:
  explicit KnownSymbols(ObjectCalls calls) : calls_(calls) {}

  void lookup(const LookupSet& symbols, OnResolvedFunction on_resolved) override {
    LookupResult found;
    for (const llvm::StringRef symbol : symbols) {
      const auto* function = std::find_if(
          std::begin(kMathFunctions), std::end(kMathFunctions),
          [&](const Function& known) { return known.name == std::string_view(symbol); });
      if (calls_ == ObjectCalls::kNone || function == std::end(kMathFunctions)) {
        return on_resolved(llvm::createStringError(llvm::inconvertibleErrorCode(),
                                                   "undefined symbol " + symbol.str()));
      }
      found[symbol] = llvm::JITEvaluatedSymbol(reinterpret_cast<uint64_t>(function->address),
                                               llvm::JITSymbolFlags::Exported);
    }
    on_resolved(std::move(found));
  }
  llvm::Expected<LookupSet> getResponsibilitySet(const LookupSet& symbols) override {
    return LookupSet();
  }

 private:
  const ObjectCalls calls_;
};

llvm::Triple::ArchType HostArch() {
#if defined(__aarch64__)
  return llvm::Triple::aarch64;
#else
  return llvm::Triple::x86_64;
#endif
}

class RelocatedObject : public LoadedObject {
 public:
  explicit RelocatedObject(ObjectCalls calls) : resolver_(calls), linker_(memory_, resolver_) {}

  Status Load(const llvm::object::ObjectFile& object) {
    info_ = linker_.loadObject(object);
    if (linker_.hasError()) return DataLoss("object: " + linker_.getErrorString().str());
    linker_.resolveRelocations();
    if (linker_.hasError()) return DataLoss("object: " + linker_.getErrorString().str());
    std::string error;
    if (memory_.finalizeMemory(&error)) {
      return ResourceExhausted("cannot make generated code executable: " + error);
    }
    return Status();
  }

  Result<std::vector<mlc_phase_fn>> Phases(std::string_view kernel_name, int count) const override {
    std::vector<mlc_phase_fn> phases;
    for (int i = 0; i < count; ++i) {
      const std::string symbol = std::string(kernel_name) + "_p" + std::to_string(i);
      const llvm::JITEvaluatedSymbol found = linker_.getSymbol(symbol);
      if (!found) return NotFound("the object has no function " + symbol);
      phases.push_back(reinterpret_cast<mlc_phase_fn>(found.getAddress()));
    }
    return phases;
  }

 private:
  llvm::SectionMemoryManager memory_;  // outlives the linker; unmaps in its destructor
  KnownSymbols resolver_;
  mutable llvm::RuntimeDyld linker_;
  std::unique_ptr<llvm::RuntimeDyld::LoadedObjectInfo> info_;
};

}  // namespace

Result<std::unique_ptr<LoadedObject>> LoadObject(std::string_view object, ObjectCalls calls) {
  const llvm::MemoryBufferRef bytes(llvm::StringRef(object.data(), object.size()), "object");
  auto parsed = llvm::object::ObjectFile::createELFObjectFile(bytes);
  if (!parsed) return DataLoss("not an object file: " + llvm::toString(parsed.takeError()));
  if ((*parsed)->getArch() != HostArch() || !(*parsed)->isRelocatableObject()) {
    return DataLoss("not a relocatable object of this machine: " +
                    (*parsed)->getFileFormatName().str());
  }
  auto loaded = std::make_unique<RelocatedObject>(calls);
  MLC_TRY(loaded->Load(**parsed));
  return std::unique_ptr<LoadedObject>(std::move(loaded));
}

}  // namespace mlc::build
