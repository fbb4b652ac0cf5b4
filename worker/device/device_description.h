// What a worker says about one of its device slots: to the server as capabilities, to people as a
// name; and its form between the worker's processes. A value.
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
  // Any of the devices may get a trial: the least memory of them.
  int64_t memory_bytes = 0;
  std::string llvm;                     // version of the compiler; empty: another one is used
  std::string nvrtc;                    // the same
  std::string driver;                   // empty: none
  std::vector<std::string> precisions;  // of matrix products; empty: its only one
  bool user_kernels = false;            // runs user-supplied kernels
  bool tells_use = false;               // the server is told how its time went
};

// Bytes of a DeviceDescription without words.
inline constexpr size_t kMinDeviceDescription =
    6 * ByteReader::kLeastText + sizeof(int) + sizeof(int64_t);

void Put(ByteWriter& out, const DeviceDescription& description);
DeviceDescription GetDeviceDescription(ByteReader& in);

}  // namespace mlc::worker
