// The messages between an engine and the runner child of a GPU. The engine sends tasks over a
// socket, each with the descriptor of its reference set. The child answers over its pipe: a hello,
// then one report per task. Values.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/measurement.h"
#include "base/status.h"

namespace mlc::worker {

// One or more kernels of one workload; several are measured in turns.
struct GpuTaskMessage {
  std::string workload;
  std::vector<std::string> built;  // Encode(BuiltKernel)
  uint64_t set = 0;
  double early_stop_ns = 0;
  // No other task waits, so contenders get extra samples until the next message.
  bool may_take_more_samples = false;
};
// Stops extra samples; not a task.
inline constexpr std::string_view kStopExtraSamples;

std::string Encode(const GpuTaskMessage& message);
std::optional<GpuTaskMessage> DecodeGpuTask(std::string_view bytes);

// The first message of a runner: it is ready, or the reason why it is not.
struct GpuHello {
  Status status;
  double copy_gbps = 0;
};
std::string Encode(const GpuHello& hello);
std::optional<GpuHello> DecodeGpuHello(std::string_view bytes);

struct GpuReport {
  // One per kernel. If a kernel of several failed, only its measurement.
  std::vector<Measurement> measurements;
  bool tainted = false;  // the engine has to replace the child
  double more_s = 0;     // seconds of extra samples
};
std::string Encode(const GpuReport& report);
std::optional<GpuReport> DecodeGpuReport(std::string_view bytes);

// Sends a message over a local socket, with a descriptor (-1: none). False if the other side has
// closed.
bool SendWithDescriptor(int socket, std::string_view payload, int descriptor);

// Receives such messages. Not thread-safe.
class DescriptorReader {
 public:
  explicit DescriptorReader(int socket) : socket_(socket) {}
  ~DescriptorReader();
  DescriptorReader(const DescriptorReader&) = delete;
  DescriptorReader& operator=(const DescriptorReader&) = delete;

  // Waits for the next message and its descriptor (-1: none), which the caller owns. False at the
  // end of the stream.
  bool Receive(std::string& payload, int& descriptor);
  // True if a message, part of a message or the end of the stream has arrived.
  bool Waiting() const;

 private:
  int socket_;
  std::string received_;
  std::deque<int> descriptors_;  // arrive before or with their messages
};

}  // namespace mlc::worker
