// Golden files: text that a test produces, compared with what the tree holds. A mismatch prints a
// unified diff and the command that accepts the new text. Not thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace mlc::golden {

// Whether Check rewrites files instead of comparing; the test's main sets it from
// MLC_UPDATE_GOLDEN.
void SetUpdate(bool update);

// Where the replay test writes the text of every kernel that it looks at; nowhere if empty, which
// is the default. The test's main sets it from MLC_KERNEL_TEXTS, for diff.sh.
void SetTextFolder(std::string folder);
const std::string& TextFolder();

// Fails the current test unless the file, relative to the project's root, holds `text`. `hint` is
// printed with a mismatch: when accepting the new text is right.
void Check(const std::string& path, std::string_view text, std::string_view hint = {});

// Writes a file and the folders above it.
void Write(const std::string& path, std::string_view text);

// The file's text, relative to the project's root; empty if it does not exist.
std::string Read(const std::string& path);

}  // namespace mlc::golden
