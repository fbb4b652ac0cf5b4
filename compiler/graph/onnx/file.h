// Read-only mappings of the model file and of its external weight files. External data is opened
// beneath the model's directory only (openat2 with RESOLVE_BENEATH): no absolute path, ".." or link
// leads out of it, and only regular files are mapped. Values; thread-compatible.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace mlc::graph::onnx {

// A mapped regular file. The last reference unmaps it.
class MappedFile {
 public:
  // Takes ownership of `fd`. `what` names the file in messages.
  static Result<std::shared_ptr<const MappedFile>> Map(int fd, const std::string& what);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::string_view bytes() const { return bytes_; }
  // Releases the pages that were read from memory; reading them again loads them.
  void DropPages() const;

 private:
  explicit MappedFile(std::string_view bytes) : bytes_(bytes) {}

  std::string_view bytes_;
};
using MappedFileRef = std::shared_ptr<const MappedFile>;

// NOT_FOUND if it does not exist, INVALID_ARGUMENT if it is not a regular file.
Result<MappedFileRef> OpenModelFile(const std::string& path);

// The weight files of one model, each mapped once. Not thread-safe.
class ExternalFiles {
 public:
  // The directory is the one of the model's path after links are resolved, so that a cache that
  // links models into snapshots works.
  explicit ExternalFiles(std::string model_path) : model_path_(std::move(model_path)) {}
  ExternalFiles(const ExternalFiles&) = delete;
  ExternalFiles& operator=(const ExternalFiles&) = delete;
  ~ExternalFiles();

  Result<MappedFileRef> Open(std::string_view location);
  std::vector<MappedFileRef> Opened() const;

 private:
  Status OpenDirectory();

  std::string model_path_;
  int directory_ = -1;
  std::map<std::string, MappedFileRef, std::less<>> files_;
};

}  // namespace mlc::graph::onnx
