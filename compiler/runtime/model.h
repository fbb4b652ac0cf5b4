/* The C interface of a compiled model. Every library that final code generation writes comes with
   this header and with NAME.h, which declares the one table of functions, NAME_model, and the
   model's shapes.

   Thread safety: a model is immutable after open and may be shared by any number of threads. A
   session belongs to one thread at a time; open as many sessions as there are threads that run.
   Ownership: what open and create_session return is released by close and destroy_session; sessions
   go first. Buffers are the caller's. There is no global state. Errors: every call that can fail
   returns a status; status_text explains it in one line. A library for GPUs opens the CUDA driver
   when a model is opened, and shares the primary context of the GPU with the program. */
#ifndef MLC_MODEL_H_
#define MLC_MODEL_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when a member of mlc_model_api changes meaning. Members are only ever added at the end,
   which struct_bytes tells. */
#define MLC_MODEL_ABI_VERSION 1

typedef enum mlc_status {
  MLC_OK = 0,
  MLC_INVALID_ARGUMENT = 3,    /* a null pointer, an index or a thread count out of range */
  MLC_NOT_FOUND = 5,           /* the weights file is not there */
  MLC_OUT_OF_MEMORY = 8,       /* memory or threads could not be had */
  MLC_UNSUPPORTED_MACHINE = 9, /* the CPU, GPU or driver is not what the library needs */
  MLC_UNSUPPORTED_SIZE = 11,   /* the library has no plan for these sizes; see mlc_sizes.h */
  MLC_UNIMPLEMENTED = 12,      /* the library is for another kind of device than the call */
  MLC_DEVICE_FAILED = 13,      /* the GPU or its driver failed; the session is of no more use */
  MLC_BAD_WEIGHTS = 15         /* not the library's weights file, or its GPU code is damaged */
} mlc_status;

/* An element of a type from MLC_I4 on has a byte: an integer is extended to it, the code of a float
   of 4 bits is in its low bits. */
/* clang-format off */
typedef enum mlc_dtype {
  MLC_F32 = 0, MLC_F64 = 1, MLC_F16 = 2, MLC_BF16 = 3,
  MLC_I8 = 4, MLC_U8 = 5, MLC_I16 = 6, MLC_I32 = 7, MLC_I64 = 8, MLC_BOOL = 9,
  MLC_U16 = 10, MLC_U32 = 11, MLC_U64 = 12,
  MLC_I4 = 13, MLC_U4 = 14, MLC_I2 = 15, MLC_U2 = 16,
  MLC_F8E4M3FN = 17, MLC_F8E4M3FNUZ = 18, MLC_F8E5M2 = 19, MLC_F8E5M2FNUZ = 20,
  MLC_F8E8M0 = 21, MLC_F4E2M1 = 22
} mlc_dtype;
/* clang-format on */

/* An input or output: dense, row-major. */
typedef struct mlc_port {
  const char* name; /* as in the model */
  const int64_t* dims;
  int64_t bytes;
  int32_t rank;
  int32_t dtype; /* mlc_dtype */
} mlc_port;

typedef struct mlc_model mlc_model;
typedef struct mlc_session mlc_session;

typedef struct mlc_session_options {
  int32_t threads; /* 1 .. 1024, the caller's included; 0: the number it was compiled for */
} mlc_session_options;

typedef struct mlc_open_options {
  const char* weights_path; /* as for open */
  int32_t device;           /* of a library for GPUs: the driver's number of the GPU */
  char* error;              /* gets one line about a failure, cut to fit; may be null */
  size_t error_bytes;
} mlc_open_options;

typedef struct mlc_model_api mlc_model_api;
typedef struct mlc_sizes_api mlc_sizes_api; /* mlc_sizes.h */
struct mlc_model_api {
  uint32_t abi_version;  /* MLC_MODEL_ABI_VERSION of the library */
  uint32_t struct_bytes; /* sizeof(mlc_model_api) of the library */

