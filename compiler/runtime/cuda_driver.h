/* The CUDA driver, opened at run time: a table of its functions and the few types that they use, so
   that neither a generated library nor a worker links with it or needs its headers. C11 and libc
   only; no global state: the caller owns the table, which is read-only once opened and then shared
   by threads. The library stays loaded for good, as the driver demands.

   Names: the driver's without "cu", in lower case. Every entry is the symbol of the version whose
   signature stands here. Results are the driver's codes: 0 is success; see mlc_cuda_error_text. */
#ifndef MLC_COMPILER_RUNTIME_CUDA_DRIVER_H_
#define MLC_COMPILER_RUNTIME_CUDA_DRIVER_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int mlc_cu_device;
typedef uint64_t mlc_cu_ptr; /* device address */
typedef struct CUctx_st* mlc_cu_context;
typedef struct CUlib_st* mlc_cu_library;
typedef struct CUkern_st* mlc_cu_kernel;
typedef struct CUfunc_st* mlc_cu_function;
typedef struct CUstream_st* mlc_cu_stream;
typedef struct CUevent_st* mlc_cu_event;
typedef struct CUgraph_st* mlc_cu_graph;
typedef struct CUgraphExec_st* mlc_cu_graph_exec;
typedef struct CUgraphNode_st* mlc_cu_graph_node;
struct mlc_cu_tensor_map; /* tensor_map.h */
struct mlc_cu_copy_2d;    /* cuda_rows.h */

/* Codes that callers tell apart. */
enum {
  MLC_CUDA_SUCCESS = 0,
  MLC_CUDA_OUT_OF_MEMORY = 2,
  MLC_CUDA_NO_DEVICE = 100,
  MLC_CUDA_NO_BINARY_FOR_GPU = 209,
  MLC_CUDA_UNSUPPORTED_PTX_VERSION = 222,
  MLC_CUDA_ILLEGAL_ADDRESS = 700
};

/* For event_create, stream_create, stream_begin_capture, func_set_attribute. */
enum {
  MLC_CUDA_EVENT_TIMING = 0,
  MLC_CUDA_EVENT_NO_TIMING = 2,
  MLC_CUDA_STREAM_NON_BLOCKING = 1,
  MLC_CUDA_CAPTURE_THREAD_LOCAL = 1,
  MLC_CUDA_CAPTURE_RELAXED = 2,
  MLC_CUDA_FUNC_MAX_BLOCK_BYTES = 8
};

/* Launch attributes: id and a value of 64 bytes, of which these use the first words. */
enum {
  MLC_CUDA_ATTRIBUTE_PROGRAMMATIC_SERIALIZATION = 6 /* word 0: 1 */
};
typedef struct mlc_cu_launch_attribute {
  uint32_t id;
  uint32_t pad;
  uint32_t words[16];
} mlc_cu_launch_attribute;

typedef struct mlc_cuda_dim3 {
  uint32_t x, y, z;
} mlc_cuda_dim3;

typedef struct mlc_cu_launch_config {
  mlc_cuda_dim3 grid, block;
  uint32_t block_bytes; /* dynamic on-chip memory */
  mlc_cu_stream stream;
  mlc_cu_launch_attribute* attributes;
  uint32_t attribute_count;
} mlc_cu_launch_config;

typedef struct mlc_cu_graph_update {
  int32_t result;
  mlc_cu_graph_node error_node, error_from_node;
} mlc_cu_graph_update;

