/* The part of the C interface that libraries of several sizes have beside mlc_model.h, where it is
   the member `sizes` of the table. Such a library holds one plan for each combination of sizes of
   the model's symbolic dimensions; weights and code are shared by all of them.

   A library may take every size from `least` to `most` of a dimension (any_size). Its rows of
   `sizes` are then classes: a run has the plan of the first row whose sizes are not smaller. Inputs
   are filled up with zeros in memory of the session, outputs are cut, and the lengths that results
   depend on are the true ones.

   A session has sizes: those of the first row of `sizes` when it is created, later those of the
   last set_sizes or run_tensors. run, run_timed and run_profiled work on buffers of these sizes.
   To change sizes allocates nothing: the memory of a session is that of the largest plan. On a GPU
   the first run of a plan makes its graph; run_tensors takes host buffers, and run_device buffers
   of the session's sizes.

   Thread safety, ownership: as mlc_model.h says. Errors: statuses; MLC_UNSUPPORTED_SIZE for sizes
   that the library does not have. session_error then says which sizes there are, and the session
   keeps the sizes that it had. */
#ifndef MLC_SIZES_H_
#define MLC_SIZES_H_

#include "compiler/runtime/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A symbolic dimension with more than one size. */
typedef struct mlc_dim {
  const char* name; /* as in the model, or as INPUT:AXIS */
  int64_t least;
  int64_t most;
} mlc_dim;

/* A buffer with its shape: dense, row-major. */
typedef struct mlc_tensor {
  void* data;          /* of an input it is only read */
  const int64_t* dims; /* of an output: set by the call, valid until the session's next call */
  int64_t bytes;       /* of the buffer: at least those of the shape */
  int32_t rank;        /* of an output: set by the call */
  int32_t dtype;       /* mlc_dtype; of an output: set by the call */
} mlc_tensor;

struct mlc_sizes_api {
  uint32_t struct_bytes; /* sizeof(mlc_sizes_api) of the library: members are added at the end */
  int32_t dim_count;
  int32_t size_count; /* combinations of sizes */
  /* Bit d: dimension d has every size from its least to its most one. */
  uint32_t any_size;
  const mlc_dim* dims;  /* dim_count */
  const int64_t* sizes; /* size_count rows of dim_count sizes each, in ascending order */

  /* sizes: one a dimension, in the order of `dims`. */
  mlc_status (*set_sizes)(mlc_session* session, const int64_t* sizes);
  /* Ports and kernels at the session's sizes, as those of the model in mlc_model.h. Null for an
     index out of range; valid until the session's sizes change. */
  const mlc_port* (*input)(const mlc_session* session, int32_t index);
  const mlc_port* (*output)(const mlc_session* session, int32_t index);
  int32_t (*step_count)(const mlc_session* session);
  const char* (*step_label)(const mlc_session* session, int32_t step);
  /* Takes the sizes from the shapes of the inputs and runs. MLC_INVALID_ARGUMENT, before anything
     is written, if shapes or types are not the model's, if inputs disagree on a dimension, or if a
     buffer is too small; the shapes of the outputs are then set if the inputs are right. */
  mlc_status (*run_tensors)(mlc_session* session, const mlc_tensor* inputs, mlc_tensor* outputs);
};

#ifdef __cplusplus
}
#endif

#endif
