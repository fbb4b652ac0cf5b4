#include "worker/device/fleet/gpu_messages.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/process/bytes.h"
#include "base/process/frame.h"
#include "worker/build/trial.h"

namespace mlc::worker {
namespace {

// The first byte of a message: does a descriptor belong to it?
constexpr char kWith = '+';
constexpr char kWithout = '-';

}  // namespace

std::string Encode(const GpuTaskMessage& message) {
  ByteWriter out;
  out.PutText(message.workload);
  out.Put<uint64_t>(message.built.size());
  for (const std::string& built : message.built) out.PutText(built);
  out.Put(message.set);
  out.Put(message.early_stop_ns);
  out.Put(message.may_take_more_samples);
  return out.Take();
}

std::optional<GpuTaskMessage> DecodeGpuTask(std::string_view bytes) {
  ByteReader in(bytes);
  GpuTaskMessage message;
  message.workload = in.GetText();
  message.built.resize(in.GetCount(ByteReader::kLeastText));
  for (std::string& built : message.built) built = in.GetText();
  message.set = in.Get<uint64_t>();
  message.early_stop_ns = in.Get<double>();
  message.may_take_more_samples = in.Get<bool>();
  if (!in.AtEnd() || message.built.empty()) return std::nullopt;
  return message;
}

std::string Encode(const GpuHello& hello) {
  ByteWriter out;
  out.Put(static_cast<int32_t>(hello.status.code()));
  out.PutText(hello.status.message());
  out.Put(hello.copy_gbps);
  return out.Take();
}

std::optional<GpuHello> DecodeGpuHello(std::string_view bytes) {
  ByteReader in(bytes);
  GpuHello hello;
  const auto code = in.Get<int32_t>();
  const std::string message = in.GetText();
  hello.copy_gbps = in.Get<double>();
  const bool known = code >= 0 && code <= static_cast<int32_t>(kLastStatusCode);
  if (!in.AtEnd() || !known) return std::nullopt;
  hello.status = Status(static_cast<StatusCode>(code), code == 0 ? std::string() : message);
  return hello;
}

std::string Encode(const GpuReport& report) {
  ByteWriter out;
  out.Put<uint64_t>(report.measurements.size());
  for (const Measurement& measurement : report.measurements) Put(out, measurement);
  out.Put(report.tainted);
  out.Put(report.more_s);
  return out.Take();
}

std::optional<GpuReport> DecodeGpuReport(std::string_view bytes) {
  ByteReader in(bytes);
  GpuReport report;
  report.measurements.resize(in.GetCount(kMinMeasurement));
  for (Measurement& measurement : report.measurements) measurement = GetMeasurement(in);
  report.tainted = in.Get<bool>();
  report.more_s = in.Get<double>();
  if (!in.AtEnd() || report.measurements.empty()) return std::nullopt;
  return report;
}

bool SendWithDescriptor(int socket, std::string_view payload, int descriptor) {
  const std::string bytes = Frame((descriptor >= 0 ? kWith : kWithout) + std::string(payload));
  std::string_view frame = bytes;
  // The descriptor travels with the first byte.
  iovec part = {const_cast<char*>(frame.data()), 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  }
  ssize_t sent = 0;
  do {
    sent = sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent != 1) return false;
  frame.remove_prefix(1);
  while (!frame.empty()) {
    sent = send(socket, frame.data(), frame.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    frame.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

DescriptorReader::~DescriptorReader() {
  for (int descriptor : descriptors_) close(descriptor);
}

bool DescriptorReader::Waiting() const {
  pollfd waiting = {socket_, POLLIN, 0};
  return !received_.empty() || poll(&waiting, 1, 0) > 0;
}

bool DescriptorReader::Receive(std::string& payload, int& descriptor) {
  for (;;) {
    if (const auto taken = TakeFrame(received_)) {
      if (taken->empty()) return false;
      descriptor = -1;
      payload = taken->substr(1);
      if ((*taken)[0] != kWith) return true;
      if (descriptors_.empty()) return false;
      descriptor = descriptors_.front();
      descriptors_.pop_front();
      return true;
    }
    char buffer[65536];
    iovec part = {buffer, sizeof(buffer)};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    const ssize_t size = recvmsg(socket_, &message, MSG_CMSG_CLOEXEC);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    for (cmsghdr* h = CMSG_FIRSTHDR(&message); h != nullptr; h = CMSG_NXTHDR(&message, h)) {
      if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS) continue;
      int arrived = -1;
      std::memcpy(&arrived, CMSG_DATA(h), sizeof(int));
      descriptors_.push_back(arrived);
    }
    received_.append(buffer, static_cast<size_t>(size));
  }
}

}  // namespace mlc::worker
