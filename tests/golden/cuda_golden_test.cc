// CUDA C++ of one kernel for each kind of statement.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "compiler/codegen/cuda/cuda.h"
#include "tests/golden/golden.h"
#include "tests/unit/codegen/cuda/kernels.h"

namespace mlc::golden {
namespace {

TEST(CudaGolden, StatementsPrintAsTheyDid) {
  std::vector<codegen::NamedKernel> kernels = codegen::StatementKernels();
  kernels.push_back({"cluster_sum", codegen::ClusterSum()});
  for (codegen::NamedKernel& named : codegen::HopperKernels()) kernels.push_back(std::move(named));
  for (const codegen::NamedKernel& named : kernels) {
    SCOPED_TRACE(named.name);
    const Result<codegen::CudaSource> source =
        codegen::PrintCuda(named.kernel, codegen::CudaTarget("sm_90a"));
    ASSERT_TRUE(source.ok()) << source.status().ToString();
    Check("tests/golden/cuda/" + named.name + ".cu", source->text,
          "A change that means to alter generated code accepts the new text.");
  }
}

}  // namespace
}  // namespace mlc::golden
