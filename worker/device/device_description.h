// The description of one device slot: capabilities for the server, a name for the user, and the
// encoding between the worker's processes. A value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/process/bytes.h"

namespace mlc::worker {

struct DeviceDescription {
  std::string target;  // text, with measured peaks
  std::string kind;    // "CPU" or "GPU"
  int devices = 1;     // of the target
  // The least memory of the devices, because any of them may get a trial.
  int64_t memory_bytes = 0;
  std::string llvm;                     // version of LLVM; empty: not used
  std::string nvrtc;                    // version of NVRTC; empty: not used
  std::string driver;                   // empty: none
  std::vector<std::string> precisions;  // of matrix products; empty: there is only one
  bool user_kernels = false;            // runs user-supplied kernels
  bool tells_use = false;               // reports its device time to the server
};

// Encoded size of a DeviceDescription with empty strings.
inline constexpr size_t kMinDeviceDescription =
    6 * ByteReader::kLeastText + sizeof(int) + sizeof(int64_t);

void Put(ByteWriter& out, const DeviceDescription& description);
DeviceDescription GetDeviceDescription(ByteReader& in);

}  // namespace mlc::worker
