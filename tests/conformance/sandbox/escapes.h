// What code that tries to leave a sandbox would try, as the system calls themselves: from a child
// that computes, and from one that drives a GPU. Linux only.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace mlc::testing {

// Whom the attempts go against: made by the test, outside of the sandbox.
struct Victim {
  std::string folder;  // with a file `kept`, a local stream socket `stream` that listens, and a
                       // datagram socket `datagrams`
  std::string shared;  // a file in /dev/shm
  int process = 0;     // of the same user
};

struct Escape {
  std::string what;
  // 0 if it got through, else errno.
  std::function<int(const Victim&)> attempt;
  int device;          // errno in the sandbox of a GPU's driver
  bool works = false;  // without a sandbox, where the test's user may do anything to itself
};

std::vector<Escape> FileEscapes();
std::vector<Escape> SocketEscapes();
std::vector<Escape> ProcessEscapes();
std::vector<Escape> KernelEscapes();

// Numbers of calls that the device's sandbox forbids whatever their arguments.
std::vector<long> ForbiddenCalls();

}  // namespace mlc::testing
