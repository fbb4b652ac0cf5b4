// Where CUPTI, which times kernels on GPUs, may be. Thread-safe.
#pragma once

#include <string>
#include <vector>

namespace mlc::build {

// Files, best first: `cuda_home` if it is not empty (a toolkit, or a folder of unpacked Python
// wheels), then the usual place and the loader's.
std::vector<std::string> CuptiCandidates(const std::string& cuda_home);

}  // namespace mlc::build
