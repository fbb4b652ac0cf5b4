// Says what this machine offers for trials on GPUs, and what to do about what is missing.
#pragma once

#include <string>

#include "worker/doctor/doctor.h"

namespace mlc::worker {

// Driver, devices, CUDA compiler, CUPTI and its permission, clocks, memory, other users of each
// card; the cache of device code in `cubins` (a folder; empty: none). `usable`: trials on at least
// one GPU work. REQUIRES: the process has one thread.
Diagnosis DiagnoseGpus(const std::string& cuda_home, const std::string& cubins);

}  // namespace mlc::worker
