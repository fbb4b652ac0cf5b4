/* Sessions of a library of several sizes: finding the plan of given sizes or shapes. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "compiler/runtime/padded_ports.h"
#include "compiler/runtime/session_state.h"

/* `status`, with a line about it. */
__attribute__((format(printf, 3, 4))) static mlc_status Fail(mlc_session* session,
                                                             mlc_status status, const char* format,
                                                             ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(session->error, sizeof session->error, format, arguments);
  va_end(arguments);
  return status;
}

/* Adds to the session's line, cut to fit. */
__attribute__((format(printf, 2, 3))) static void Append(mlc_session* session, const char* format,
                                                         ...) {
  const size_t length = strlen(session->error);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(session->error + length, sizeof session->error - length, format, arguments);
  va_end(arguments);
}

/* Whether a row before `row` has the same size of the dimension. */
static int IsRepeated(const mlc_sizes_api* api, int32_t row, int32_t dim) {
  const int64_t size = api->sizes[row * api->dim_count + dim];
  for (int32_t r = 0; r < row; ++r) {
    if (api->sizes[r * api->dim_count + dim] == size) return 1;
  }
  return 0;
}

static int IsRange(const mlc_sizes_api* api, int32_t dim) {
  return (api->any_size >> dim & 1) != 0;
}

static int HasSize(const mlc_sizes_api* api, int32_t dim, int64_t size) {
  if (IsRange(api, dim)) return size >= api->dims[dim].least && size <= api->dims[dim].most;
  for (int32_t r = 0; r < api->size_count; ++r) {
    if (api->sizes[r * api->dim_count + dim] == size) return 1;
  }
  return 0;
}

/* Says which size there is not, and which there are. */
static mlc_status NoPlan(mlc_session* session, const int64_t* sizes) {
  const mlc_sizes_api* api = &session->model->image->sizes->api;
  int32_t dim = 0;
  while (dim + 1 < api->dim_count && HasSize(api, dim, sizes[dim])) ++dim;
  if (IsRange(api, dim)) {
    return Fail(session, MLC_UNSUPPORTED_SIZE,
                "%.80s = %" PRId64 " is not a size of this library, which has %" PRId64
                " to %" PRId64 ": compile it with a range that has this size",
                api->dims[dim].name, sizes[dim], api->dims[dim].least, api->dims[dim].most);
  }
  Fail(session, MLC_UNSUPPORTED_SIZE,
       "%.80s = %" PRId64 " is not a size of this library, which has", api->dims[dim].name,
       sizes[dim]);
  const char* separator = " ";
  for (int32_t r = 0; r < api->size_count; ++r) {
    if (IsRepeated(api, r, dim)) continue;
    Append(session, "%s%" PRId64, separator, api->sizes[r * api->dim_count + dim]);
    separator = ", ";
  }
  return MLC_UNSUPPORTED_SIZE;
}

static void TakePlan(mlc_session* session, int32_t plan, const int64_t* sizes) {
  const mlc_image* image = session->model->image;
  session->image = mlc_plan(image, plan);
  session->plan = plan;
  memcpy(session->sizes, sizes, (size_t)image->sizes->api.dim_count * sizeof(int64_t));
  mlc_ports_resize(session);
  session->take_plan(session);
}

/* Whether the plan of the row runs the sizes, each of which the library has. */
static int Holds(const mlc_sizes_api* api, int32_t row, const int64_t* sizes) {
  for (int32_t d = 0; d < api->dim_count; ++d) {
    const int64_t size = api->sizes[row * api->dim_count + d];
    if (IsRange(api, d) ? size < sizes[d] : size != sizes[d]) return 0;
  }
  return 1;
}

