/* Ports of a library that takes ranges. */
#include "compiler/runtime/padded_ports.h"

#include <stdlib.h>
#include <string.h>

enum { kAlignment = 64 };

static int64_t Aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

static int TakesRanges(const mlc_image* image) {
  return image->sizes != NULL && image->sizes->forms != NULL;
}

int64_t mlc_ports_most_bytes(const mlc_image* image, int is_output, int32_t index) {
  int64_t most = 1;
  for (int32_t p = 0; p < mlc_plan_count(image); ++p) {
    const mlc_image* plan = mlc_plan(image, p);
    const int64_t bytes = (is_output ? plan->outputs : plan->inputs)[index].bytes;
    if (bytes > most) most = bytes;
  }
  return most;
}

int64_t mlc_ports_bytes(const mlc_image* image) {
  if (!TakesRanges(image)) return 0;
  int64_t bytes = 0;
  for (int32_t i = 0; i < mlc_given_inputs(image); ++i) {
    bytes += Aligned(mlc_ports_most_bytes(image, 0, i));
  }
  for (int32_t i = 0; i < image->output_count; ++i) {
    bytes += Aligned(mlc_ports_most_bytes(image, 1, i));
  }
  return bytes;
}

static mlc_status AllocateCopies(mlc_session* session, int is_output, int32_t count) {
  void** copies = is_output ? session->output_copies : session->input_copies;
  for (int32_t i = 0; i < count; ++i) {
    const int64_t bytes = mlc_ports_most_bytes(session->model->image, is_output, i);
    copies[i] = aligned_alloc(kAlignment, (size_t)Aligned(bytes));
    if (copies[i] == NULL) return MLC_OUT_OF_MEMORY;
  }
  return MLC_OK;
}

mlc_status mlc_ports_create(mlc_session* session) {
  const mlc_image* image = session->model->image;
  if (!TakesRanges(image)) return MLC_OK;
  const int32_t inputs = mlc_given_inputs(image);
  size_t axes = 0;
  for (int32_t i = 0; i < inputs; ++i) axes += (size_t)image->inputs[i].rank;
  for (int32_t i = 0; i < image->output_count; ++i) axes += (size_t)image->outputs[i].rank;
  const int64_t length_bytes = (image->sizes->length_count + 1) * (int64_t)sizeof(int32_t);
  session->ports = calloc((size_t)(inputs + image->output_count) + 1, sizeof(mlc_port));
  session->port_dims = calloc(axes + 1, sizeof(int64_t));
  session->filled = calloc((size_t)inputs + 1, sizeof(int64_t));
  session->lengths = aligned_alloc(kAlignment, (size_t)Aligned(length_bytes));
  if (session->ports == NULL || session->port_dims == NULL || session->filled == NULL ||
      session->lengths == NULL) {
    return MLC_OUT_OF_MEMORY;
  }
  for (int32_t i = 0; i < inputs; ++i) session->filled[i] = mlc_ports_most_bytes(image, 0, i);
  mlc_ports_resize(session);
  return MLC_OK;
}

mlc_status mlc_ports_create_copies(mlc_session* session) {
  const mlc_image* image = session->model->image;
  if (!TakesRanges(image)) return MLC_OK;
  const mlc_status status = AllocateCopies(session, 0, mlc_given_inputs(image));
  return status == MLC_OK ? AllocateCopies(session, 1, image->output_count) : status;
}

void mlc_ports_destroy(mlc_session* session) {
  free(session->ports);
  free(session->port_dims);
  free(session->filled);
  free(session->lengths);
}

int64_t mlc_length_now(const mlc_session* session, const int64_t* row) {
  const int32_t dims = session->model->image->sizes->api.dim_count;
  int64_t length = row[0];
  for (int32_t d = 0; d < dims; ++d) length += row[1 + d] * session->sizes[d];
  return length;
}

/* The length that a row of forms gives; moves to the next row. */
static int64_t Length(const mlc_session* session, const int64_t** row) {
  const int64_t length = mlc_length_now(session, *row);
  *row += 1 + session->model->image->sizes->api.dim_count;
  return length;
}

static int64_t Elements(const mlc_port* port) {
  int64_t elements = 1;
  for (int32_t a = 0; a < port->rank; ++a) elements *= port->dims[a];
  return elements;
}

