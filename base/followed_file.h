// A small file that a program follows while it runs. It is read at every look and its text
// compared, so nothing hides a change: not its mode, its times, nor a clock. What cannot be read or
// used is tried again at the next look. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"

namespace mlc::transport {

// All of a regular file; `flag` begins the errors: "--tokens: cannot read ...". NOT_FOUND,
// PERMISSION_DENIED; INVALID_ARGUMENT for an empty one, one beyond 16 MiB or no regular file.
Result<std::string> ReadFileText(const std::string& flag, const std::string& path);

enum class Look : uint8_t {
  kIfChanged,  // from time to time
  kNow,        // on request: reads the text, changed or not, settled or not
};

class FollowedFile {
 public:
  // With `settles`, a new text counts once two looks have found it: a part of a file that is being
  // written in place may look sound. One that is another at each look becomes an error.
  FollowedFile(std::string flag, std::string path, bool settles)
      : flag_(std::move(flag)), path_(std::move(path)), settles_(settles) {}

  // Hands a text to `use` that it has not taken yet. Errors of reading, and of `use`, which leaves
  // things as they were then, come at every look until a text is taken.
  Status Refresh(Look look, const std::function<Status(const std::string& text)>& use);
  const std::string& path() const { return path_; }
  // How many texts were taken.
  int64_t taken() const { return taken_; }

 private:
  const std::string flag_;
  const std::string path_;
  const bool settles_;
  std::string text_;  // the last one that was taken
  std::string seen_;  // the last one that was read
  int64_t taken_ = 0;
  int unsettled_ = 0;  // looks in a row
  Status status_;
};

}  // namespace mlc::transport
