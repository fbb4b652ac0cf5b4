// The statement that decodes weights of few bits in registers, and its text form. ir.h describes
// the language. A value; immutable in kernels.
#pragma once

#include <string_view>

#include "compiler/ir/expr.h"
#include "compiler/ir/form.h"

namespace mlc::ir {

// Decodes 8 codes of few bits to a register of 8 lanes of f16 or bf16, a fragment of a of mma. Lane
// i becomes (code i + bias - zero) * scale; the difference and the product are rounded to the type.
// `codes`: registers of i32. A fragment of 4-bit codes is word `part`, with code i from bit
// 16 * (i % 2) + 4 * (i / 2) on; one of 8-bit codes is words 2 * part and 2 * part + 1, with code i
// in byte i % 4 of word i / 4. Or `codes` are registers of float8, of 8 bits: fragment `part` is
// lanes 8 * part to 8 * part + 7, and lane i becomes code i * scale; zeros are not read, the bias
// is 0, and codes are finite. Zero and scale: lane (i / 2) % 2 of registers of 2 lanes of the
// type, one for each row that a thread has. The bias is what the hardware's way from codes to
// floats adds (BiasOfCodes), to be part of zeros that allow for it, or 0.
struct Unpack {
  BufferId to;
  ExprRef to_index;
  BufferId codes;
  ExprRef codes_index;
  BufferId zeros;
  ExprRef zeros_index;
  BufferId scales;
  ExprRef scales_index;
  int bits = 4;
  int part = 0;
  int bias = 0;
};

template <>
struct Form<Unpack> {
  static constexpr std::string_view kKeyword = "unpack";
  static void Parts(auto& v, auto& n) {
    v.Place(n.to, n.to_index);
    v.Word("=");
    v.Place(n.codes, n.codes_index);
    v.Word("-");
    v.Place(n.zeros, n.zeros_index);
    v.Word("*");
    v.Place(n.scales, n.scales_index);
    v.Attribute("bits", n.bits, "number of bits");
    v.Part("part", n.part);
    v.Part("bias", n.bias);
  }
};

}  // namespace mlc::ir
