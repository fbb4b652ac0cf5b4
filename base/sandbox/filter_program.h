// Builds seccomp filters: programs that read the number of a call and the low halves of its
// arguments. The kernel ignores the high halves of the arguments that these filters test. Private
// to this folder. Not thread-safe.
#pragma once

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"

namespace mlc::build {

#if defined(__aarch64__)
inline constexpr uint32_t kArch = AUDIT_ARCH_AARCH64;
#else
inline constexpr uint32_t kArch = AUDIT_ARCH_X86_64;
#endif

constexpr uint32_t Refuse(int error) { return SECCOMP_RET_ERRNO | static_cast<uint32_t>(error); }
inline constexpr uint32_t kDeny = Refuse(EPERM);

constexpr uint32_t Low(int argument) {
  return offsetof(seccomp_data, args) + 8 * static_cast<uint32_t>(argument);
}

class Filter {
 public:
  void Load(uint32_t offset) { Add(BPF_LD | BPF_W | BPF_ABS, offset, 0, 0); }
  void Mask(uint32_t bits) { Add(BPF_ALU | BPF_AND | BPF_K, bits, 0, 0); }
  void Return(uint32_t action) { Add(BPF_RET | BPF_K, action, 0, 0); }
  void ReturnIfEqual(uint32_t value, uint32_t action) {
    Add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
    Return(action);
  }
  void ReturnUnlessEqual(uint32_t value, uint32_t action) {
    Add(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0);
    Return(action);
  }
  void ReturnIfAbove(uint32_t value, uint32_t action) {
    Add(BPF_JMP | BPF_JGT | BPF_K, value, 0, 1);
    Return(action);
  }
  void SkipUnlessEqual(uint32_t value, uint8_t skip) {
    Add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip);
  }
  void ReturnIfBit(uint32_t bits, uint32_t action) {
    Add(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
    Return(action);
  }
  // Adds the rules that `make` adds to an empty filter, for this call only. They must end with a
  // Return.
  template <typename Make>
  void For(long call, Make make) {
    Filter rules;
    make(rules);
    SkipUnlessEqual(static_cast<uint32_t>(call), static_cast<uint8_t>(rules.code_.size()));
    code_.insert(code_.end(), rules.code_.begin(), rules.code_.end());
  }
  std::vector<sock_filter>& code() { return code_; }

 private:
  void Add(uint16_t code, uint32_t k, uint8_t jt, uint8_t jf) {
    code_.push_back({code, jt, jf, k});
  }
  std::vector<sock_filter> code_;
};

// Checks that the architecture is the one that was compiled for, and loads the number of the call.
void Begin(Filter& filter);
// Permits new threads but not new processes. REQUIRES: the number of the call is loaded; it stays
// loaded.
void AllowThreads(Filter& filter);

// Permits a call whose first argument is this process; some calls name it by 0.
void AllowOnItself(Filter& filter, long call, bool zero_is_itself);

// What InstallDeviceSyscallFilter installs.
Filter MakeDeviceFilter();
// What InstallCompilerSyscallFilter installs.
Filter MakeCompilerFilter();

}  // namespace mlc::build
