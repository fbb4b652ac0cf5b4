// Child processes of the crash tests.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace mlc::crash {

// Starts a program; its output goes to `messages`, appended. It dies with the test.
pid_t Spawn(const std::vector<std::string>& arguments, const std::string& messages);
// SIGKILL, then waits.
void Kill(pid_t pid);
// The exit code, or 128 + signal.
int Wait(pid_t pid);
bool Running(pid_t pid);
// Whether a server accepts connections at the Unix socket; a killed server's socket refuses them.
bool Answers(const std::string& path);

// The bytes of an ONNX model of several small matrix products, written field by field.
std::string TinyModel();

}  // namespace mlc::crash
