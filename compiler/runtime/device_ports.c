/* Ports of a session on a GPU: host buffers pass through pinned memory, and what the sizes of a run
   leave of the larger ports of its plan is filled with zeros there or in the GPU's memory. */
#include <stdio.h>
#include <string.h>

#include "compiler/runtime/cuda_rows.h"
#include "compiler/runtime/device_state.h"
#include "compiler/runtime/padded_ports.h"

enum { kBufferAlignment = 16 };

mlc_status mlc_device_misuse(mlc_device_session* session, const char* text) {
  snprintf(session->base.error, sizeof session->base.error, "%s", text);
  return MLC_INVALID_ARGUMENT;
}

static int32_t InputCount(const mlc_device_session* session) {
  return session->base.image->input_count;
}

/* Of a port that the caller sees; null for the hidden input. */
static const void* PortBuffer(const mlc_device_session* session, int32_t port,
                              const void* const* inputs, void* const* outputs) {
  const int32_t count = InputCount(session);
  if (port >= count) return outputs[port - count];
  return port < mlc_given_inputs(session->base.image) ? inputs[port] : NULL;
}

/* Whether the caller leaves the port to the session: the hidden input, or one of an in-place pair
   of which both are null. */
static int IsOwn(const mlc_device_session* session, int32_t port, const void* const* inputs,
                 void* const* outputs) {
  const int32_t count = InputCount(session);
  if (port < count && port >= mlc_given_inputs(session->base.image)) return 1;
  for (int32_t i = count; i < mlc_device_port_count(session->model); ++i) {
    const int32_t input = session->own_ports[i];
    if (input == i || (port != i && port != input)) continue;
    return PortBuffer(session, i, inputs, outputs) == NULL && inputs[input] == NULL;
  }
  return 0;
}

mlc_status mlc_device_check_buffers(mlc_device_session* session, const void* const* inputs,
                                    void* const* outputs) {
  const mlc_image* image = session->base.image;
  session->base.error[0] = '\0';
  if ((inputs == NULL && mlc_given_inputs(image) > 0) ||
      (outputs == NULL && image->output_count > 0)) {
    return mlc_device_misuse(session, "the table of inputs or of outputs is a null pointer");
  }
  for (int32_t i = 0; i < mlc_device_port_count(session->model); ++i) {
    if (PortBuffer(session, i, inputs, outputs) == NULL && !IsOwn(session, i, inputs, outputs)) {
      return mlc_device_misuse(session, "an input or output is a null pointer");
    }
  }
  return MLC_OK;
}

static const mlc_port* PlanPort(const mlc_device_session* session, int32_t port) {
  const mlc_image* image = session->base.image;
  const int32_t count = InputCount(session);
  return port < count ? &image->inputs[port] : &image->outputs[port - count];
}

/* At the session's sizes. */
static const mlc_port* SizedPort(const mlc_device_session* session, int32_t port) {
  const int32_t count = InputCount(session);
  if (port >= count) return mlc_session_output(&session->base, port - count);
  if (port >= mlc_given_inputs(session->base.image)) return PlanPort(session, port);
  return mlc_session_input(&session->base, port);
}

static int IsWhole(const mlc_device_session* session, int32_t port) {
  return SizedPort(session, port)->bytes == PlanPort(session, port)->bytes;
}

mlc_status mlc_device_ask(mlc_device_session* session, const void* const* inputs,
                          void* const* outputs) {
  for (int32_t i = 0; i < mlc_device_port_count(session->model); ++i) {
    const uintptr_t address = (uintptr_t)PortBuffer(session, i, inputs, outputs);
    if ((address & (kBufferAlignment - 1)) != 0) {
      return mlc_device_misuse(session, "an input or output is not aligned to 16 bytes");
    }
    const int takes_place = address == 0 || !IsWhole(session, i);
    session->asked.ports[i] = takes_place ? session->own_places[i] : (mlc_cu_ptr)address;
  }
  session->asked.plan = session->base.plan;
  return MLC_OK;
}

/* The place of port i in the pinned memory: as in the session's own memory. */
static char* Pinned(mlc_device_session* session, int32_t port) {
  return session->pinned + (session->own_places[port] - session->own_places[0]);
}

/* The lengths of a run are arguments of calls: no memory of the host has to stay for them. */
static int SendLengths(mlc_device_session* session, mlc_cu_stream stream) {
  const mlc_image* image = session->base.image;
  const int32_t given = mlc_given_inputs(image);
  int result = MLC_CUDA_SUCCESS;
  if (given == image->input_count) return result;
  for (int64_t i = 0; i < image->sizes->length_count && result == MLC_CUDA_SUCCESS; ++i) {
    const mlc_cu_ptr at = session->own_places[given] + (mlc_cu_ptr)i * sizeof(int32_t);
    result =
        session->model->cuda.memset_d32_async(at, (unsigned)session->base.lengths[i], 1, stream);
  }
  return result;
}

