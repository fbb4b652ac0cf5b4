#include "tests/crash/terminal.h"

#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "tests/crash/process.h"

namespace mlc::crash {
namespace {

constexpr int kQuietMs = 20;
// Stands for any character that is not ASCII.
constexpr char kCharacter = '~';

}  // namespace

Terminal::~Terminal() {
  if (child_ > 0) Kill(child_);
  if (fd_ >= 0) close(fd_);
}

void Terminal::Start(const std::vector<std::string>& arguments) {
  std::vector<char*> words;
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.data()));
  words.push_back(nullptr);
  winsize size{};
  size.ws_col = static_cast<unsigned short>(columns_);
  size.ws_row = static_cast<unsigned short>(rows_);
  child_ = forkpty(&fd_, nullptr, nullptr, &size);
  if (child_ != 0) return;
  setenv("TERM", "xterm", 1);
  setenv("LC_ALL", locale_.c_str(), 1);
  for (const int sent : {SIGINT, SIGHUP}) signal(sent, SIG_DFL);
  execv(words[0], words.data());
  _exit(127);
}

// False at the end: the terminal is closed when the last program on it has ended.
bool Terminal::Read() {
  char buffer[4096];
  const ssize_t size = read(fd_, buffer, sizeof buffer);
  for (ssize_t i = 0; i < size; ++i) Show(buffer[i]);
  return size > 0;
}

bool Terminal::WaitFor(const std::string& text) {
  while (Text().find(text) == std::string::npos) {
    if (!Read()) return false;
  }
  return true;
}

void Terminal::Settle() {
  pollfd more{fd_, POLLIN, 0};
  while (poll(&more, 1, kQuietMs) > 0 && Read()) {
  }
}

void Terminal::Pause() {
  int status = 0;
  kill(child_, SIGSTOP);
  while (waitpid(child_, &status, WUNTRACED) == child_ && !WIFSTOPPED(status)) {
  }
}

void Terminal::Continue() { kill(child_, SIGCONT); }

void Terminal::Press(char key) { (void)!write(fd_, &key, 1); }

// Lines that do not fit any more are wrapped, as terminals do.
void Terminal::Resize(int columns, int rows) {
  std::vector<std::string> wrapped;
  size_t cursor = 0;
  for (size_t i = 0; i < lines_.size(); ++i) {
    if (i == line_) cursor = wrapped.size();
    std::string rest = lines_[i];
    const auto width = static_cast<size_t>(columns);
    for (; rest.size() > width; rest.erase(0, width)) wrapped.push_back(rest.substr(0, width));
    wrapped.push_back(rest);
  }
  lines_ = wrapped;
  line_ = cursor;
  columns_ = columns;
  rows_ = rows;
  winsize size{};
  size.ws_col = static_cast<unsigned short>(columns);
  size.ws_row = static_cast<unsigned short>(rows);
  ioctl(fd_, TIOCSWINSZ, &size);
}

int Terminal::Finish() {
  while (Read()) {
  }
  const int code = Wait(child_);
  child_ = -1;
  return code;
}

void Terminal::Show(char c) {
  if (!escape_.empty()) {
    escape_ += c;
    const bool starts = escape_.size() == 2 && c == '[';
    if (!starts && (c < '0' || c > '9') && c != ';') Escape(c);
    return;
  }
  const auto byte = static_cast<unsigned char>(c);
  if (c == '\x1b') {
    escape_ = c;
  } else if (c == '\n') {
    NewLine();
  } else if (c == '\r') {
    column_ = 0;
  } else if (byte >= 0x20 && byte < 0x7f) {
    Put(c);
  } else if (locale_ == "C.UTF-8" && byte >= 0xc0) {
    Put(kCharacter);
  } else if (locale_ == "C.UTF-8" && byte >= 0x80) {
    // The rest of the character.
  } else {
    garbage_ += "<" + std::to_string(byte) + ">";
  }
}

void Terminal::Put(char c) {
  if (column_ == columns_) {
    NewLine();
    column_ = 0;
  }
  std::string& line = lines_[line_];
  const auto column = static_cast<size_t>(column_++);
  if (line.size() <= column) line.resize(column + 1, ' ');
  line[column] = c;
}

void Terminal::NewLine() {
  if (++line_ == lines_.size()) lines_.emplace_back();
}

void Terminal::Escape(char final) {
  ++sequences_;
  const int count = std::max(1, std::atoi(escape_.c_str() + 2));
  if (final == 'F') {
    // Not above the screen: what has scrolled off stays.
    const auto rows = static_cast<size_t>(rows_);
    const size_t top = lines_.size() > rows ? lines_.size() - rows : 0;
    const auto up = static_cast<size_t>(count);
    line_ = line_ >= top + up ? line_ - up : top;
    column_ = 0;
  } else if (final == 'K' && escape_ == "\x1b[K") {
    lines_[line_].resize(std::min(lines_[line_].size(), static_cast<size_t>(column_)));
  } else if (final == 'J' && escape_ == "\x1b[J") {
    lines_[line_].resize(std::min(lines_[line_].size(), static_cast<size_t>(column_)));
    for (size_t i = line_ + 1; i < lines_.size(); ++i) lines_[i].clear();
  } else {
    garbage_ += "<ESC>" + escape_.substr(1);
  }
  escape_.clear();
}

std::vector<std::string> Terminal::Lines() const {
  std::vector<std::string> lines = lines_;
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

std::string Terminal::Text() const {
  std::string text;
  for (const std::string& line : Lines()) text += line + "\n";
  return text;
}

}  // namespace mlc::crash
