/* Runs the phases of one kernel on buffers from files, where the kernel's machine is emulated.
     run_kernel LIBRARY COUNT (BYTES FILE)... (SYMBOL EXTENT)...
   COUNT buffers, which are written back to their files afterwards. BYTES is at least the file's
   length. Each phase is run in two shares, as by two threads one after the other. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/runtime/abi.h"

static int Fail(const char* what, const char* of) {
  fprintf(stderr, "run_kernel: %s '%s'\n", what, of);
  return 1;
}

int main(int argc, char** argv) {
  if (argc < 3) return Fail("too few arguments after", argv[0]);
  void* library = dlopen(argv[1], RTLD_NOW);
  if (library == NULL) return Fail(dlerror(), argv[1]);
  const int count = atoi(argv[2]);
  char** argument = argv + 3;
  void* buffers[64];
  if (count > 64 || argc < 3 + 2 * count) return Fail("no such number of buffers:", argv[2]);
  for (int i = 0; i < count; ++i) {
    const size_t bytes = (size_t)strtoull(argument[2 * i], NULL, 10);
    buffers[i] = aligned_alloc(64, (bytes + 127) / 64 * 64);
    FILE* file = fopen(argument[2 * i + 1], "rb");
    if (buffers[i] == NULL || file == NULL) return Fail("cannot read", argument[2 * i + 1]);
    const size_t read = fread(buffers[i], 1, bytes, file);
    memset((char*)buffers[i] + read, 0, bytes - read);
    fclose(file);
  }
  for (char** phase = argument + 2 * count; phase + 1 < argv + argc; phase += 2) {
    mlc_phase_fn run;
    *(void**)&run = dlsym(library, phase[0]);
    if (run == NULL) return Fail("the library lacks", phase[0]);
    const int64_t extent = strtoll(phase[1], NULL, 10);
    run(buffers, 0, extent / 2, 0);
    run(buffers, extent / 2, extent, 0);
  }
  for (int i = 0; i < count; ++i) {
    FILE* file = fopen(argument[2 * i + 1], "wb");
    const size_t bytes = (size_t)strtoull(argument[2 * i], NULL, 10);
    if (file == NULL || fwrite(buffers[i], 1, bytes, file) != bytes || fclose(file) != 0) {
      return Fail("cannot write", argument[2 * i + 1]);
    }
  }
  return 0;
}
