// What children send to a worker's daemon, which may be anything if they ran generated code:
// frames that arrive in pieces, and the messages in them. What is read is written to the same
// again, and takes memory in proportion to the message.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/process/frame.h"
#include "worker/build/built_kernel.h"
#include "worker/build/trial.h"
#include "worker/device/fleet/gpu_messages.h"

namespace mlc {
namespace {

const graph::Workload& SomeWorkload() {
  static const graph::Workload workload = [] {
    Result<graph::Workload> parsed = graph::Workload::Parse(
        "workload v1 tolerance=1e-04 {\n  %0 = input() : f32[8]\n  %1 = weight() : f32[8]\n"
        "  %2 = add(%0, %1) : f32[8]\n  return %2\n}\n");
    MLC_CHECK(parsed.ok()) << parsed.status().message();
    return *std::move(parsed);
  }();
  return workload;
}

// Read(Write(x)) is x: its bytes are the same again.
template <typename Value, typename Decode>
void RoundTrip(std::string_view bytes, const Decode& decode) {
  const auto value = decode(bytes);
  if (!value) return;
  const std::string written = worker::Encode(*value);
  const auto again = decode(written);
  MLC_CHECK(again.has_value());
  MLC_CHECK(worker::Encode(*again) == written);
}

void ReadMessage(std::string_view bytes) {
  RoundTrip<worker::GpuTaskMessage>(bytes, worker::DecodeGpuTask);
  RoundTrip<worker::GpuHello>(bytes, worker::DecodeGpuHello);
  RoundTrip<worker::GpuReport>(bytes, worker::DecodeGpuReport);
  RoundTrip<worker::BuiltKernel>(
      bytes, [](std::string_view part) -> std::optional<worker::BuiltKernel> {
        Result<worker::BuiltKernel> built = worker::Decode(part, SomeWorkload());
        if (!built.ok()) return std::nullopt;
        return *std::move(built);
      });
  worker::ByteReader in(bytes);
  const worker::Trial trial = worker::GetTrial(in);
  if (!in.AtEnd()) return;
  worker::ByteWriter out;
  worker::Put(out, trial);
  MLC_CHECK(out.Take() == bytes);
}

// The pieces of a stream are cut where its first byte says.
void ReadStream(std::string_view bytes) {
  if (bytes.empty()) return;
  const size_t piece = 1 + static_cast<uint8_t>(bytes[0]);
  bytes.remove_prefix(1);
  std::string received;
  size_t taken = 0;
  while (!bytes.empty()) {
    received.append(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    while (const std::optional<std::string> message = worker::TakeFrame(received)) {
      MLC_CHECK(message->size() <= worker::kMaxFrame);
      ReadMessage(*message);
      MLC_CHECK(++taken <= 1'000'000);
    }
  }
}

}  // namespace
}  // namespace mlc

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  mlc::ReadMessage(bytes);
  mlc::ReadStream(bytes);
  return 0;
}
