// The features of a target that instruction selection may use, and its names in LLVM. A value.
#pragma once

#include <string>

#include "compiler/target/target.h"

namespace mlc::codegen {

struct Features {
  std::string triple;
  std::string cpu;
  std::string tune;
  std::string attributes;  // "+avx2,+fma,..."
  bool fma = false;        // a fused multiply-add instruction
  bool half = false;       // conversions between f16 and f32
  bool rounding = false;   // floor, ceil, trunc and roundeven as instructions
  bool gather = false;     // vector gathers of 32- and 64-bit elements worth using
  int vector_bits = 128;
  bool byte_dot = false;  // dot products of four bytes in the lanes of a vector (vpdpbusd)
  bool scaling = false;   // one instruction multiplies 512 bits of f32 by powers of two
};

Features FeaturesOf(const target::Target& target);

}  // namespace mlc::codegen
