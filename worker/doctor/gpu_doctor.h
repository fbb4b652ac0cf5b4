// Diagnoses what this machine offers for trials on GPUs, and says how to fix what is missing.
#pragma once

#include <string>

#include "worker/doctor/doctor.h"

namespace mlc::worker {

// Checks the driver, devices, CUDA compiler, CUPTI and its permission, clocks, memory, other users
// of each GPU, and the cache of device code in `cubins` (a folder; empty: none). `usable`: trials
// run on at least one GPU. REQUIRES: the process has one thread.
Diagnosis DiagnoseGpus(const std::string& cuda_home, const std::string& cubins);

}  // namespace mlc::worker
