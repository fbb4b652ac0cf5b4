// A program in a pseudo terminal, and the screen that a person would see. Knows what mlc-tune
// needs: lines, wrapping, moving up, erasing; everything else is noted as garbage.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace mlc::crash {

class Terminal {
 public:
  // `locale`: LC_ALL of the program. With C.UTF-8, each character that is not ASCII is taken to
  // have one column, and shown as a tilde.
  Terminal(int columns, int rows, std::string locale = "C")
      : columns_(columns), rows_(rows), locale_(std::move(locale)) {}
  Terminal(const Terminal&) = delete;
  ~Terminal();

  // Starts the program with this terminal as its own.
  void Start(const std::vector<std::string>& arguments);
  // Reads what comes until the text is on the screen; false if the program ends before.
  bool WaitFor(const std::string& text);
  // Reads until nothing comes for a moment: between two redraws.
  void Settle();
  // Stops the program, so that it draws nothing, and lets it go on.
  void Pause();
  void Continue();
  void Press(char key);
  void Resize(int columns, int rows);
  // Reads until the program ends; its exit code, or 128 + signal.
  int Finish();

  // Every line since the start, scrolled off or not.
  std::vector<std::string> Lines() const;
  std::string Text() const;
  // Bytes that are neither text nor a known sequence, escaped.
  const std::string& garbage() const { return garbage_; }
  int cursor_column() const { return column_; }
  // How many control sequences came, known or not.
  int sequences() const { return sequences_; }

 private:
  bool Read();
  void Show(char c);
  void Put(char c);
  void NewLine();
  void Escape(char final);

  int columns_;
  int rows_;
  std::string locale_;
  int fd_ = -1;
  pid_t child_ = -1;
  std::vector<std::string> lines_{std::string()};
  size_t line_ = 0;
  int column_ = 0;
  std::string escape_;  // the sequence under way
  int sequences_ = 0;
  std::string garbage_;
};

}  // namespace mlc::crash
