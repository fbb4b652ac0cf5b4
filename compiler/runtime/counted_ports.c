/* Outputs whose lengths depend on data. */
#include "compiler/runtime/counted_ports.h"

#include <stdlib.h>
#include <string.h>

enum { kAlignment = 64 };

mlc_status mlc_counted_create(mlc_session* session) {
  const mlc_image* image = session->model->image;
  if (image->counted == NULL) return MLC_OK;
  const int32_t outputs = mlc_given_outputs(image);
  size_t axes = 0;
  for (int32_t i = 0; i < outputs; ++i) axes += (size_t)image->outputs[i].rank;
  const size_t bytes = (size_t)image->count_count * sizeof(int64_t);
  session->counts = aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  session->results = calloc((size_t)outputs + 1, sizeof(mlc_port));
  session->result_dims = calloc(axes + 1, sizeof(int64_t));
  if (session->counts == NULL || session->results == NULL || session->result_dims == NULL) {
    return MLC_OUT_OF_MEMORY;
  }
  mlc_counted_reset(session);
  return MLC_OK;
}

void mlc_counted_destroy(mlc_session* session) {
  free(session->counts);
  free(session->results);
  free(session->result_dims);
}

static int64_t Elements(const mlc_port* port) {
  int64_t elements = 1;
  for (int32_t a = 0; a < port->rank; ++a) elements *= port->dims[a];
  return elements;
}

void mlc_counted_reset(mlc_session* session) {
  if (session->counts == NULL) return;
  int64_t* dims = session->result_dims;
  for (int32_t i = 0; i < mlc_given_outputs(session->image); ++i) {
    const mlc_port* port = &session->image->outputs[i];
    session->results[i] = *port;
    session->results[i].dims = dims;
    for (int32_t a = 0; a < port->rank; ++a) *dims++ = port->dims[a];
  }
}

/* The length that a row gives; 0 at least, the greatest at most. */
static int64_t LengthOf(const mlc_session* session, const int64_t* row) {
  int64_t length = row[1];
  for (int64_t c = 0; c < session->image->count_count; ++c) {
    length += row[2 + c] * session->counts[c];
  }
  if (length > row[0]) length = row[0];
  return length < 0 ? 0 : length;
}

/* Moves the first elements of a tensor of `rank` axes together, in order: `to` never passes `from`.
   Returns the end of what it moved. */
static char* Move(const int64_t* of, const int64_t* in, int32_t rank, int64_t bytes,
                  const char* from, char* to) {
  if (rank == 0) {
    memmove(to, from, (size_t)bytes);
    return to + bytes;
  }
  int64_t inner_of = bytes, inner_in = bytes;
  for (int32_t a = 1; a < rank; ++a) {
    inner_of *= of[a];
    inner_in *= in[a];
  }
  if (inner_of == inner_in) {
    memmove(to, from, (size_t)(of[0] * inner_of));
    return to + of[0] * inner_of;
  }
  for (int64_t i = 0; i < of[0]; ++i) {
    to = Move(of + 1, in + 1, rank - 1, bytes, from + i * inner_in, to);
  }
  return to;
}

void mlc_counted_finish(mlc_session* session) {
  if (session->counts == NULL) return;
  const mlc_image* image = session->image;
  const int64_t* row = image->counted;
  int64_t* dims = session->result_dims;
  for (int32_t i = 0; i < mlc_given_outputs(image); ++i) {
    const mlc_port* most = &image->outputs[i];
    mlc_port* port = &session->results[i];
    const int64_t all = Elements(most);
    const int64_t element = all > 0 ? most->bytes / all : 0;
    *port = *most;
    port->dims = dims;
    for (int32_t a = 0; a < most->rank; ++a, row += 2 + image->count_count) {
      *dims++ = LengthOf(session, row);
    }
    port->bytes = Elements(port) * element;
    if (port->bytes == most->bytes) continue;
    char* buffer = session->outputs[i];
    Move(port->dims, most->dims, most->rank, element, buffer, buffer);
  }
}

const mlc_port* mlc_runtime_result(const mlc_session* session, int32_t index) {
  if (session == NULL || index < 0 || index >= mlc_given_outputs(session->image)) return NULL;
  return session->results == NULL ? mlc_session_output(session, index) : &session->results[index];
}