/* What kernels or the caller's graphs have written since is not known to be zero. */
static void ForgetZeros(mlc_device_session* session, int32_t input) {
  int written = session->in_graph;
  for (int32_t i = InputCount(session); i < mlc_device_port_count(session->model); ++i) {
    written |= session->own_ports[i] == input;
  }
  if (written) mlc_ports_fill(&session->base, input);
}

/* The bytes of the input in its pinned place that are to be sent. */
static int64_t FillPinned(mlc_device_session* session, int32_t input, const void* buffer) {
  char* pinned = Pinned(session, input);
  if (!IsWhole(session, input)) {
    ForgetZeros(session, input);
    return mlc_ports_pad(&session->base, input, buffer, pinned);
  }
  const int64_t bytes = PlanPort(session, input)->bytes;
  mlc_ports_fill(&session->base, input);
  memcpy(pinned, buffer, (size_t)bytes);
  return bytes;
}

int mlc_device_send_inputs(mlc_device_session* session, const void* const* inputs) {
  int result = SendLengths(session, session->stream);
  const int32_t given = mlc_given_inputs(session->base.image);
  for (int32_t i = 0; i < given && result == MLC_CUDA_SUCCESS; ++i) {
    if (inputs[i] == NULL || PlanPort(session, i)->bytes == 0) continue;
    const int64_t bytes = FillPinned(session, i, inputs[i]);
    if (bytes == 0) continue;
    result = session->model->cuda.memcpy_htod_async(session->own_places[i], Pinned(session, i),
                                                    (size_t)bytes, session->stream);
  }
  return result;
}

/* How much of a place has all elements of the port. */
static size_t UsedBytes(const mlc_device_session* session, int32_t port) {
  const mlc_port *sized = SizedPort(session, port), *plan = PlanPort(session, port);
  return (size_t)(mlc_ports_are_first(sized, plan) ? sized->bytes : plan->bytes);
}

int mlc_device_fetch_outputs(mlc_device_session* session, void* const* outputs) {
  const mlc_cuda* cuda = &session->model->cuda;
  const int32_t first = InputCount(session), count = session->base.image->output_count;
  int result = MLC_CUDA_SUCCESS;
  for (int32_t i = 0; i < count && result == MLC_CUDA_SUCCESS; ++i) {
    const size_t bytes = UsedBytes(session, first + i);
    if (bytes == 0 || outputs[i] == NULL) continue;
    result = cuda->memcpy_dtoh_async(Pinned(session, first + i), session->own_places[first + i],
                                     bytes, session->stream);
  }
  if (result == MLC_CUDA_SUCCESS) result = cuda->stream_synchronize(session->stream);
  for (int32_t i = 0; i < count && result == MLC_CUDA_SUCCESS; ++i) {
    if (outputs[i] == NULL) continue;
    mlc_ports_crop(SizedPort(session, first + i), PlanPort(session, first + i),
                   Pinned(session, first + i), outputs[i]);
  }
  return result;
}

/* A port at the session's sizes within that of its plan: rows whose elements lie together in both,
   and blocks of rows that lie a pitch apart. */
typedef struct Rows {
  int64_t bytes;
  int64_t pitch;
  int64_t count; /* of a block */
  int32_t axes;  /* in front of a block */
  int64_t step;  /* of the last of them */
} Rows;

/* REQUIRES: the sized port has elements. */
static Rows RowsOf(const mlc_port* sized, const mlc_port* plan) {
  int64_t elements = 1;
  for (int32_t a = 0; a < plan->rank; ++a) elements *= plan->dims[a];
  Rows rows = {plan->bytes / elements, 0, 1, plan->rank, 0};
  int32_t* axes = &rows.axes;
  while (*axes > 1 && sized->dims[*axes - 1] == plan->dims[*axes - 1]) {
    rows.bytes *= plan->dims[--*axes];
  }
  rows.pitch = rows.bytes;
  if (*axes > 0) {
    rows.pitch *= plan->dims[--*axes];
    rows.bytes *= sized->dims[*axes];
  }
  rows.step = rows.pitch;
  while (*axes > 0) {
    rows.count *= sized->dims[--*axes];
    rows.step *= plan->dims[*axes];
    if (sized->dims[*axes] != plan->dims[*axes]) break;
  }
  return rows;
}

