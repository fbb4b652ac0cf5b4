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

}  // namespace

std::string WarpgroupMmaName(DType dtype, int columns) {
  return "WarpgroupMma" + std::string(NameOf(dtype)) + "x" + std::to_string(columns);
}

// One group of four steps along k, 32 bytes each: 2 in units of the descriptor's address.
std::string WarpgroupMmaDefinition(DType dtype, int columns) {
  const bool wide = dtype == DType::kF32;
  const std::string type = wide ? "tf32" : dtype == DType::kF16 ? "f16" : "bf16";
  const int sums = columns / 2;
  std::string text = "void " + WarpgroupMmaName(dtype, columns) +
                     "(float* c, const void* a, const void* b) {\n"
                     "  const unsigned long long A = TileDescriptor(a), B = TileDescriptor(b);\n"
                     "  asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n"
                     "  #pragma unroll\n"
                     "  for (int K = 0; K < 4; ++K) {\n"
                     "    asm volatile(\"{.reg .pred Add; setp.ne.b32 Add, 1, 0; \"\n"
                     "                 \"wgmma.mma_async.sync.aligned.m64n" +
                     std::to_string(columns) + "k" + (wide ? "8" : "16") + ".f32." + type + "." +
                     type + " {\"\n                 \"" + Operands(0, sums) + "}, %" +
                     std::to_string(sums) + ", %" + std::to_string(sums + 1) +
                     // Of 16-bit operands both lie along k: not transposed.
                     ", Add, 1, 1" + (wide ? "" : ", 0, 0") + ";}\"\n                 : ";
  for (int i = 0; i < sums; ++i) {
    if (i > 0) text += i % 4 == 0 ? ",\n                   " : ", ";
    text += "\"+f\"(c[" + std::to_string(i) + "])";
  }
  return text +
         "\n                 : \"l\"(A + 2 * K), \"l\"(B + 2 * K));\n"
         "  }\n"
         "  asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");\n"
         "}";
}

}  // namespace mlc::codegen
