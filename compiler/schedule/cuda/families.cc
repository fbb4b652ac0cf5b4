#include "compiler/schedule/cuda/families.h"

#include <vector>

#include "compiler/schedule/cuda/attention/attention_family.h"
#include "compiler/schedule/cuda/attention/role_attention.h"
#include "compiler/schedule/cuda/depthwise/depthwise_family.h"
#include "compiler/schedule/cuda/few_bits/few_bits_contraction.h"
#include "compiler/schedule/cuda/image/image_convolution.h"
#include "compiler/schedule/cuda/pointwise/pointwise_family.h"
#include "compiler/schedule/cuda/pool/pool_family.h"
#include "compiler/schedule/cuda/row_reduce/row_family.h"
#include "compiler/schedule/cuda/simt/simt_contraction.h"
#include "compiler/schedule/cuda/skinny/skinny_contraction.h"
#include "compiler/schedule/cuda/tensor/role_contraction.h"
#include "compiler/schedule/cuda/tensor/tensor_contraction.h"
#include "compiler/schedule/cuda/tensor/warpgroup_contraction.h"

namespace mlc::schedule {

std::span<const Family* const> CudaFamilies() {
  static const GpuAttentionFamily attention;
  static const GpuDepthwiseFamily depthwise;
  static const FewBitsContractionFamily few_bits_contraction;
  static const ImageConvolutionFamily image_convolution;
  static const GpuPoolFamily pool;
  static const GpuPointwiseFamily pointwise;
  static const GpuRowReduceFamily row_reduce;
  static const RoleAttentionFamily role_attention;
  static const RoleContractionFamily role_contraction;
  static const SimtContractionFamily simt_contraction;
  static const SkinnyContractionFamily skinny_contraction;
  static const TensorContractionFamily tensor_contraction;
  static const WarpgroupContractionFamily warpgroup_contraction;
  static const std::vector<const Family*> families = {
      &skinny_contraction,
      &few_bits_contraction,
      &tensor_contraction,
      &simt_contraction,
      &attention,
      &depthwise,
      &pool,
      &row_reduce,
      &pointwise,
      &warpgroup_contraction,
      &role_contraction,
      &role_attention,
      &image_convolution,
  };
  return families;
}

}  // namespace mlc::schedule
