/* Ports of a library that takes ranges: shapes at the sizes of a session, padding, cropping.
   Internal to the runtime. C11. */
#ifndef MLC_COMPILER_RUNTIME_PADDED_PORTS_H_
#define MLC_COMPILER_RUNTIME_PADDED_PORTS_H_

#include "compiler/runtime/session_state.h"

/* Allocates the ports and the lengths; nothing for a library that takes no ranges. */
mlc_status mlc_ports_create(mlc_session* session);
void mlc_ports_destroy(mlc_session* session);
/* Of a session on a CPU: allocates the copies in which ports are padded. */
mlc_status mlc_ports_create_copies(mlc_session* session);
/* Bytes that mlc_ports_create_copies allocates. */
int64_t mlc_ports_bytes(const mlc_image* image);
/* Sets the ports and the lengths to those of session->sizes. */
void mlc_ports_resize(mlc_session* session);
/* Of an input or output, at the sizes at which it is largest. */
int64_t mlc_ports_most_bytes(const mlc_image* image, int is_output, int32_t index);

/* The length that a row of 1 + dim_count numbers gives at the session's sizes. */
int64_t mlc_length_now(const mlc_session* session, const int64_t* row);

/* Copies an input at the session's sizes to the first elements of its copy `to`, the others of
   which become zero. Those that still are from the run before are not written again. Returns the
   bytes from the copy's begin up to the last one that was written. */
int64_t mlc_ports_pad(mlc_session* session, int32_t index, const void* from, void* to);
/* The copy of the input was written as a whole. */
void mlc_ports_fill(mlc_session* session, int32_t index);
/* Whether the elements of `port` are the first ones of `plan` in memory. */
int mlc_ports_are_first(const mlc_port* port, const mlc_port* plan);
/* Copies the first elements of `plan` to `port`. */
void mlc_ports_crop(const mlc_port* port, const mlc_port* plan, const void* from, void* to);

#endif
