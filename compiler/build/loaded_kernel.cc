#include "compiler/build/loaded_kernel.h"

#include "compiler/build/math_calls.h"
#include "llvm/ExecutionEngine/RuntimeDyld.h"
#include "llvm/ExecutionEngine/SectionMemoryManager.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"

namespace mlc::build {

namespace {

// Whatever else an object asks for is an error.
class KnownSymbols : public llvm::JITSymbolResolver {
 public:
  explicit KnownSymbols(ObjectCalls calls) : calls_(calls) {}

  void lookup(const LookupSet& symbols, OnResolvedFunction on_resolved) override {
    LookupResult found;
    for (const llvm::StringRef symbol : symbols) {
      const std::string_view name(symbol);
      void* const address = calls_ == ObjectCalls::kNone ? nullptr : FindMathFunction(name);
      if (address == nullptr) {
        return on_resolved(
            llvm::createStringError(llvm::inconvertibleErrorCode(), MessageOf(symbol.str())));
      }
      found[symbol] = llvm::JITEvaluatedSymbol(reinterpret_cast<uint64_t>(address),
                                               llvm::JITSymbolFlags::Exported);
    }
    on_resolved(std::move(found));
  }
  llvm::Expected<LookupSet> getResponsibilitySet(const LookupSet& symbols) override {
    return LookupSet();
  }

 private:
  std::string MessageOf(const std::string& symbol) const {
    if (calls_ == ObjectCalls::kNone) return "undefined symbol " + symbol;
    return "the kernel calls '" + symbol +
           "', which is not there: it may call memcpy, memmove, memset and functions of math.h";
  }
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
