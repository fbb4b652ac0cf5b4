#include "compiler/codegen/cuda/warpgroup_mma_function.h"

#include <string_view>

namespace mlc::codegen {

namespace {

constexpr int kSteps = 4;

struct TypeNames {
  std::string_view function, instruction;
};

TypeNames NamesOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return {"F16", "f16"};
    case DType::kBF16:
      return {"BF16", "bf16"};
    case DType::kF8E4M3Fn:
      return {"F8E4M3", "e4m3"};
    case DType::kF8E5M2:
      return {"F8E5M2", "e5m2"};
    case DType::kU8:
      return {"U8", "u8"};
    case DType::kI8:
      return {"I8", "s8"};
    default:
      return {"Tf32", "tf32"};
  }
}

// "%first, %first+1, ...", broken into lines of the text.
std::string Operands(int first, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    if (i > 0) text += i % 8 == 0 ? ",\"\n               \" " : ", ";
    text += "%" + std::to_string(first + i);
  }
  return text;
}

// Adds to a list of operands of an asm statement, broken into lines of the text.
void AddOperand(std::string* list, const std::string& operand) {
  const size_t line = list->rfind('\n') == std::string::npos ? 0 : list->rfind('\n');
  if (!list->empty()) *list += list->size() - line > 64 ? ",\n                 " : ", ";
  *list += operand;
}

}  // namespace

std::string WarpgroupMmaName(const WarpgroupMmaShape& shape) {
  return std::string(shape.adds ? "WarpgroupMma" : "WarpgroupMul") +
         (shape.from_registers ? "Registers" : "") + std::string(NamesOf(shape.dtype).function) +
         (shape.columns_dtype == shape.dtype
              ? ""
              : "By" + std::string(NamesOf(shape.columns_dtype).function)) +
         "x" + std::to_string(shape.columns) +
         (shape.across > 0 ? "Across" + std::to_string(shape.across) : "");
}

// One group of four steps along k, 32 bytes each: 2 in units of the descriptor's address; across k,
// 16 rows: 128 of these units, with the distance of blocks of columns in the descriptor. They are
// one asm statement: the compiler's passes visit each of the sums for every statement that has them
// as operands.
std::string WarpgroupMmaDefinition(const WarpgroupMmaShape& shape) {
  const bool wide = shape.dtype == DType::kF32;
  const bool halves = SizeOf(shape.dtype) == 2;
  const bool of_bytes = shape.dtype == DType::kU8;
  const std::string types = "." + std::string(NamesOf(shape.dtype).instruction) + "." +
                            std::string(NamesOf(shape.columns_dtype).instruction);
  const int sums = shape.columns / 2;
  const int of_a = shape.from_registers ? 4 : 1;  // operands of a step
  const std::string instruction =
      "wgmma.mma_async.sync.aligned.m64n" + std::to_string(shape.columns) + "k" +
      std::to_string(32 / SizeOf(shape.dtype)) + (of_bytes ? ".s32" : ".f32") + types + " {";
  const std::string columns =
      "B = TileDescriptor(b)" +
      (shape.across > 0 ? " + (" + std::to_string(shape.across * 2 / 16 - 1) + "ull << 16)" : "");
  const char* const words = wide ? "float* a" : "unsigned* a";
  std::string text = "void " + WarpgroupMmaName(shape) + (of_bytes ? "(int*" : "(float*") +
                     " c, const " + (shape.from_registers ? words : "void* a") +
                     ", const void* b) {\n  const unsigned long long " +
                     (shape.from_registers ? "" : "A = TileDescriptor(a), ") + columns + ";\n";
  text +=
      "  asm volatile(\"{.reg .pred Add, Set; setp.ne.b32 Add, 1, 0; setp.ne.b32 Set, 0, 0; \"\n"
      "               \"wgmma.fence.sync.aligned; \"\n";
  std::string inputs;
  for (int step = 0; step < kSteps; ++step) {
    const int a = sums + step * (of_a + 1);  // number of the operand
    text += "               \"" + instruction + "\"\n               \"" + Operands(0, sums) +
            "}, " +
            (shape.from_registers ? "{" + Operands(a, of_a) + "}" : "%" + std::to_string(a)) +
            ", %" + std::to_string(a + of_a) + (shape.adds || step > 0 ? ", Add" : ", Set") +
            // Signs of floats, and whether 16-bit operands in memory lie across k.
            (of_bytes ? "" : ", 1, 1") + (!halves || shape.from_registers ? "" : ", 0") +
            (!halves            ? ""
             : shape.across > 0 ? ", 1"
                                : ", 0") +
            "; \"\n";
    const auto offset = [&](int each) {
      return step == 0 ? "" : " + " + std::to_string(each * step);
    };
    for (int i = 0; i < of_a; ++i) {
      const std::string word = "a[" + std::to_string(of_a * step + i) + "]";
      AddOperand(&inputs, !shape.from_registers ? "\"l\"(A" + offset(2) + ")"
                          : wide                ? "\"r\"(__float_as_uint(" + word + "))"
                                                : "\"r\"(" + word + ")");
    }
    AddOperand(&inputs, "\"l\"(B" + offset(shape.across > 0 ? 128 : 2) + ")");
  }
  std::string results;
  for (int i = 0; i < sums; ++i) {
    AddOperand(&results, (of_bytes ? "\"+r\"(c[" : "\"+f\"(c[") + std::to_string(i) + "])");
  }
  return text +
         "               \"wgmma.commit_group.sync.aligned;}\"\n               : " + results +
         "\n               : " + inputs + "\n               : \"memory\");\n}";
}

}  // namespace mlc::codegen
