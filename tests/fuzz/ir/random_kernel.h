// Random kernels that verify: every node kind, several phases, nested loops. Built as raw nodes, so
// that shapes which the folding constructors never make are met as well.
#pragma once

#include "base/rng.h"
#include "compiler/ir/ir.h"

namespace mlc::ir {

Kernel RandomKernel(Rng& rng);

}  // namespace mlc::ir
