// The matrix that resizes along one axis, for forms that the graph's resize does not support:
// filters that widen for downscaling (antialias), and crops. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mlc::graph::onnx {

struct ResizeAxis {
  int64_t in = 1;
  int64_t out = 1;
  double scale = 1;
  // The region of interest of a crop, relative to the axis.
  double roi_begin = 0;
  double roi_end = 1;
};

struct ResizeForm {
  std::string mode;             // nearest, linear or cubic
  std::string coordinate_mode;  // ONNX's names, crops included
  std::string nearest_mode;
  double cubic_coeff_a = -0.75;
  bool exclude_outside = false;
  bool antialias = false;
};

struct ResizeMatrix {
  std::vector<double> weights;  // out rows of in
  std::vector<double> inside;   // per output index: 1, or 0 where a crop leaves the operand
};

ResizeMatrix MakeResizeMatrix(const ResizeForm& form, const ResizeAxis& axis);

}  // namespace mlc::graph::onnx
