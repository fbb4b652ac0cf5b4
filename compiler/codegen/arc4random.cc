// LLVM calls arc4random, which the C library has since glibc 2.36. With this definition in its
// place, programs also start where glibc is 2.35, as on Ubuntu 22.04.
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

extern "C" uint32_t arc4random() noexcept {
  uint32_t value = 0;
  while (getrandom(&value, sizeof value, 0) != sizeof value) {
    if (errno != EINTR) abort();  // as the C library does: its callers know no failure
  }
  return value;
}
