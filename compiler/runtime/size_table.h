/* The static tables of a library of several sizes, and the functions behind mlc_sizes_api. Internal
   to one library, as image.h. C11. */
#ifndef MLC_COMPILER_RUNTIME_SIZE_TABLE_H_
#define MLC_COMPILER_RUNTIME_SIZE_TABLE_H_

#include "compiler/runtime/image.h"
#include "compiler/runtime/sizes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Each dimension has two sizes at least: 64 combinations are 6 dimensions at most. */
enum { MLC_MOST_SIZES = 64, MLC_MOST_DIMS = 6 };

/* An axis of an input whose length is the size of a dimension. */
typedef struct mlc_axis {
  int32_t input;
  int32_t axis;
  int32_t dim;
  int32_t reserved;
} mlc_axis;

typedef struct mlc_size_table {
  mlc_sizes_api api; /* first: what mlc_model_api points at */
  /* One image for each row of sizes. Their needs of memory are all the same, the largest. */
  const mlc_image* const* plans;
  const mlc_axis* axes; /* each dimension has one at least; inputs in ascending order */
  int64_t axis_count;
  /* Of a library that takes ranges; null: it does not. Rows of 1 + dim_count numbers, each a
     length: the first number, plus each other one times the size of its dimension. First the axes
     of all inputs, then those of all outputs, then the lengths that the hidden input holds. */
  const int64_t* forms;
  int64_t length_count; /* of the hidden last input, i32; 0: there is none */
} mlc_size_table;

/* The members of mlc_sizes_api, by the same names. */
mlc_status mlc_runtime_set_sizes(mlc_session* session, const int64_t* sizes);
const mlc_port* mlc_runtime_session_input(const mlc_session* session, int32_t index);
const mlc_port* mlc_runtime_session_output(const mlc_session* session, int32_t index);
int32_t mlc_runtime_session_step_count(const mlc_session* session);
const char* mlc_runtime_session_step_label(const mlc_session* session, int32_t step);
mlc_status mlc_runtime_run_tensors(mlc_session* session, const mlc_tensor* inputs,
                                   mlc_tensor* outputs);

#ifdef __cplusplus
}
#endif

#endif
