#include "client/progress/progress_output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/process/standard_output.h"
#include "client/progress/tune_report.h"

namespace mlc::client {
namespace {

constexpr std::chrono::seconds kPlainInterval(10);
// The server's: programs that read along want the whole course.
constexpr std::chrono::milliseconds kJsonInterval(150);
constexpr std::chrono::seconds kWaitingInterval(60);
constexpr int kMaxHeight = 30;

void Write(std::FILE* file, const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), file);
  std::fflush(file);
}

winsize TerminalSize() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
    size.ws_col = 100;
    size.ws_row = 24;
  }
  return size;
}

int WidthOf(const winsize& size) { return size.ws_col - 1; }
// The cursor stands on a line of its own below the block.
int HeightOf(const winsize& size) {
  return std::min<int>(kMaxHeight, std::max<int>(size.ws_row, 2) - 1);
}

}  // namespace

Status ProgressOutput::Show(const proto::JobProgress& progress) {
  waiting_ = false;
  if (style_ == ProgressStyle::kNone) return Status();
  if (style_ == ProgressStyle::kTerminal) {
    seen_ = progress;
    const winsize size = TerminalSize();
    Draw(ProgressBlock(model_, progress, WidthOf(size), HeightOf(size)), size.ws_col);
    return Status();
  }
  const auto now = std::chrono::steady_clock::now();
  const auto interval =
      style_ == ProgressStyle::kPlain ? std::chrono::milliseconds(kPlainInterval) : kJsonInterval;
  if (shown_ && now - last_ < interval) return Status();
  shown_ = true;
  last_ = now;
  if (style_ == ProgressStyle::kPlain) {
    Write(stderr, ProgressLine(model_, progress) + "\n");
    return Status();
  }
  Write(stdout, ProgressJson(model_, progress) + "\n");
  return transport::FlushOutput();
}

void ProgressOutput::ShowWaiting(std::chrono::seconds waited) {
  if (style_ == ProgressStyle::kNone) return;
  if (style_ == ProgressStyle::kTerminal && !drawn_.empty()) {
    const winsize size = TerminalSize();
    return Draw(WaitingBlock(model_, seen_, waited, WidthOf(size), HeightOf(size)), size.ws_col);
  }
  const auto now = std::chrono::steady_clock::now();
  if (waiting_ && now - last_ < kWaitingInterval) return;
  waiting_ = true;
  shown_ = false;
  last_ = now;
  Write(stderr, WaitingLine(waited) + "\n");
}

void ProgressOutput::Finish(const proto::JobProgress& progress) {
  shown_ = false;
  (void)Show(progress);
}

void ProgressOutput::Draw(const std::vector<std::string>& lines, size_t columns) {
  // A terminal made narrower since has wrapped the longer lines.
  size_t rows = 0;
  for (const size_t length : drawn_) rows += 1 + (length > 0 ? (length - 1) / columns : 0);
  std::string text = rows > 0 ? "\x1b[" + std::to_string(rows) + "F" : "";
  drawn_.clear();
  for (const std::string& line : lines) {
    text += line + "\x1b[K\n";
    drawn_.push_back(line.size());
  }
  text += "\x1b[J";
  Write(stderr, text);
}

}  // namespace mlc::client