typedef struct mlc_cuda {
  int version; /* of the driver: 13000 for 13.0 */
  int (*driver_get_version)(int* version);
  int (*init)(unsigned flags);
  int (*get_error_name)(int result, const char** name);
  int (*get_error_string)(int result, const char** text);
  int (*device_get_count)(int* count);
  int (*device_get)(mlc_cu_device* device, int ordinal);
  int (*device_get_attribute)(int* value, int attribute, mlc_cu_device device);
  int (*device_get_name)(char* name, int size, mlc_cu_device device);
  int (*device_get_uuid)(void* uuid16, mlc_cu_device device);
  int (*device_get_pci_bus_id)(char* text, int size, mlc_cu_device device);
  int (*device_total_mem)(size_t* bytes, mlc_cu_device device);
  int (*primary_ctx_retain)(mlc_cu_context* context, mlc_cu_device device);
  int (*primary_ctx_release)(mlc_cu_device device);
  int (*ctx_set_current)(mlc_cu_context context);
  int (*ctx_push_current)(mlc_cu_context context);
  int (*ctx_pop_current)(mlc_cu_context* context);
  int (*ctx_synchronize)(void);
  int (*library_load_data)(mlc_cu_library* library, const void* image, int* jit_options,
                           void** jit_values, unsigned jit_count, int* options, void** values,
                           unsigned count); /* cubin, fat binary or PTX text ending in 0 */
  int (*library_unload)(mlc_cu_library library);
  int (*library_get_kernel)(mlc_cu_kernel* kernel, mlc_cu_library library, const char* name);
  int (*kernel_get_function)(mlc_cu_function* function, mlc_cu_kernel kernel); /* this context's */
  int (*func_set_attribute)(mlc_cu_function function, int attribute, int value);
  int (*launch_kernel_ex)(const mlc_cu_launch_config* config, mlc_cu_function function,
                          void** parameters, void** extra);
  int (*tensor_map_encode_tiled)(struct mlc_cu_tensor_map* map, int type, uint32_t rank,
                                 void* address, const uint64_t* sizes, const uint64_t* pitches,
                                 const uint32_t* box, const uint32_t* steps, int interleave,
                                 int swizzle, int promotion, int fill);
  int (*mem_alloc)(mlc_cu_ptr* address, size_t bytes);
  int (*mem_free)(mlc_cu_ptr address);
  int (*mem_alloc_host)(void** memory, size_t bytes); /* pinned */
  int (*mem_free_host)(void* memory);
  int (*memcpy_htod_async)(mlc_cu_ptr to, const void* from, size_t bytes, mlc_cu_stream stream);
  int (*memcpy_dtoh_async)(void* to, mlc_cu_ptr from, size_t bytes, mlc_cu_stream stream);
  int (*memcpy_dtod_async)(mlc_cu_ptr to, mlc_cu_ptr from, size_t bytes, mlc_cu_stream stream);
  int (*memcpy_2d_async)(const struct mlc_cu_copy_2d* copy, mlc_cu_stream stream);
  int (*memset_d8_async)(mlc_cu_ptr to, unsigned char value, size_t count, mlc_cu_stream stream);
  int (*memset_d32_async)(mlc_cu_ptr to, unsigned value, size_t count, mlc_cu_stream stream);
  int (*stream_create)(mlc_cu_stream* stream, unsigned flags);
  int (*stream_destroy)(mlc_cu_stream stream);
  int (*stream_synchronize)(mlc_cu_stream stream);
  int (*stream_wait_event)(mlc_cu_stream stream, mlc_cu_event event, unsigned flags);
  int (*stream_begin_capture)(mlc_cu_stream stream, int mode);
  int (*stream_end_capture)(mlc_cu_stream stream, mlc_cu_graph* graph);
  int (*stream_is_capturing)(mlc_cu_stream stream, int* status); /* 0: it is not */
  int (*event_create)(mlc_cu_event* event, unsigned flags);
  int (*event_destroy)(mlc_cu_event event);
  int (*event_record)(mlc_cu_event event, mlc_cu_stream stream);
  int (*event_synchronize)(mlc_cu_event event);
  int (*event_elapsed_time)(float* milliseconds, mlc_cu_event start, mlc_cu_event end);
  int (*graph_instantiate)(mlc_cu_graph_exec* exec, mlc_cu_graph graph, unsigned long long flags);
  int (*graph_exec_update)(mlc_cu_graph_exec exec, mlc_cu_graph graph, mlc_cu_graph_update* info);
  int (*graph_upload)(mlc_cu_graph_exec exec, mlc_cu_stream stream);
  int (*graph_launch)(mlc_cu_graph_exec exec, mlc_cu_stream stream);
  int (*graph_exec_destroy)(mlc_cu_graph_exec exec);
  int (*graph_destroy)(mlc_cu_graph graph);
} mlc_cuda;

/* Opens and starts the driver. 0, or -1 with a line in `error` about what is missing or too old. */
int mlc_cuda_open(mlc_cuda* cuda, char* error, size_t error_size);

/* "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)" in `text`, cut to fit. */
void mlc_cuda_error_text(const mlc_cuda* cuda, int result, char* text, size_t size);

typedef struct mlc_cuda_device_facts {
  char name[128];
  char pci[32]; /* "0000:1b:00.0" */
  uint8_t uuid[16];
  int compute; /* capability times ten: 90 */
  int sms;
  int block_bytes; /* most that one block may ask for */
  int sm_bytes;
  int l2_bytes;
  int clock_khz;
  size_t memory_bytes;
} mlc_cuda_device_facts;

/* The first code that is not 0. Needs no context. */
int mlc_cuda_query_device(const mlc_cuda* cuda, int ordinal, mlc_cuda_device_facts* facts);

/* Launches `grid` blocks of `block` threads. `programmatic`: may begin before the end of the kernel
   before it, for which it waits. More than 48 KiB need MLC_CUDA_FUNC_MAX_BLOCK_BYTES set once. */
int mlc_cuda_launch(const mlc_cuda* cuda, mlc_cu_function function, mlc_cuda_dim3 grid,
                    mlc_cuda_dim3 block, uint32_t block_bytes, mlc_cu_stream stream,
                    void** parameters, int programmatic);

#ifdef __cplusplus
}
#endif

#endif
