/* What a model and a session on a GPU hold, and what their files share. Internal to the runtime.
   C11; a library for GPUs needs libc alone and opens the driver when a model is opened. */
#ifndef MLC_COMPILER_RUNTIME_DEVICE_STATE_H_
#define MLC_COMPILER_RUNTIME_DEVICE_STATE_H_

#include "compiler/runtime/cuda_driver.h"
#include "compiler/runtime/device_api.h"
#include "compiler/runtime/image.h"
#include "compiler/runtime/model_state.h"

enum { MLC_DEVICE_ALIGNMENT = 256, MLC_DEVICE_TEXT = 320, MLC_DEVICE_CALLERS = 8 };

typedef struct mlc_device_model {
  struct mlc_model base;         /* first: queries about ports and steps see it alone */
  const mlc_device_image* image; /* what this device runs of the library */
  int from_texts;                /* its code is compiled by the driver */
  mlc_cuda cuda;
  mlc_cuda_device_facts facts;
  int32_t ordinal;
  mlc_cu_device device;
  mlc_cu_context context;
  mlc_cu_library* libraries;  /* one a kernel */
  mlc_cu_function* functions; /* of all launches, kernel by kernel */
  int64_t* first_function;    /* per kernel */
  mlc_cu_ptr weights;
} mlc_device_model;

/* One set of port addresses and the graph captured with them. */
typedef struct mlc_device_binding {
  mlc_cu_ptr* ports; /* inputs, then outputs */
  mlc_cu_graph_exec exec;
  int captured;      /* 0: the graph, if there is one, is of other addresses */
  uint64_t last_use; /* 0: the addresses are of no run */
} mlc_device_binding;

/* A map that launches take. */
typedef struct mlc_device_map {
  mlc_cu_tensor_map encoded;
  mlc_cu_ptr address; /* that it is encoded for; 0: for none yet */
} mlc_device_map;

typedef struct mlc_device_step {
  mlc_cu_ptr* arguments;
  mlc_device_map* maps;
  void** parameters;
} mlc_device_step;

typedef struct mlc_device_session {
  const mlc_device_model* model;
  mlc_cu_stream stream;
  mlc_cu_event last_run; /* recorded behind every run */
  mlc_cu_stream last_stream;
  int has_run;
  mlc_cu_ptr memory;      /* arena, scratch, counters, ports */
  mlc_cu_ptr* arguments;  /* of all steps: operands, scratch, counters */
  mlc_device_map* maps;   /* of all steps, for these arguments */
  void** parameters;      /* of each step: where its arguments and its maps are */
  mlc_device_step* steps; /* where each one's begin among these */
  char* pinned;           /* one place a port, for host buffers */
  mlc_device_binding own; /* ports in the session's memory */
  int32_t* own_ports;     /* mlc_device_own_port of each */
  /* Addresses of the caller's latest runs: its allocator gives the same ones again. */
  mlc_device_binding callers[MLC_DEVICE_CALLERS];
  mlc_device_binding asked; /* of the run at hand; has no graph */
  uint64_t uses;
  char error[MLC_DEVICE_TEXT];
} mlc_device_session;

/* Bytes rounded up to the alignment of parts of the session's memory. */
int64_t mlc_device_aligned(int64_t bytes);
/* The port in whose place of the session's memory port i lies: for an output that is made in place
   its input, else i. */
int32_t mlc_device_own_port(const mlc_device_model* model, int32_t index);
/* The bytes of all places of ports, each aligned. */
int64_t mlc_device_port_bytes(const mlc_device_model* model);
const mlc_port* mlc_device_port(const mlc_device_model* model, int32_t index);
int32_t mlc_device_port_count(const mlc_device_model* model);

/* Makes the model's context current, and the one before again. */
int mlc_device_enter(const mlc_device_model* model);
void mlc_device_leave(const mlc_device_model* model);

/* The status of a driver's result; a failure is noted in the session with what was tried. */
mlc_status mlc_device_check(mlc_device_session* session, int result, const char* what);

/* The graph of a run with the ports of the binding, made or brought up to date. */
mlc_status mlc_device_capture(mlc_device_session* session, mlc_device_binding* binding);
/* Puts the launches of one step on a stream. `first`: nothing that it could begin before the end of
   was launched before it. */
int mlc_device_launch_step(mlc_device_session* session, mlc_cu_stream stream, int32_t step,
                           int first);
/* Puts the launches of a whole run on a stream, with the arguments as they are set. */
int mlc_device_launch_all(mlc_device_session* session, mlc_cu_stream stream);
/* The tables of arguments; 0 without memory for them. */
int mlc_device_hold_arguments(mlc_device_session* session);
void mlc_device_free_arguments(mlc_device_session* session);
/* Sets the arguments that stay the same over all runs. */
void mlc_device_fix_arguments(mlc_device_session* session, mlc_cu_ptr scratch, mlc_cu_ptr counters);
/* Sets those that are ports, and encodes the maps whose matrices have moved. The driver's result.
 */
int mlc_device_bind(mlc_device_session* session, const mlc_device_binding* binding);

#endif
