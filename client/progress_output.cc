#include "client/progress_output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

#include "client/tune_report.h"

namespace mlc::client {
namespace {

constexpr std::chrono::seconds kPlainInterval(10);
constexpr std::chrono::milliseconds kJsonInterval(1000);
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

}  // namespace

void ProgressOutput::Show(const proto::JobProgress& progress) {
  if (style_ == ProgressStyle::kNone) return;
  if (style_ == ProgressStyle::kTerminal) return Redraw(progress);
  const auto now = std::chrono::steady_clock::now();
  const auto interval =
      style_ == ProgressStyle::kPlain ? std::chrono::milliseconds(kPlainInterval) : kJsonInterval;
  if (shown_ && now - last_ < interval) return;
  shown_ = true;
  last_ = now;
  if (style_ == ProgressStyle::kPlain) {
    Write(stderr, ProgressLine(tasks_, progress) + "\n");
  } else {
    Write(stdout, ProgressJson(tasks_, progress) + "\n");
  }
}

void ProgressOutput::Finish(const proto::JobProgress& progress) {
  shown_ = false;
  Show(progress);
}

void ProgressOutput::Redraw(const proto::JobProgress& progress) {
  const winsize size = TerminalSize();
  const int height = std::min<int>(kMaxHeight, size.ws_row - 1);
  const std::vector<std::string> lines = ProgressBlock(tasks_, progress, size.ws_col - 1, height);
  std::string text = drawn_lines_ > 0 ? "\x1b[" + std::to_string(drawn_lines_) + "F" : "";
  for (const std::string& line : lines) text += line + "\x1b[K\n";
  text += "\x1b[J";
  Write(stderr, text);
  drawn_lines_ = static_cast<int>(lines.size());
}

}  // namespace mlc::client
