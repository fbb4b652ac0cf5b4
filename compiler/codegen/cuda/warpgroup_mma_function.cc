#include "compiler/codegen/cuda/warpgroup_mma_function.h"

#include <string_view>

namespace mlc::codegen {

namespace {

std::string_view NameOf(DType dtype) {
  return dtype == DType::kF16 ? "F16" : dtype == DType::kBF16 ? "BF16" : "Tf32";
}

// "%first, %first+1, ...", broken into lines of the text.
std::string Operands(int first, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    if (i > 0) text += i % 8 == 0 ? ",\"\n                 \" " : ", ";
    text += "%" + std::to_string(first + i);
  }
  return text;
}

// The four elements of a thread that follow `at`, as inputs of an instruction.
std::string FragmentInputs(const std::string& at) {
  std::string text;
  for (int i = 0; i < 4; ++i) {
    text += std::string(i == 0   ? ""
                        : i == 2 ? ",\n                   "
                                 : ", ") +
            "\"r\"(__float_as_uint(a[" + at + " + " + std::to_string(i) + "]))";
  }
  return text;
}

}  // namespace

std::string WarpgroupMmaName(const WarpgroupMmaShape& shape) {
  return std::string(shape.adds ? "WarpgroupMma" : "WarpgroupMul") +
         (shape.from_registers ? "Registers" : "") + std::string(NameOf(shape.dtype)) + "x" +
         std::to_string(shape.columns);
}

// One group of four steps along k, 32 bytes each: 2 in units of the descriptor's address.
std::string WarpgroupMmaDefinition(const WarpgroupMmaShape& shape) {
  const bool wide = shape.dtype == DType::kF32;
  const std::string type = wide ? "tf32" : shape.dtype == DType::kF16 ? "f16" : "bf16";
  const int sums = shape.columns / 2;
  const int b = sums + (shape.from_registers ? 4 : 1);  // number of the operand
  std::string text = "void " + WarpgroupMmaName(shape) + "(float* c, const ";
  if (shape.from_registers) {
    // What computes them may not move behind the fence.
    text +=
        "float* a, const void* b) {\n"
        "  const unsigned long long B = TileDescriptor(b);\n"
        "  #pragma unroll\n"
        "  for (int L = 0; L < 16; ++L) asm volatile(\"\" :: \"f\"(a[L]) : \"memory\");\n";
  } else {
    text +=
        "void* a, const void* b) {\n"
        "  const unsigned long long A = TileDescriptor(a), B = TileDescriptor(b);\n";
  }
  text +=
      "  asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n"
      "  #pragma unroll\n"
      "  for (int K = 0; K < 4; ++K) {\n"
      "    asm volatile(\"{.reg .pred Add; setp.ne.b32 Add, " +
      (shape.adds ? std::string("1") : "%" + std::to_string(b + 1)) +
      ", 0; \"\n"
      "                 \"wgmma.mma_async.sync.aligned.m64n" +
      std::to_string(shape.columns) + "k" + (wide ? "8" : "16") + ".f32." + type + "." + type +
      " {\"\n                 \"" + Operands(0, sums) + "}, " +
      (shape.from_registers ? "{" + Operands(sums, 4) + "}" : "%" + std::to_string(sums)) + ", %" +
      std::to_string(b) +
      // Of 16-bit operands both lie along k: not transposed.
      ", Add, 1, 1" + (wide ? "" : ", 0, 0") + ";}\"\n                 : ";
  for (int i = 0; i < sums; ++i) {
    if (i > 0) text += i % 4 == 0 ? ",\n                   " : ", ";
    text += "\"+f\"(c[" + std::to_string(i) + "])";
  }
  return text + "\n                 : " +
         (shape.from_registers ? FragmentInputs("4 * K") : "\"l\"(A + 2 * K)") +
         ", \"l\"(B + 2 * K)" + (shape.adds ? "" : ", \"r\"(K)") +
         ");\n"
         "  }\n"
         "  asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");\n"
         "}";
}

}  // namespace mlc::codegen