/* Copies between dense memory and the place of a port. */
static int CopyRows(mlc_device_session* session, int32_t port, mlc_cu_ptr dense, int to_place,
                    mlc_cu_stream stream) {
  const mlc_port *sized = SizedPort(session, port), *plan = PlanPort(session, port);
  if (sized->bytes == 0) return MLC_CUDA_SUCCESS;
  const Rows rows = RowsOf(sized, plan);
  int result = MLC_CUDA_SUCCESS;
  for (int64_t done = 0; done < sized->bytes && result == MLC_CUDA_SUCCESS;
       done += rows.bytes * rows.count) {
    int64_t block = done / (rows.bytes * rows.count), at = 0, step = rows.step;
    for (int32_t a = rows.axes; a-- > 0;) {
      at += block % sized->dims[a] * step;
      block /= sized->dims[a];
      step *= plan->dims[a];
    }
    const mlc_cuda_rows place = {session->own_places[port] + (mlc_cu_ptr)at, rows.pitch};
    const mlc_cuda_rows buffer = {dense + (mlc_cu_ptr)done, rows.bytes};
    result = mlc_cuda_copy_rows(&session->model->cuda, to_place ? place : buffer,
                                to_place ? buffer : place, rows.bytes, rows.count, stream);
  }
  return result;
}

int mlc_device_pad_inputs(mlc_device_session* session, mlc_cu_stream stream,
                          const void* const* inputs) {
  int result = SendLengths(session, stream);
  const int32_t given = mlc_given_inputs(session->base.image);
  for (int32_t i = 0; i < given && result == MLC_CUDA_SUCCESS; ++i) {
    if (inputs[i] == NULL || IsWhole(session, i)) continue;
    const size_t all = (size_t)PlanPort(session, i)->bytes, used = UsedBytes(session, i);
    const size_t from = used < all ? used : 0; /* else zeros lie between the rows */
    mlc_ports_fill(&session->base, i);
    result =
        session->model->cuda.memset_d8_async(session->own_places[i] + from, 0, all - from, stream);
    if (result == MLC_CUDA_SUCCESS) {
      result = CopyRows(session, i, (mlc_cu_ptr)(uintptr_t)inputs[i], 1, stream);
    }
  }
  return result;
}

int mlc_device_crop_outputs(mlc_device_session* session, mlc_cu_stream stream,
                            void* const* outputs) {
  const int32_t first = InputCount(session), count = session->base.image->output_count;
  int result = MLC_CUDA_SUCCESS;
  for (int32_t i = 0; i < count && result == MLC_CUDA_SUCCESS; ++i) {
    if (outputs[i] == NULL || IsWhole(session, first + i)) continue;
    result = CopyRows(session, first + i, (mlc_cu_ptr)(uintptr_t)outputs[i], 0, stream);
  }
  return result;
}

/* Copies between the host and the session's own buffer of an in-place output, after all runs. */
static mlc_status CopyCache(mlc_session* session, int32_t output, void* to, const void* from) {
  if (session == NULL) return MLC_INVALID_ARGUMENT;
  mlc_device_session* held = mlc_device_held(session);
  const mlc_image* image = held->base.image;
  const int32_t port = image->input_count + output;
  if (output < 0 || output >= image->output_count || held->own_ports[port] == port) {
    return mlc_device_misuse(held, "the output is not made in place of an input");
  }
  const mlc_cuda* cuda = &held->model->cuda;
  const size_t bytes = (size_t)image->outputs[output].bytes;
  const mlc_cu_ptr cache = held->own_places[port];
  int result = mlc_device_enter(held->model);
  if (result != MLC_CUDA_SUCCESS) return mlc_device_check(held, result, "use the GPU");
  result = mlc_device_follow(held, held->stream);
  if (result == MLC_CUDA_SUCCESS && bytes > 0) {
    if (from != NULL) memcpy(Pinned(held, port), from, bytes);
    if (to != NULL) {
      result = cuda->memcpy_dtoh_async(Pinned(held, port), cache, bytes, held->stream);
    } else if (from != NULL) {
      result = cuda->memcpy_htod_async(cache, Pinned(held, port), bytes, held->stream);
    } else {
      result = cuda->memset_d8_async(cache, 0, bytes, held->stream);
    }
  }
  if (result == MLC_CUDA_SUCCESS) result = cuda->stream_synchronize(held->stream);
  if (result == MLC_CUDA_SUCCESS && to != NULL) memcpy(to, Pinned(held, port), bytes);
  mlc_device_leave(held->model);
  return mlc_device_check(held, result, "copy a cache");
}

mlc_status mlc_device_read_cache(mlc_session* session, int32_t output, void* buffer) {
  return buffer == NULL ? MLC_INVALID_ARGUMENT : CopyCache(session, output, buffer, NULL);
}

mlc_status mlc_device_write_cache(mlc_session* session, int32_t output, const void* buffer) {
  return CopyCache(session, output, NULL, buffer);
}
