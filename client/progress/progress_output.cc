#include "client/progress/progress_output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "base/process/standard_output.h"
#include "client/progress/progress_block.h"
#include "client/progress/tune_report.h"
#include "server/state/state_json.h"

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
  size.ws_row = std::max<unsigned short>(size.ws_row, 1);
  return size;
}

BlockRoom RoomOf(const winsize& size, Charset charset) {
  // The cursor stands on a line of its own below the block.
  const auto rows = static_cast<size_t>(std::min<int>(kMaxHeight, std::max<int>(size.ws_row, 2)));
  return {static_cast<size_t>(std::max<int>(size.ws_col, 2)) - 1, rows - 1, charset};
}

}  // namespace

Status ProgressOutput::Show(const proto::JobProgress& progress) {
  waiting_ = false;
  if (form_.style == ProgressStyle::kNone) return Status();
  history_.Add(progress, server::FiguresOf(model_, progress).model().model_ns);
  if (form_.style == ProgressStyle::kTerminal) {
    Draw(progress);
    return Status();
  }
  const auto now = std::chrono::steady_clock::now();
  const auto interval = form_.style == ProgressStyle::kPlain
                            ? std::chrono::milliseconds(kPlainInterval)
                            : kJsonInterval;
  if (shown_ && now - last_ < interval) return Status();
  shown_ = true;
  last_ = now;
  if (form_.style == ProgressStyle::kPlain) {
    const std::string line = ProgressLine(model_, progress, history_.SecondsLeft());
    Write(stderr, PrintableOf(line, form_.charset) + "\n");
    return Status();
  }
  Write(stdout, server::ProgressJson(model_, progress, history_.SecondsLeft()) + "\n");
  return transport::FlushOutput();
}

void ProgressOutput::ShowWaiting(std::chrono::seconds waited) {
  if (form_.style == ProgressStyle::kNone) return;
  if (form_.style == ProgressStyle::kTerminal && block_.is_drawn()) return DrawWaiting(waited);
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

void ProgressOutput::Draw(const proto::JobProgress& progress) {
  seen_ = progress;
  const winsize size = TerminalSize();
  Write(stderr,
        block_.Redraw(ProgressBlock(model_, progress, history_, RoomOf(size, form_.charset)),
                      size.ws_col, size.ws_row));
}

void ProgressOutput::DrawWaiting(std::chrono::seconds waited) {
  const winsize size = TerminalSize();
  Write(stderr,
        block_.Redraw(WaitingBlock(model_, seen_, history_, waited, RoomOf(size, form_.charset)),
                      size.ws_col, size.ws_row));
}

}  // namespace mlc::client
