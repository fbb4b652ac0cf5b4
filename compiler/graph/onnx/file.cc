#include "compiler/graph/onnx/file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "compiler/graph/onnx/model.h"

namespace mlc::graph::onnx {
namespace {

constexpr size_t kMaxExternalFiles = 4096;

std::string ErrorText(int error) { return std::strerror(error); }

// A location that could mean anything but a file beneath the directory is refused by its text
// alone; the kernel enforces the rest.
Status CheckLocation(std::string_view location) {
  const auto refuse = [&](std::string_view why) {
    return InvalidArgument("external data location " + Quote(location) + " " + std::string(why));
  };
  if (location.empty()) return refuse("is empty");
  if (location.size() >= PATH_MAX) return refuse("is too long");
  if (location.front() == '/') return refuse("is absolute");
  if (location.find('\0') != location.npos) return refuse("holds a NUL byte");
  if (location.find('\\') != location.npos) return refuse("holds a backslash");
  if (location.find("://") != location.npos) return refuse("is a URL");
  for (size_t begin = 0; begin <= location.size();) {
    const size_t end = std::min(location.find('/', begin), location.size());
    if (location.substr(begin, end - begin) == "..") return refuse("holds '..'");
    begin = end + 1;
  }
  return Status();
}

}  // namespace

Result<MappedFileRef> MappedFile::Map(int fd, const std::string& what) {
  struct stat info = {};
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(fd);
    return InvalidArgument(what + " is not a regular file");
  }
  std::string_view bytes;
  if (info.st_size > 0) {
    const size_t size = static_cast<size_t>(info.st_size);
    void* const address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    const int error = errno;
    if (address == MAP_FAILED) {
      close(fd);
      return ResourceExhausted("cannot map " + what + ": " + ErrorText(error));
    }
    bytes = {static_cast<const char*>(address), size};
  }
  close(fd);
  return MappedFileRef(new MappedFile(bytes));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

void MappedFile::DropPages() const {
  // The mapping is never written: dropped pages are those of the file. A failure costs memory only.
  if (!bytes_.empty()) madvise(const_cast<char*>(bytes_.data()), bytes_.size(), MADV_DONTNEED);
}

Result<MappedFileRef> OpenModelFile(const std::string& path) {
  // O_NONBLOCK keeps a FIFO from hanging the open; a regular file ignores it.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    return InvalidArgument("cannot open the model file " + Quote(path) + ": " + ErrorText(errno));
  }
  return MappedFile::Map(fd, "the model file " + Quote(path));
}

ExternalFiles::~ExternalFiles() {
  if (directory_ >= 0) close(directory_);
}

Status ExternalFiles::OpenDirectory() {
  if (directory_ >= 0) return Status();
  char* const resolved = realpath(model_path_.c_str(), nullptr);
  if (resolved == nullptr) {
    return InvalidArgument("cannot resolve the model's path: " + ErrorText(errno));
  }
  std::string directory = resolved;
  std::free(resolved);
  directory.resize(directory.rfind('/') + 1);
  directory_ = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory_ < 0) {
    return InvalidArgument("cannot open the model's directory: " + ErrorText(errno));
  }
  return Status();
}

Result<MappedFileRef> ExternalFiles::Open(std::string_view location) {
  const auto known = files_.find(location);
  if (known != files_.end()) return known->second;
  MLC_TRY(CheckLocation(location));
  if (files_.size() == kMaxExternalFiles) {
    return InvalidArgument("the model names more than " + std::to_string(kMaxExternalFiles) +
                           " external data files");
  }
  MLC_TRY(OpenDirectory());
  const std::string path(location);
  struct open_how how = {};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  const long fd = syscall(SYS_openat2, directory_, path.c_str(), &how, sizeof(how));
  if (fd < 0) {
    return InvalidArgument("cannot open external data " + Quote(location) +
                           " beneath the model's directory: " + ErrorText(errno));
  }
  MappedFileRef file =
      MLC_TRY(MappedFile::Map(static_cast<int>(fd), "external data " + Quote(location)));
  files_.emplace(path, file);
  return file;
}

std::vector<MappedFileRef> ExternalFiles::Opened() const {
  std::vector<MappedFileRef> files;
  for (const auto& [location, file] : files_) files.push_back(file);
  return files;
}

}  // namespace mlc::graph::onnx