static int64_t ElementBytes(const mlc_port* port) {
  const int64_t elements = Elements(port);
  return elements > 0 ? port->bytes / elements : 0;
}

void mlc_ports_resize(mlc_session* session) {
  if (session->ports == NULL) return;
  const mlc_image* image = session->image;
  const int64_t* row = image->sizes->forms;
  int64_t* dims = session->port_dims;
  const int32_t inputs = mlc_given_inputs(image);
  for (int32_t i = 0; i < inputs + image->output_count; ++i) {
    mlc_port* port = &session->ports[i];
    const mlc_port* plan = i < inputs ? &image->inputs[i] : &image->outputs[i - inputs];
    *port = *plan;
    port->dims = dims;
    for (int32_t a = 0; a < plan->rank; ++a) *dims++ = Length(session, &row);
    port->bytes = Elements(port) * ElementBytes(plan);
  }
  for (int64_t i = 0; i < image->sizes->length_count; ++i) {
    session->lengths[i] = (int32_t)Length(session, &row);
  }
}

/* The bytes of an element of each axis: those of the axes behind it. */
static int64_t InnerBytes(const int64_t* dims, int32_t rank, int64_t bytes) {
  for (int32_t a = 1; a < rank; ++a) bytes *= dims[a];
  return bytes;
}

static void Pad(const int64_t* of, const int64_t* in, int32_t rank, int64_t bytes, const char* from,
                char* to) {
  if (rank == 0) {
    memcpy(to, from, (size_t)bytes);
    return;
  }
  const int64_t inner_of = InnerBytes(of, rank, bytes), inner_in = InnerBytes(in, rank, bytes);
  if (inner_of == inner_in) {
    memcpy(to, from, (size_t)(of[0] * inner_of));
  } else {
    for (int64_t i = 0; i < of[0]; ++i) {
      Pad(of + 1, in + 1, rank - 1, bytes, from + i * inner_of, to + i * inner_in);
    }
  }
  memset(to + of[0] * inner_in, 0, (size_t)((in[0] - of[0]) * inner_in));
}

static void Crop(const int64_t* of, const int64_t* in, int32_t rank, int64_t bytes,
                 const char* from, char* to) {
  if (rank == 0) {
    memcpy(to, from, (size_t)bytes);
    return;
  }
  const int64_t inner_of = InnerBytes(of, rank, bytes), inner_in = InnerBytes(in, rank, bytes);
  if (inner_of == inner_in) {
    memcpy(to, from, (size_t)(of[0] * inner_of));
    return;
  }
  for (int64_t i = 0; i < of[0]; ++i) {
    Crop(of + 1, in + 1, rank - 1, bytes, from + i * inner_in, to + i * inner_of);
  }
}

int mlc_ports_are_first(const mlc_port* port, const mlc_port* plan) {
  int32_t a = 0;
  while (a < port->rank && plan->dims[a] == 1) ++a;
  for (++a; a < port->rank; ++a) {
    if (port->dims[a] != plan->dims[a]) return 0;
  }
  return 1;
}

void mlc_ports_fill(mlc_session* session, int32_t index) {
  const int64_t bytes = session->image->inputs[index].bytes;
  if (session->filled != NULL && session->filled[index] < bytes) session->filled[index] = bytes;
}

int64_t mlc_ports_pad(mlc_session* session, int32_t index, const void* from, void* to) {
  const mlc_port* plan = &session->image->inputs[index];
  const mlc_port* port = mlc_session_input(session, index);
  if (!mlc_ports_are_first(port, plan)) {
    mlc_ports_fill(session, index);
    Pad(port->dims, plan->dims, port->rank, ElementBytes(plan), from, to);
    return plan->bytes;
  }
  int64_t* filled = &session->filled[index];
  const int64_t end = *filled < plan->bytes ? *filled : plan->bytes;
  memcpy(to, from, (size_t)port->bytes);
  if (end > port->bytes) memset((char*)to + port->bytes, 0, (size_t)(end - port->bytes));
  if (*filled <= plan->bytes) *filled = port->bytes;
  return end > port->bytes ? end : port->bytes;
}

void mlc_ports_crop(const mlc_port* port, const mlc_port* plan, const void* from, void* to) {
  Crop(port->dims, plan->dims, port->rank, ElementBytes(plan), from, to);
}