  /* api: the table itself. weights_path: the file written with --weights file; null when the
     weights are embedded. */
  mlc_status (*open)(const mlc_model_api* api, const char* weights_path, mlc_model** model);
  void (*close)(mlc_model* model);

  int32_t (*input_count)(const mlc_model* model);
  int32_t (*output_count)(const mlc_model* model);
  /* Null for an index out of range. Valid until close. */
  const mlc_port* (*input)(const mlc_model* model, int32_t index);
  const mlc_port* (*output)(const mlc_model* model, int32_t index);
  /* Bytes that one session holds for intermediate results and scratch. */
  int64_t (*session_bytes)(const mlc_model* model, int32_t threads);

  mlc_status (*create_session)(const mlc_model* model, const mlc_session_options* options,
                               mlc_session** session);
  void (*destroy_session)(mlc_session* session);
  /* inputs and outputs: one pointer per port, in order. Buffers aligned to 64 bytes are used in
     place; others are copied. Outputs may not overlap inputs, but for whole buffers that
     in_place_input allows. Returns when outputs are written. */
  mlc_status (*run)(mlc_session* session, const void* const* inputs, void* const* outputs);

  /* Kernels, for profiles: step_label(i) is a short text, step_ns gets one time per step; on a GPU
     that of one of several launches in a row. */
  int32_t (*step_count)(const mlc_model* model);
  const char* (*step_label)(const mlc_model* model, int32_t step);
  mlc_status (*run_profiled)(mlc_session* session, const void* const* inputs, void* const* outputs,
                             double* step_ns);

  const char* (*status_text)(mlc_status status);

  /* As open, which takes GPU 0 where a library needs one, with options and a reason of failures. */
  mlc_status (*open_with)(const mlc_model_api* api, const mlc_open_options* options,
                          mlc_model** model);
  /* The GPU that the model was opened on; -1 for a library that runs on the CPU. */
  int32_t (*device)(const mlc_model* model);
  /* One line about the last call of the session that failed on a GPU or because of sizes; empty if
     there is nothing to add to the status. */
  const char* (*session_error)(const mlc_session* session);
  /* Libraries for GPUs: puts a run on the caller's stream (a CUstream or cudaStream_t of the
     device's primary context; null is the default one) and returns at once. Buffers are in the
     GPU's memory, aligned to 16 bytes, and stay until the run has ended. Runs of one session follow
     each other, on whatever streams. The second run with the same buffers costs some milliseconds.
     On a stream that is being captured, the run becomes part of the caller's graph. */
  mlc_status (*run_device)(mlc_session* session, void* stream, const void* const* inputs,
                           void* const* outputs);
  /* Runs `runs` times without pause and gives each time in run_ns. On a GPU the inputs are copied
     there before and the outputs back afterwards, and the times are the device's own. */
  mlc_status (*run_timed)(mlc_session* session, const void* const* inputs, void* const* outputs,
                          int32_t runs, double* run_ns);
  /* Libraries of several sizes; null: there is one. */
  const mlc_sizes_api* sizes;
  /* The input whose buffer may also be passed as this output: a run then updates the buffer, for
     example a cache of keys and values, where it otherwise copies all of it. -1: there is none. */
  int32_t (*in_place_input)(const mlc_model* model, int32_t output);
  /* Caches that stay in the session: a run with null for both buffers of such a pair updates the
     session's own, zeros at first; these copy it, null writes zeros. See the C interface page. */
  mlc_status (*read_cache)(mlc_session* session, int32_t output, void* buffer);
  mlc_status (*write_cache)(mlc_session* session, int32_t output, const void* buffer);
  /* An output as the last run has left it. Where its shape depends on data, it has the elements
     that there are, dense at the buffer's begin; the shape of `output` has the most. */
  const mlc_port* (*result)(const mlc_session* session, int32_t index);
};

/* A shared library exports its table, a `const mlc_model_api`, as NAME_model and also under this
   name, which does not depend on the model, for dlopen and dlsym. */
#define MLC_MODEL_ENTRY "mlc_model_entry"

#ifdef __cplusplus
}
#endif

#endif
