/* Runs both models once; prints what it saw. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "encoder.h"
#include "net.h"

static int Run(const char* name, const mlc_model_api* api, const char* weights) {
  mlc_model* model = NULL;
  mlc_session* session = NULL;
  mlc_status status = api->open(api, weights, &model);
  if (status == MLC_OK) status = api->create_session(model, NULL, &session);
  if (status != MLC_OK) {
    fprintf(stderr, "%s: %s\n", name, api->status_text(status));
    return 1;
  }
  void* inputs[8] = {0};
  void* outputs[8] = {0};
  for (int32_t i = 0; i < api->input_count(model); ++i) {
    inputs[i] = calloc(1, (size_t)api->input(model, i)->bytes);
  }
  for (int32_t i = 0; i < api->output_count(model); ++i) {
    outputs[i] = calloc(1, (size_t)api->output(model, i)->bytes);
  }
  status = api->run(session, (const void* const*)inputs, outputs);
  const float first = *(const float*)outputs[0];
  printf("%s: %s, %d inputs, finite %d\n", name, api->status_text(status), api->input_count(model),
         isfinite(first) && first != 0);
  for (int i = 0; i < 8; ++i) {
    free(inputs[i]);
    free(outputs[i]);
  }
  api->destroy_session(session);
  api->close(model);
  return status != MLC_OK;
}

int main(void) {
  return Run("net", &net_model, NULL) + Run("encoder", &encoder_model, ENCODER_WEIGHTS);
}
