// A small file that a program follows while it runs. Each look reads the file and compares its
// text, so no change escapes it, whatever the mode, times and clock of the file say. If a text
// cannot be read or used, the next look tries again. Use from one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"

namespace mlc::transport {

// Returns the whole text of a regular file. Errors begin with `flag`: "--tokens: cannot read ...".
// NOT_FOUND, PERMISSION_DENIED; INVALID_ARGUMENT if it is empty, larger than 16 MiB or not a
// regular file.
Result<std::string> ReadFileText(const std::string& flag, const std::string& path);

enum class Look : uint8_t {
  kIfChanged,  // from time to time
  kNow,        // on request: reads the text, changed or not, settled or not
};

class FollowedFile {
 public:
  // With `settles`, a new text is used only after two looks have read it, because a part of a file
  // that is being written may parse. A text that differs at each look becomes an error.
  FollowedFile(std::string flag, std::string path, bool settles)
      : flag_(std::move(flag)), path_(std::move(path)), settles_(settles) {}

  // Passes a text that was not taken yet to `use`. If reading or `use` fails, every look returns
  // the error until a text is taken; `use` must change nothing when it fails.
  Status Refresh(Look look, const std::function<Status(const std::string& text)>& use);
  const std::string& path() const { return path_; }
  // Number of texts that were taken.
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