mlc_status mlc_runtime_set_sizes(mlc_session* session, const int64_t* sizes) {
  if (session == NULL) return MLC_INVALID_ARGUMENT;
  session->error[0] = '\0';
  const mlc_size_table* table = session->model->image->sizes;
  if (table == NULL) return MLC_UNIMPLEMENTED;
  if (sizes == NULL) return MLC_INVALID_ARGUMENT;
  const mlc_sizes_api* api = &table->api;
  for (int32_t d = 0; d < api->dim_count; ++d) {
    if (!HasSize(api, d, sizes[d])) return NoPlan(session, sizes);
  }
  for (int32_t r = 0; r < api->size_count; ++r) {
    if (!Holds(api, r, sizes)) continue;
    TakePlan(session, r, sizes);
    return MLC_OK;
  }
  return NoPlan(session, sizes);
}

const mlc_port* mlc_runtime_session_input(const mlc_session* session, int32_t index) {
  if (session == NULL || index < 0 || index >= mlc_given_inputs(session->image)) return NULL;
  return mlc_session_input(session, index);
}

const mlc_port* mlc_runtime_session_output(const mlc_session* session, int32_t index) {
  if (session == NULL || index < 0 || index >= mlc_given_outputs(session->image)) {
    return NULL;
  }
  return mlc_session_output(session, index);
}

int32_t mlc_runtime_session_step_count(const mlc_session* session) {
  return session == NULL ? 0 : session->image->step_count;
}

const char* mlc_runtime_session_step_label(const mlc_session* session, int32_t step) {
  if (session == NULL || step < 0 || step >= session->image->step_count) return NULL;
  return session->image->steps[step].label;
}

/* The size of each dimension from the inputs' shapes, whose ranks are right. */
static mlc_status ReadSizes(mlc_session* session, const mlc_tensor* inputs, int64_t* sizes) {
  const mlc_size_table* table = session->model->image->sizes;
  int32_t first[MLC_MOST_DIMS]; /* the input that a size is from */
  for (int32_t d = 0; d < table->api.dim_count; ++d) first[d] = -1;
  for (int64_t i = 0; i < table->axis_count; ++i) {
    const mlc_axis* axis = &table->axes[i];
    const int64_t size = inputs[axis->input].dims[axis->axis];
    if (first[axis->dim] < 0) {
      first[axis->dim] = axis->input;
      sizes[axis->dim] = size;
    } else if (sizes[axis->dim] != size) {
      const mlc_port* ports = session->image->inputs;
      return Fail(session, MLC_INVALID_ARGUMENT,
                  "%.80s is %" PRId64 " on axis %d of input '%.80s', but %" PRId64
                  " in input '%.80s'",
                  table->api.dims[axis->dim].name, size, (int)axis->axis, ports[axis->input].name,
                  sizes[axis->dim], ports[first[axis->dim]].name);
    }
  }
  return MLC_OK;
}

/* Whether number and type of the axes are those of the model, which all sizes share. */
static mlc_status CheckKinds(mlc_session* session, const mlc_tensor* inputs) {
  for (int32_t i = 0; i < mlc_given_inputs(session->image); ++i) {
    const mlc_port* port = mlc_session_input(session, i);
    if (inputs[i].data == NULL || (inputs[i].dims == NULL && port->rank > 0)) {
      return Fail(session, MLC_INVALID_ARGUMENT, "input '%.80s' has a null pointer", port->name);
    }
    if (inputs[i].rank != port->rank || inputs[i].dtype != port->dtype) {
      return Fail(session, MLC_INVALID_ARGUMENT,
                  "input '%.80s' has rank %d and type %d, the model takes rank %d and type %d",
                  port->name, (int)inputs[i].rank, (int)inputs[i].dtype, (int)port->rank,
                  (int)port->dtype);
    }
  }
  return MLC_OK;
}

