// The objects themselves: machine, symbols, determinism, errors.
#include <elf.h>

#include <thread>

#include "tests/unit/codegen/operators_of.h"
#include "tests/unit/codegen/run_kernel.h"

namespace mlc::codegen {
namespace {

using ir::ExprRef;
using ir::Int;
using ir::KernelBuilder;

// Uses every function of `types` that could become a library call.
ir::Kernel Everything(const std::vector<DType>& types) {
  KernelBuilder k("everything");
  int64_t outputs = 0;
  std::vector<ir::BufferId> in;
  std::vector<ir::BufferId> out;
  for (const DType dtype : types) in.push_back(k.In("in" + std::string(ToText(dtype)), dtype, 64));
  for (const DType dtype : types) {
    out.push_back(k.Out("out" + std::string(ToText(dtype)), dtype, 1024));
  }
  k.Parallel("i", 2, [&](ExprRef i) {
    for (size_t t = 0; t < in.size(); ++t) {
      outputs = 0;
      for (int op = 0; op < ScalarOpCount(); ++op) {
        const auto& info = InfoOf(static_cast<ScalarOp>(op));
        const bool logic =
            info.op == ScalarOp::kAnd || info.op == ScalarOp::kOr || info.op == ScalarOp::kXor;
        if (info.gives_bool || logic || info.op == ScalarOp::kSelect) continue;
        if (!Takes(info.op, types[t])) continue;
        std::vector<ExprRef> args;
        for (int arg = 0; arg < info.arity; ++arg) {
          args.push_back(k.Load(in[t], i * 16 + arg * 16, 4, 1, Int(3) + i));
        }
        k.Store(out[t], i * 16 + outputs * 32, ir::MakeApply(info.op, args), 1, Int(2) + i * 9);
        ++outputs;
      }
    }
  });
  return k.Finish();
}

std::vector<target::Target> AllTargets() {
  std::vector<target::Target> targets(4);
  targets[1].cpu().isa = target::Isa::kAvx2;
  targets[2].cpu().isa = target::Isa::kAvx512;
  targets[3].cpu().arch = "aarch64";
  targets[3].cpu().isa = target::Isa::kNeon;
  return targets;
}

template <typename T>
const T* At(const std::string& object, uint64_t offset) {
  return reinterpret_cast<const T*>(object.data() + offset);
}

// Names of symbols that are not defined in the object.
std::vector<std::string> UndefinedSymbols(const std::string& object) {
  std::vector<std::string> names;
  const auto* header = At<Elf64_Ehdr>(object, 0);
  const auto* sections = At<Elf64_Shdr>(object, header->e_shoff);
  for (int s = 0; s < header->e_shnum; ++s) {
    if (sections[s].sh_type != SHT_SYMTAB) continue;
    const auto* symbols = At<Elf64_Sym>(object, sections[s].sh_offset);
    const char* strings = At<char>(object, sections[sections[s].sh_link].sh_offset);
    for (uint64_t i = 1; i < sections[s].sh_size / sizeof(Elf64_Sym); ++i) {
      if (symbols[i].st_shndx == SHN_UNDEF) names.emplace_back(strings + symbols[i].st_name);
    }
  }
  return names;
}

TEST(Object, IsRelocatableElfOfTheTargetsMachineWithoutUndefinedSymbols) {
  const ir::Kernel kernel = Everything({DType::kF32, DType::kF64, DType::kF16, DType::kBF16});
  ASSERT_TRUE(kernel.Verify().ok()) << kernel.Verify().ToString();
  for (const target::Target& target : AllTargets()) {
    const auto object = CompileToObject({&kernel}, target);
    ASSERT_TRUE(object.ok()) << object.status().ToString();
    ASSERT_GT(object->size(), sizeof(Elf64_Ehdr));
    const auto* header = At<Elf64_Ehdr>(*object, 0);
    EXPECT_EQ(std::memcmp(header->e_ident, ELFMAG, SELFMAG), 0);
    EXPECT_EQ(header->e_type, ET_REL);
    EXPECT_EQ(header->e_machine, target.cpu().arch == "aarch64" ? EM_AARCH64 : EM_X86_64);
    EXPECT_EQ(UndefinedSymbols(*object), std::vector<std::string>());
  }
}

TEST(Object, BytesAreEqualOnEveryRunAndThread) {
  const ir::Kernel kernel = Everything({DType::kF32});
  for (const target::Target& target : AllTargets()) {
    const auto first = CompileToObject({&kernel}, target);
    ASSERT_TRUE(first.ok());
    std::vector<std::string> others(3);
    std::vector<std::thread> threads;
    for (std::string& other : others) {
      threads.emplace_back([&] {
        auto object = CompileToObject({&kernel}, target);
        if (object.ok()) other = *object;
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::string& other : others) EXPECT_EQ(other, *first);
  }
}

TEST(Object, TextFormsNameEveryPhase) {
  KernelBuilder k("two");
  const ir::BufferId o = k.Out("o", DType::kI64, 4);
  k.Parallel("i", 4, [&](ExprRef i) { k.Store(o, i, i); });
  k.Parallel("j", 4, [&](ExprRef j) { k.Store(o, j, j * 2); });
  const ir::Kernel kernel = k.Finish();
  for (const target::Target& target : AllTargets()) {
    const auto llvm = PrintLlvm(kernel, target);
    const auto assembly = PrintAssembly(kernel, target);
    ASSERT_TRUE(llvm.ok() && assembly.ok());
    EXPECT_NE(llvm->find("@two_p0("), std::string::npos);
    EXPECT_NE(llvm->find("@two_p1("), std::string::npos);
    EXPECT_NE(assembly->find("two_p0:"), std::string::npos);
    EXPECT_NE(assembly->find("two_p1:"), std::string::npos);
  }
}

TEST(Object, Avx512UsesWholeVectorsAndNoTiles) {
  KernelBuilder k("wide");
  const ir::BufferId a = k.In("a", DType::kF32, 64);
  const ir::BufferId o = k.Out("o", DType::kF32, 64);
  k.Parallel("i", 2, [&](ExprRef i) {
    const ExprRef x = k.Load(a, i * 32, 32);
    k.Store(o, i * 32, ir::MakeApply(ScalarOp::kMul, {x, x}));
  });
  target::Target target;
  target.cpu().isa = target::Isa::kAvx512;
  const auto assembly = PrintAssembly(k.Finish(), target);
  ASSERT_TRUE(assembly.ok());
  EXPECT_NE(assembly->find("%zmm0"), std::string::npos);
  EXPECT_EQ(assembly->find("tmm"), std::string::npos);
}

TEST(Object, ARegisterIndexThatIsNotConstantIsAnError) {
  ir::Kernel kernel;
  kernel.name = "bad";
  kernel.buffers = {{"o", DType::kF32, 1, 4, ir::Scope::kOut},
                    {"r", DType::kF32, 1, 4, ir::Scope::kRegister}};
  kernel.vars = {"i"};
  const auto expr = [](DType dtype, auto node) {
    return std::make_shared<const ir::Expr>(ir::Expr{{dtype, 1}, node});
  };
  const ExprRef i = expr(DType::kI64, ir::VarRef{0});
  const ExprRef value = expr(DType::kF32, ir::Load{1, i, 1, nullptr});
  const auto store = std::make_shared<const ir::Stmt>(ir::Stmt{ir::Store{0, i, value, 1, nullptr}});
  kernel.phases = {std::make_shared<const ir::Stmt>(
      ir::Stmt{ir::For{0, Int(0), Int(4), 1, ir::LoopKind::kParallel, store}})};
  const auto object = CompileToObject({&kernel}, HostTarget(HostIsas()[0]));
  ASSERT_FALSE(object.ok());
  EXPECT_EQ(object.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(object.status().message(),
            "kernel bad: the index of register r is not a constant in range");
}

}  // namespace
}  // namespace mlc::codegen
