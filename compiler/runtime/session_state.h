/* What a session on a CPU holds, and the plans of its library. A session on a GPU begins with the
   same struct, of which it uses what sizes.c and padded_ports.c do. Internal to the runtime. C11.
 */
#ifndef MLC_COMPILER_RUNTIME_SESSION_STATE_H_
#define MLC_COMPILER_RUNTIME_SESSION_STATE_H_

#include <stddef.h>

#include "compiler/runtime/model_state.h"
#include "compiler/runtime/size_table.h"
#include "compiler/runtime/thread_pool.h"

struct mlc_session {
  const mlc_model* model;
  const mlc_image* image; /* at the session's sizes */
  int32_t plan;           /* whose image it is */
  /* Of the kind of device: follows a change of `plan`, and runs on host buffers. */
  void (*take_plan)(mlc_session* session);
  mlc_status (*run)(mlc_session* session, const void* const* inputs, void* const* outputs);
  mlc_pool* pool;
  int32_t threads;
  char* memory; /* arena, then shared scratch, then thread scratch */
  size_t memory_bytes;
  void** buffers;      /* of all steps of all plans; those of ports are set by each run */
  void** step_buffers; /* those of `image` */
  /* One pointer a port: the aligned copy of a caller's buffer, or null while none was needed. */
  void** input_copies;
  void** output_copies;
  const void** inputs; /* the pointers the kernels see */
  void** outputs;
  void** caches; /* by output: the session's own buffer of an in-place pair, null until needed */
  int32_t* cache_inputs;     /* by output: the input of the pair, or -1 */
  const void** given_inputs; /* the caller's pointers, for run_tensors */
  void** given_outputs;
  int64_t sizes[MLC_MOST_DIMS]; /* of a library of several sizes */
  /* Of a library that takes ranges, else null: inputs, then outputs, at the session's sizes. A port
     that is smaller than the plan's is padded or cropped. */
  mlc_port* ports;
  int64_t* port_dims;
  int64_t* filled;  /* by input: the bytes of its copy behind which all are zero */
  int32_t* lengths; /* what the hidden input holds */
  /* The same library's phases at the session's sizes, of all steps of `image`. */
  mlc_phase* phases;
  mlc_bound* bounds;
  /* Of a model with lengths that depend on data, else null: what the hidden output holds, and the
     other outputs as the last run has left them. */
  int64_t* counts;
  mlc_port* results;
  int64_t* result_dims;
  char error[512]; /* about the last call; empty: nothing to add to its status */
};

/* The plans of the library that an image is of: it alone, or one for each row of sizes. */
static inline int32_t mlc_plan_count(const mlc_image* image) {
  return image->sizes == NULL ? 1 : image->sizes->api.size_count;
}
/* The inputs of the image that a caller gives. */
static inline int32_t mlc_given_inputs(const mlc_image* image) {
  return image->input_count - (image->sizes != NULL && image->sizes->length_count > 0);
}
/* The outputs of the image that a caller takes. */
static inline int32_t mlc_given_outputs(const mlc_image* image) {
  return image->output_count - (image->counted != NULL);
}
static inline const mlc_port* mlc_session_input(const mlc_session* session, int32_t index) {
  return session->ports == NULL ? &session->image->inputs[index] : &session->ports[index];
}
static inline const mlc_port* mlc_session_output(const mlc_session* session, int32_t index) {
  if (session->ports == NULL) return &session->image->outputs[index];
  return &session->ports[mlc_given_inputs(session->image) + index];
}
static inline const mlc_image* mlc_plan(const mlc_image* image, int32_t plan) {
  return image->sizes == NULL ? image : image->sizes->plans[plan];
}

#endif
