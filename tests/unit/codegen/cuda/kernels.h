// Kernels for the tests of the CUDA printer: one for each kind of statement, and a tile of a matrix
// product that uses most of them together.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/ir.h"
#include "compiler/target/target.h"

namespace mlc::codegen {

struct NamedKernel {
  std::string name;  // of the golden file
  ir::Kernel kernel;
};

std::vector<NamedKernel> StatementKernels();
// Kernels of statements that only sm_90a has: matrix products of one tile by warpgroup_mma.
std::vector<NamedKernel> HopperKernels();
// A matrix product of one tile: asynchronous copies in two stages, ldmatrix, mma.
ir::Kernel MatrixTile(DType dtype);

// Each of four blocks adds up its quarter of what all four have in shared memory. From sm_90 on.
ir::Kernel ClusterSum();

// "sm_80" or "sm_90a".
target::Target CudaTarget(const std::string& arch);

}  // namespace mlc::codegen
