/* Runs a model's library as a user's program does, where the library's machine is emulated.
     run_model LIBRARY THREADS FILE...
   The files: one for each input, then one for each output, which are written. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "compiler/runtime/model.h"

static int Fail(const char* what, const char* of) {
  fprintf(stderr, "run_model: %s '%s'\n", what, of);
  return 1;
}

int main(int argc, char** argv) {
  if (argc < 3) return Fail("too few arguments after", argv[0]);
  void* library = dlopen(argv[1], RTLD_NOW);
  if (library == NULL) return Fail(dlerror(), argv[1]);
  const mlc_model_api* api = dlsym(library, MLC_MODEL_ENTRY);
  if (api == NULL) return Fail("the library lacks", MLC_MODEL_ENTRY);
  mlc_model* model = NULL;
  mlc_status status = api->open(api, NULL, &model);
  if (status != MLC_OK) return Fail("the model does not open:", api->status_text(status));
  const mlc_session_options options = {(int32_t)atoi(argv[2])};
  mlc_session* session = NULL;
  status = api->create_session(model, &options, &session);
  if (status != MLC_OK) return Fail("no session is created:", api->status_text(status));
  const int32_t inputs = api->input_count(model), outputs = api->output_count(model);
  void* buffers[16];
  if (inputs + outputs > 16 || argc != 3 + inputs + outputs)
    return Fail("wrong number of files", "");
  for (int32_t i = 0; i < inputs + outputs; ++i) {
    const mlc_port* port = i < inputs ? api->input(model, i) : api->output(model, i - inputs);
    buffers[i] = aligned_alloc(64, ((size_t)port->bytes + 63) / 64 * 64);
    if (buffers[i] == NULL) return Fail("out of memory for", port->name);
    if (i >= inputs) continue;
    FILE* file = fopen(argv[3 + i], "rb");
    if (file == NULL || fread(buffers[i], 1, (size_t)port->bytes, file) != (size_t)port->bytes) {
      return Fail("cannot read", argv[3 + i]);
    }
    fclose(file);
  }
  status = api->run(session, (const void* const*)buffers, buffers + inputs);
  if (status != MLC_OK) return Fail("the run failed:", api->status_text(status));
  for (int32_t i = 0; i < outputs; ++i) {
    const size_t bytes = (size_t)api->output(model, i)->bytes;
    FILE* file = fopen(argv[3 + inputs + i], "wb");
    if (file == NULL || fwrite(buffers[inputs + i], 1, bytes, file) != bytes || fclose(file) != 0) {
      return Fail("cannot write", argv[3 + inputs + i]);
    }
  }
  api->destroy_session(session);
  api->close(model);
  return 0;
}
