/* What tests ask and tell. */
#include "fake_cuda.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"

enum { kNotes = 1 << 20 };

long fake_held;
double fake_now_ms;

static char notes[kNotes];
static size_t noted;
static char failing[64];
static int failing_in, failing_result;

void fake_note(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (noted + 256 < sizeof notes) {
    noted += (size_t)vsnprintf(notes + noted, sizeof notes - noted, format, arguments);
  }
  va_end(arguments);
}

int fake_failure(const char* name) {
  if (strcmp(name, failing) != 0 || failing_in == 0 || --failing_in > 0) return 0;
  return failing_result;
}

const char* fake_cuda_notes(void) { return notes; }
void fake_cuda_reset(void) {
  noted = 0;
  notes[0] = '\0';
  failing_in = 0;
  fake_cuda_device(90, 1, 13000);
}
void fake_cuda_fail(const char* name, int n, int result) {
  snprintf(failing, sizeof failing, "%s", name);
  failing_in = n;
  failing_result = result;
}
long fake_cuda_held(void) { return fake_held; }
