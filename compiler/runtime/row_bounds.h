/* Phases of a library that takes ranges, at the sizes of a session: iterations that write nothing
   but padding do not run. Internal to the runtime. C11. */
#ifndef MLC_COMPILER_RUNTIME_ROW_BOUNDS_H_
#define MLC_COMPILER_RUNTIME_ROW_BOUNDS_H_

#include "compiler/runtime/session_state.h"

/* Allocates the session's phases; nothing for a library that takes no ranges. */
mlc_status mlc_bounds_create(mlc_session* session);
void mlc_bounds_destroy(mlc_session* session);
/* Sets the phases to those of session->sizes. */
void mlc_bounds_resize(mlc_session* session);

#endif
