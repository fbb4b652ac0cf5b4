/* Phases of a library that takes ranges. */
#include "compiler/runtime/row_bounds.h"

#include <stdlib.h>

#include "compiler/runtime/padded_ports.h"

static int64_t PhaseCount(const mlc_image* image) {
  int64_t count = 0;
  for (int32_t s = 0; s < image->step_count; ++s) count += image->steps[s].phase_count;
  return count;
}

mlc_status mlc_bounds_create(mlc_session* session) {
  const mlc_image* image = session->model->image;
  if (image->sizes == NULL || image->sizes->forms == NULL) return MLC_OK;
  int64_t most = 0;
  for (int32_t p = 0; p < mlc_plan_count(image); ++p) {
    const int64_t count = PhaseCount(mlc_plan(image, p));
    if (count > most) most = count;
  }
  session->phases = calloc((size_t)most + 1, sizeof(mlc_phase));
  session->bounds = calloc((size_t)most + 1, sizeof(mlc_bound));
  if (session->phases == NULL || session->bounds == NULL) return MLC_OUT_OF_MEMORY;
  mlc_bounds_resize(session);
  return MLC_OK;
}

void mlc_bounds_destroy(mlc_session* session) {
  free(session->phases);
  free(session->bounds);
}

/* How many iterations of a period write rows below `rows`. */
static int64_t RunsFor(const mlc_loop_rows* loop, int64_t rows) {
  int64_t low = 0, high = loop->period;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (loop->first[middle] < rows) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* A limit that limits nothing: ir::kNoLimit. */
static const int64_t kNoLimit = (int64_t)1 << 40;

/* Gives the step's kernel its limit, if it takes one; returns the end of the step's table. */
static void** SetLimit(const mlc_step* step, int64_t rows, void** buffers) {
  for (int32_t i = 0; i < step->operand_count; ++i, ++buffers) {
    if (step->operands[i].kind == MLC_AT_LIMIT) *buffers = (void*)(intptr_t)rows;
  }
  return buffers + 2;
}

void mlc_bounds_resize(mlc_session* session) {
  if (session->phases == NULL) return;
  void** buffers = session->step_buffers;
  const mlc_image* image = session->image;
  mlc_phase* phase = session->phases;
  mlc_bound* bound = session->bounds;
  for (int32_t s = 0; s < image->step_count; ++s) {
    const mlc_step* step = &image->steps[s];
    const int64_t rows = step->rows == NULL ? kNoLimit : mlc_length_now(session, step->rows);
    buffers = SetLimit(step, rows, buffers);
    for (int32_t p = 0; p < step->phase_count; ++p, ++phase, ++bound) {
      *phase = step->phases[p];
      *bound = (mlc_bound){1, 1};
      if (step->loops == NULL || step->loops[p].first == NULL) continue;
      const mlc_loop_rows* loop = &step->loops[p];
      *bound = (mlc_bound){loop->period, RunsFor(loop, rows)};
      phase->extent = phase->extent / bound->period * bound->run;
    }
  }
}
