// Small workloads that golden tests and docs are made from, and the targets they are lowered for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/workload.h"
#include "compiler/schedule/space/family.h"
#include "compiler/target/target.h"

namespace mlc::golden {

// A processor with AVX-512, two threads, and the caches of a common server.
target::Target Avx512();
// The same with dot products of bytes.
target::Target Avx512Vnni();
// The same with AVX2.
target::Target Avx2();
// A GPU of compute capability 9.0.
target::Target Hopper();

// `body` is the text between the braces of a workload of tolerance 1e-4. A failure is a test
// failure.
graph::Workload Parsed(std::string_view body);

// A convolution with bias and relu, channels-last.
graph::Workload Convolution(int64_t channels, int64_t size, int64_t filters, int64_t kernel,
                            int64_t stride, int64_t group = 1);

// One workload of each kind that a family exists for, from small to the sizes of whole networks.
struct NamedWorkload {
  std::string name;
  graph::Workload workload;
};
std::vector<NamedWorkload> AllKinds();

// The family's kernel for its default config, with knobs replaced. A failure is a test failure.
schedule::LoweredKernel LoweredBy(std::string_view family, const graph::Workload& workload,
                                  const target::Target& target,
                                  const std::vector<std::pair<std::string, int64_t>>& knobs = {});

}  // namespace mlc::golden
