#include "base/followed_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/file_access.h"

namespace mlc::transport {
namespace {

constexpr int kMostUnsettled = 8;
constexpr size_t kLargestFile = size_t{16} << 20;

struct Descriptor {
  explicit Descriptor(int number) : fd(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
  const int fd;
};

}  // namespace

Result<std::string> ReadFileText(const std::string& flag, const std::string& path) {
  // A pipe without a writer must not hold us up.
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.fd < 0) return CannotOpen("cannot read", path, errno).WithPrefix(flag);
  struct stat info;
  if (fstat(file.fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    return InvalidArgument(flag + ": " + path + " is not a regular file");
  }
  std::string text;
  char block[1 << 14];
  for (;;) {
    const ssize_t size = read(file.fd, block, sizeof(block));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return CannotOpen("cannot read", path, errno).WithPrefix(flag);
    if (size == 0) break;
    text.append(block, static_cast<size_t>(size));
    if (text.size() > kLargestFile) return InvalidArgument(flag + ": " + path + " is too large");
  }
  if (text.empty())
    return InvalidArgument(flag + ": " + path + " is empty: is it still being written?");
  return text;
}

Status FollowedFile::Refresh(Look look, const std::function<Status(const std::string&)>& use) {
  Result<std::string> text = ReadFileText(flag_, path_);
  if (!text.ok()) {
    seen_.clear();
    return status_ = text.status();
  }
  const bool settled = !settles_ || *text == seen_;
  seen_ = *std::move(text);
  if (look == Look::kIfChanged) {
    if (taken_ > 0 && seen_ == text_) return status_ = Status();
    if (!settled && ++unsettled_ < kMostUnsettled) return status_;
    if (!settled) {
      return status_ =
                 Unavailable(flag_ + ": " + path_ +
                             " changes at every read: write a new file beside it and rename that");
    }
  }
  unsettled_ = 0;
  status_ = use(seen_);
  if (!status_.ok()) return status_;
  text_ = seen_;
  ++taken_;
  return status_;
}

}  // namespace mlc::transport
