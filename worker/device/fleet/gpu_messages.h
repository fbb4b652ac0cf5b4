// What an engine and a GPU's runner child say to each other. The engine sends tasks over a socket,
// each with the descriptor of its reference set; the child answers over its pipe: a hello, then one
// report for each task. Values.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/measurement.h"
#include "base/status.h"

namespace mlc::worker {

// Kernels of one workload: one that is measured alone, or several that are measured in turns.
struct GpuTaskMessage {
  std::string workload;
  std::vector<std::string> built;  // Encode(BuiltKernel)
  uint64_t set = 0;
  double early_stop_ns = 0;
  // Nothing else waits: contenders get more samples until the next message comes.
  bool may_take_more_samples = false;
};
// Stops extra samples; not a task.
inline constexpr std::string_view kStopExtraSamples;

std::string Encode(const GpuTaskMessage& message);
std::optional<GpuTaskMessage> DecodeGpuTask(std::string_view bytes);

// A runner is ready, or why it is not.
struct GpuHello {
  Status status;
  double copy_gbps = 0;
};
std::string Encode(const GpuHello& hello);
std::optional<GpuHello> DecodeGpuHello(std::string_view bytes);

struct GpuReport {
  // One for each kernel. One alone for several: a kernel failed, and the others say nothing.
  std::vector<Measurement> measurements;
  bool tainted = false;  // the child is to be replaced
  double more_s = 0;     // spent on more samples while no task waited
};
std::string Encode(const GpuReport& report);
std::optional<GpuReport> DecodeGpuReport(std::string_view bytes);

// Sends a message over a local socket, with a descriptor (-1: none). False when the other side is
// gone.
bool SendWithDescriptor(int socket, std::string_view payload, int descriptor);

// The other side. Not thread-safe.
class DescriptorReader {
 public:
  explicit DescriptorReader(int socket) : socket_(socket) {}
  ~DescriptorReader();
  DescriptorReader(const DescriptorReader&) = delete;
  DescriptorReader& operator=(const DescriptorReader&) = delete;

  // Waits for the next message and its descriptor (-1: none), which the caller owns. False at the
  // end of the stream.
  bool Receive(std::string& payload, int& descriptor);
  // A message, its beginning or the end of the stream has arrived.
  bool Waiting() const;

 private:
  int socket_;
  std::string received_;
  std::deque<int> descriptors_;  // arrive before or with their messages
};

}  // namespace mlc::worker
