// Small convolutions for the tests of cost models.
#pragma once

#include "compiler/graph/workload.h"

namespace mlc::costmodel {

// A convolution of stride 1 that keeps the size, channels last.
inline graph::Workload MakeConv(int64_t channels, int64_t size, int64_t filters, int64_t kernel,
                                int64_t batch = 1) {
  const auto n = [](int64_t v) { return std::to_string(v); };
  const int64_t pad = kernel / 2;
  const auto image = [&](int64_t c) {
    return "f32[" + n(batch) + "," + n(c) + "," + n(size) + "," + n(size) + "]{" +
           n(c * size * size) + ",1," + n(c * size) + "," + n(c) + "}";
  };
  const std::string text = "workload v1 tolerance=1e-04 {\n  %0 = input() : " + image(channels) +
                           "\n  %1 = weight() : f32[" + n(filters) + "," + n(channels) + "," +
                           n(kernel) + "," + n(kernel) +
                           "]\n  %2 = conv(%0, %1) {dilations=[1,1], group=1, pads=[" + n(pad) +
                           "," + n(pad) + "," + n(pad) + "," + n(pad) +
                           "], strides=[1,1]} : " + image(filters) + "\n  return %2\n}\n";
  return *graph::Workload::Parse(text);
}

}  // namespace mlc::costmodel
