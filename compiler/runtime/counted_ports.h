/* Outputs whose lengths depend on data: the shapes that a run gives them. Internal to the runtime.
   C11. */
#ifndef MLC_COMPILER_RUNTIME_COUNTED_PORTS_H_
#define MLC_COMPILER_RUNTIME_COUNTED_PORTS_H_

#include "compiler/runtime/session_state.h"

/* Allocates counts and ports; nothing for a model without such lengths. */
mlc_status mlc_counted_create(mlc_session* session);
void mlc_counted_destroy(mlc_session* session);
/* Before any run, ports have the most elements. */
void mlc_counted_reset(mlc_session* session);
/* After a run: takes the shapes from the counts, and moves the elements that there are to the begin
   of each of the session's output buffers. */
void mlc_counted_finish(mlc_session* session);

#endif
