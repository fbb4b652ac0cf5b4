/* What a model and a session on a GPU hold, and what their files share. Internal to the runtime.
   C11; a library for GPUs needs libc alone and opens the driver when a model is opened. */
#ifndef MLC_COMPILER_RUNTIME_DEVICE_STATE_H_
#define MLC_COMPILER_RUNTIME_DEVICE_STATE_H_

#include "compiler/runtime/cuda_driver.h"
#include "compiler/runtime/device_api.h"
#include "compiler/runtime/image.h"
#include "compiler/runtime/session_state.h"

/* CALLERS and OWN_GRAPHS: of a session at most, with graphs of the caller's buffers and of its own.
   A library of one size has one of its own. */
enum {
  MLC_DEVICE_ALIGNMENT = 256,
  MLC_DEVICE_TEXT = 320,
  MLC_DEVICE_CALLERS = 8,
  MLC_DEVICE_OWN_GRAPHS = 24
};

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

/* One set of port addresses of a plan and the graph captured with them. */
typedef struct mlc_device_binding {
  int32_t plan;
  mlc_cu_ptr* ports; /* inputs, then outputs */
  mlc_cu_graph_exec exec;
  int captured;      /* 0: the graph, if there is one, is of another plan or of other addresses */
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
  struct mlc_session base; /* first: sizes and shapes; what is the CPU's in it is not used */
  const mlc_device_model* model;
  mlc_cu_stream stream;
  mlc_cu_event last_run; /* recorded behind every run */
  mlc_cu_stream last_stream;
  int has_run;
  int in_graph;          /* a run is part of a graph of the caller's, which may run at any time */
  mlc_cu_ptr memory;     /* arena, scratch, counters, ports */
  mlc_cu_ptr* arguments; /* of all steps of all plans: operands, scratch, counters */
  mlc_device_map* maps;  /* of all steps, for these arguments */
  void** parameters;     /* of each step: where its arguments and its maps are */
  mlc_device_step* all_steps; /* of all plans: where each one's begin among these */
  mlc_device_step* steps;     /* of the session's plan */
  char* pinned;               /* one place a port, for host buffers */
  mlc_cu_ptr* own_places;     /* of ports in the session's memory, each for all plans */
  int32_t* own_ports;         /* mlc_device_own_port of each */
  mlc_device_binding* own; /* by plan: those places, and the graph while it is one of the latest */
  /* Addresses of the caller's latest runs: its allocator gives the same ones again. */
  mlc_device_binding callers[MLC_DEVICE_CALLERS];
  mlc_device_binding asked; /* of the run at hand; has no graph */
  uint64_t uses;
} mlc_device_session;

static inline mlc_device_session* mlc_device_held(mlc_session* session) {
  return (mlc_device_session*)(void*)session;
}
/* What the device runs at the session's sizes. */
static inline const mlc_device_image* mlc_device_plan(const mlc_device_session* session) {
  return (const mlc_device_image*)(const void*)session->base.image;
}

/* Bytes rounded up to the alignment of parts of the session's memory. */
int64_t mlc_device_aligned(int64_t bytes);
/* The port in whose place of the session's memory port i lies: for an output that is made in place
   its input, else i. */
int32_t mlc_device_own_port(const mlc_device_model* model, int32_t index);
/* The bytes of the place of a port, aligned: enough for all plans. */
int64_t mlc_device_place_bytes(const mlc_device_model* model, int32_t index);
/* The bytes of all places. */
int64_t mlc_device_port_bytes(const mlc_device_model* model);
/* Inputs, then outputs, with those that callers do not see. */
int32_t mlc_device_port_count(const mlc_device_model* model);

/* Makes the model's context current, and the one before again. */
int mlc_device_enter(const mlc_device_model* model);
void mlc_device_leave(const mlc_device_model* model);

/* The status of a driver's result; a failure is noted in the session with what was tried. */
mlc_status mlc_device_check(mlc_device_session* session, int result, const char* what);

/* The graph of a run with the ports of the binding, at the session's sizes, made or brought up to
   date. */
mlc_status mlc_device_capture(mlc_device_session* session, mlc_device_binding* binding);
/* The same on the session's own places. Beyond MLC_DEVICE_OWN_GRAPHS the one that was not used for
   longest goes. */
mlc_status mlc_device_capture_own(mlc_device_session* session);
/* Puts the launches of one step on a stream. `first`: nothing that it could begin before the end of
   was launched before it. */
int mlc_device_launch_step(mlc_device_session* session, mlc_cu_stream stream, int32_t step,
                           int first);
/* Puts the launches of a whole run on a stream, with the arguments as they are set. */
int mlc_device_launch_all(mlc_device_session* session, mlc_cu_stream stream);
/* The tables of arguments; 0 without memory for them. */
int mlc_device_hold_arguments(mlc_device_session* session);
void mlc_device_free_arguments(mlc_device_session* session);
/* Follows a change of the session's plan. */
void mlc_device_take_arguments(mlc_device_session* session);
/* Sets the arguments of all plans that stay the same over all runs. */
void mlc_device_fix_arguments(mlc_device_session* session, mlc_cu_ptr scratch, mlc_cu_ptr counters);
/* Sets those of the session's plan that are ports, and encodes the maps whose matrices have moved.
   The driver's result. */
int mlc_device_bind(mlc_device_session* session, const mlc_device_binding* binding);

/* Notes a reason; MLC_INVALID_ARGUMENT. */
mlc_status mlc_device_misuse(mlc_device_session* session, const char* text);
mlc_status mlc_device_check_buffers(mlc_device_session* session, const void* const* inputs,
                                    void* const* outputs);
/* Takes the caller's addresses for a run on the GPU's memory; where a port is to be padded or
   cropped or is the session's own, its place. */
mlc_status mlc_device_ask(mlc_device_session* session, const void* const* inputs,
                          void* const* outputs);
/* Host buffers to the session's places, with the lengths that no caller gives. */
int mlc_device_send_inputs(mlc_device_session* session, const void* const* inputs);
/* Back from there; ends when the outputs are there. */
int mlc_device_fetch_outputs(mlc_device_session* session, void* const* outputs);
/* The same from and to the GPU's memory, on a stream, for the ports whose place was taken. */
int mlc_device_pad_inputs(mlc_device_session* session, mlc_cu_stream stream,
                          const void* const* inputs);
int mlc_device_crop_outputs(mlc_device_session* session, mlc_cu_stream stream,
                            void* const* outputs);
/* Runs share one memory: one on another stream waits for the one before. */
int mlc_device_follow(mlc_device_session* session, mlc_cu_stream stream);

#endif