/* At the session's sizes. */
static mlc_status CheckShapes(mlc_session* session, const mlc_tensor* inputs) {
  for (int32_t i = 0; i < mlc_given_inputs(session->image); ++i) {
    const mlc_port* port = mlc_session_input(session, i);
    for (int32_t a = 0; a < port->rank; ++a) {
      if (inputs[i].dims[a] == port->dims[a]) continue;
      return Fail(session, MLC_INVALID_ARGUMENT,
                  "axis %d of input '%.80s' is %" PRId64 ", the model takes %" PRId64, (int)a,
                  port->name, inputs[i].dims[a], port->dims[a]);
    }
    if (inputs[i].bytes < port->bytes) {
      return Fail(session, MLC_INVALID_ARGUMENT,
                  "the buffer of input '%.80s' has %" PRId64 " bytes, its shape needs %" PRId64,
                  port->name, inputs[i].bytes, port->bytes);
    }
  }
  return MLC_OK;
}

/* Says the shapes of all outputs before it looks at their buffers. */
static mlc_status TakeOutputs(mlc_session* session, mlc_tensor* outputs) {
  const mlc_image* image = session->image;
  for (int32_t i = 0; i < mlc_given_outputs(image); ++i) {
    const mlc_port* port = mlc_session_output(session, i);
    outputs[i].dims = port->dims;
    outputs[i].rank = port->rank;
    outputs[i].dtype = port->dtype;
  }
  for (int32_t i = 0; i < mlc_given_outputs(image); ++i) {
    const mlc_port* port = mlc_session_output(session, i);
    if (outputs[i].data != NULL && outputs[i].bytes >= port->bytes) continue;
    return Fail(session, MLC_INVALID_ARGUMENT,
                "the buffer of output '%.80s' has %" PRId64 " bytes, its shape needs %" PRId64,
                port->name, outputs[i].data == NULL ? 0 : outputs[i].bytes, port->bytes);
  }
  return MLC_OK;
}

/* The sizes of the inputs become the session's, if all inputs fit them. */
static mlc_status TakeInputs(mlc_session* session, const mlc_tensor* inputs) {
  int64_t sizes[MLC_MOST_DIMS];
  mlc_status status = CheckKinds(session, inputs);
  if (status == MLC_OK) status = ReadSizes(session, inputs, sizes);
  if (status != MLC_OK) return status;
  int64_t before[MLC_MOST_DIMS];
  memcpy(before, session->sizes, sizeof before);
  status = mlc_runtime_set_sizes(session, sizes);
  if (status != MLC_OK) return status;
  status = CheckShapes(session, inputs);
  if (status == MLC_OK) return MLC_OK;
  /* Sizes that the session has had are the library's; the line about the shapes stays. */
  for (int32_t r = 0; r < session->model->image->sizes->api.size_count; ++r) {
    if (!Holds(&session->model->image->sizes->api, r, before)) continue;
    TakePlan(session, r, before);
    break;
  }
  return status;
}

mlc_status mlc_runtime_run_tensors(mlc_session* session, const mlc_tensor* inputs,
                                   mlc_tensor* outputs) {
  if (session == NULL) return MLC_INVALID_ARGUMENT;
  session->error[0] = '\0';
  if (session->model->image->sizes == NULL) return MLC_UNIMPLEMENTED;
  if (inputs == NULL || (outputs == NULL && mlc_given_outputs(session->image) > 0)) {
    return MLC_INVALID_ARGUMENT;
  }
  mlc_status status = TakeInputs(session, inputs);
  if (status == MLC_OK) status = TakeOutputs(session, outputs);
  if (status != MLC_OK) return status;
  const int32_t input_count = mlc_given_inputs(session->image);
  for (int32_t i = 0; i < input_count; ++i) session->given_inputs[i] = inputs[i].data;
  const int32_t output_count = mlc_given_outputs(session->image);
  for (int32_t i = 0; i < output_count; ++i) session->given_outputs[i] = outputs[i].data;
  status = session->run(session, session->given_inputs, session->given_outputs);
  for (int32_t i = 0; i < output_count; ++i) outputs[i].dims = mlc_runtime_result(session, i)->dims;
  return status;
}
