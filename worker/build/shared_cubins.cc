#include "worker/build/shared_cubins.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/process/bytes.h"
#include "base/process/child.h"
#include "base/process/frame.h"

namespace mlc::worker {
namespace {

// The first byte of a child's message.
constexpr char kLookup = 'Q';
constexpr char kMade = 'M';

// Of the parent's answer, before the size of what it put into the shared memory.
constexpr char kFound = 'F';
constexpr char kMissing = 'N';
constexpr size_t kAnswerBytes = 1 + sizeof(uint64_t);

// The folder is looked through once for so many bytes.
constexpr int64_t kTrimEvery = int64_t{64} << 20;

bool ReadAll(int fd, char* to, size_t bytes) {
  while (bytes > 0) {
    const ssize_t size = read(fd, to, bytes);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    to += size;
    bytes -= static_cast<size_t>(size);
  }
  return true;
}

class CachingNvrtc : public build::Nvrtc {
 public:
  CachingNvrtc(build::Nvrtc& nvrtc, int socket, int answer)
      : nvrtc_(nvrtc), socket_(socket), answer_(answer) {}

  std::string version() const override { return nvrtc_.version(); }
  std::string path() const override { return nvrtc_.path(); }
  std::string options() const override { return nvrtc_.options(); }

  Result<build::CudaBinary> Compile(const std::string& source, const std::string& arch) override {
    if (std::optional<build::CudaBinary> found = Ask(source, arch)) return *std::move(found);
    build::CudaBinary binary = MLC_TRY(nvrtc_.Compile(source, arch));
    // Whether it is kept is the parent's matter.
    (void)WriteAll(socket_, Frame(kMade + build::Encode(binary)));
    return binary;
  }

 private:
  std::optional<build::CudaBinary> Ask(const std::string& source, const std::string& arch) {
    ByteWriter question;
    question.Put(kLookup);
    question.PutText(arch);
    question.PutText(source);
    char reply[kAnswerBytes];
    if (!WriteAll(socket_, Frame(question.Take()))) return std::nullopt;
    if (!ReadAll(socket_, reply, sizeof(reply))) return std::nullopt;
    ByteReader in(std::string_view(reply, sizeof(reply)));
    if (in.Get<char>() != kFound) return std::nullopt;
    std::string bytes(in.Get<uint64_t>(), '\0');
    if (lseek(answer_, 0, SEEK_SET) != 0) return std::nullopt;
    if (!ReadAll(answer_, bytes.data(), bytes.size())) return std::nullopt;
    Result<build::CudaBinary> binary = build::DecodeCudaBinary(bytes);
    if (!binary.ok()) return std::nullopt;
    return *std::move(binary);
  }

  build::Nvrtc& nvrtc_;
  int socket_;
  int answer_;
};

}  // namespace

Result<std::unique_ptr<CubinExchange>> CubinExchange::Open() {
  const int answer = memfd_create("cubin", MFD_CLOEXEC);
  int ends[2];
  if (answer < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    if (answer >= 0) close(answer);
    return ResourceExhausted("cannot create a socket pair: too many open files");
  }
  return std::unique_ptr<CubinExchange>(new CubinExchange(ends[0], ends[1], answer));
}

CubinExchange::~CubinExchange() {
  CloseChildSide();
  close(parent_);
  close(answer_);
}

void CubinExchange::CloseChildSide() {
  if (child_ >= 0) close(std::exchange(child_, -1));
}

std::unique_ptr<build::Nvrtc> CubinExchange::Compiler(build::Nvrtc& nvrtc) const {
  return std::make_unique<CachingNvrtc>(nvrtc, child_, answer_);
}

SharedCubins::SharedCubins(const std::string& folder) {
  if (folder.empty()) return;
  Result<build::CubinCache> cache = build::CubinCache::Open(folder);
  if (!cache.ok()) {
    warning_ = cache.status().message() + "; kernels are compiled without a cache";
    return;
  }
  cache_ = *std::move(cache);
  cache_->Trim();
}

void SharedCubins::Serve(CubinExchange& exchange, const build::Nvrtc& nvrtc) {
  char buffer[65536];
  for (;;) {
    const ssize_t size = recv(exchange.parent_, buffer, sizeof(buffer), MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    exchange.received_.append(buffer, static_cast<size_t>(size));
    if (exchange.received_.size() <= kMaxFrame) continue;
    // The child compiles untrusted text; now it sends without end.
    exchange.received_.clear();
    (void)shutdown(exchange.parent_, SHUT_RDWR);
    break;
  }
  while (const std::optional<std::string> message = TakeFrame(exchange.received_)) {
    if (message->empty()) continue;
    const std::string_view rest = std::string_view(*message).substr(1);
    if (message->front() == kLookup) Answer(exchange, nvrtc, rest);
    if (message->front() == kMade) Keep(exchange, rest);
  }
}

void SharedCubins::Answer(CubinExchange& exchange, const build::Nvrtc& nvrtc,
                          std::string_view question) {
  ByteReader in(question);
  const std::string arch = in.GetText();
  const std::string source = in.GetText();
  // A child compiles one kernel; a second request is hostile.
  if (!in.AtEnd() || std::exchange(exchange.asked_, true)) return;
  ++asked_;
  const Digest key = build::CubinCache::KeyOf(nvrtc, source, arch);
  const std::optional<build::CudaBinary> found = cache_ ? cache_->Find(key) : std::nullopt;
  const std::string bytes = found ? build::Encode(*found) : "";
  const bool given = found && pwrite(exchange.answer_, bytes.data(), bytes.size(), 0) ==
                                  static_cast<ssize_t>(bytes.size());
  found_ += given ? 1 : 0;
  if (!given) exchange.missing_ = key;
  ByteWriter out;
  out.Put(given ? kFound : kMissing);
  out.Put<uint64_t>(bytes.size());
  const std::string reply = out.Take();
  // So few bytes always fit; a child that is gone needs none.
  (void)send(exchange.parent_, reply.data(), reply.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void SharedCubins::Keep(CubinExchange& exchange, std::string_view bytes) {
  if (!cache_ || !exchange.missing_) return;
  const Digest key = *std::exchange(exchange.missing_, std::nullopt);
  const Result<build::CudaBinary> binary = build::DecodeCudaBinary(bytes);
  if (!binary.ok()) return;
  const Status kept = cache_->Put(key, *binary);
  if (!kept.ok() && !std::exchange(warned_, true)) {
    warning_ = "the cache of device code is of no use: " + kept.message();
  }
  kept_bytes_ += kept.ok() ? static_cast<int64_t>(bytes.size()) : 0;
  if (kept_bytes_ < kTrimEvery) return;
  kept_bytes_ = 0;
  cache_->Trim();
}

std::string SharedCubins::ToText() const {
  if (asked_ == 0 || !cache_) return {};
  return std::to_string(found_) + " of " + std::to_string(asked_) + " kernels from the cache";
}

}  // namespace mlc::worker
