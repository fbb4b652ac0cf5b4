#include "compiler/backend/cpu_families.h"

#include <array>

#include "compiler/schedule/cpu/attention/attention.h"
#include "compiler/schedule/cpu/contraction/contraction.h"
#include "compiler/schedule/cpu/depthwise/depthwise.h"
#include "compiler/schedule/cpu/fixed_point/fixed_point.h"
#include "compiler/schedule/cpu/pointwise/pointwise.h"
#include "compiler/schedule/cpu/row_reduce/row_reduce.h"
#include "compiler/schedule/cpu/window/window.h"
#include "compiler/schedule/cpu/winograd/winograd.h"

namespace mlc::backend {

std::span<const schedule::Family* const> CpuFamilies() {
  static const schedule::ContractionFamily contraction;
  static const schedule::DepthwiseFamily depthwise;
  static const schedule::FixedPointFamily fixed_point;
  static const schedule::WinogradFamily winograd;
  static const schedule::AttentionFamily attention;
  static const schedule::WindowFamily window;
  static const schedule::PointwiseFamily pointwise;
  static const schedule::RowReduceFamily row_reduce;
  static const std::array<const schedule::Family*, 8> families = {
      &winograd,  &depthwise, &fixed_point, &contraction,
      &attention, &window,    &row_reduce,  &pointwise};
  return families;
}

}  // namespace mlc::backend
