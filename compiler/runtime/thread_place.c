#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "compiler/runtime/thread_place.h"

void mlc_place_allowed(cpu_set_t* allowed) {
  CPU_ZERO(allowed);
  /* More CPUs than the set holds: unknown. */
  if (sched_getaffinity(0, sizeof *allowed, allowed) != 0) CPU_ZERO(allowed);
}

int mlc_place_cpu(const cpu_set_t* allowed, int i) {
  const int count = CPU_COUNT(allowed);
  if (count == 0) return -1;
  i %= count;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, allowed) && i-- == 0) return cpu;
  }
  return -1;
}

void mlc_place_init(mlc_place* place, int cpu) {
  mlc_place_allowed(&place->allowed);
  place->last = place->allowed;
  place->movable = cpu < 0 && CPU_COUNT(&place->allowed) > 1;
  if (cpu < 0) return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one); /* a wish: the work is right without it */
}

void mlc_place_leave(mlc_place* place, const cpu_set_t* taken, int fetched) {
  if (!place->movable) return;
  cpu_set_t now;
  mlc_place_allowed(&now);
  if (!fetched && !CPU_EQUAL(&now, &place->last)) place->allowed = place->last = now;
  cpu_set_t rest;
  CPU_AND(&rest, &place->allowed, taken);
  CPU_XOR(&rest, &rest, &place->allowed);
  if (CPU_COUNT(&rest) == 0) return;
  if (sched_setaffinity(0, sizeof rest, &rest) == 0) {
    place->last = rest;
  } else {
    place->movable = 0; /* forbidden, for example by a sandbox */
  }
}

void mlc_place_fetch(int thread) {
  const int cpu = sched_getcpu();
  if (cpu < 0) return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  sched_setaffinity(thread, sizeof one, &one);
}
