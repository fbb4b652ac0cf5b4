/* One thread's share of a phase, cut into grains, as one word that its owner and its helpers change
   with compare-and-swap. The owner takes grains from the front, a part of what is left at a time,
   helpers from the back; so a share that a slow thread has begun is finished by others. C11; lock
   free; no memory of its own. Internal to the thread pool.

   A share goes from MLC_NO_SHARE to offered, to begun, and back. The thread that takes the last
   grain of one that was not begun ends it; one that was begun is ended by its owner alone, which
   does so when it has nothing more to run: until then the round is not over, so a helper never
   meets the share of another round. */
#ifndef MLC_COMPILER_RUNTIME_WORK_SHARE_H_
#define MLC_COMPILER_RUNTIME_WORK_SHARE_H_

#include <stdatomic.h>

/* Grains of a share at most; its front and its back lie in the two lowest bytes of the word. */
enum {
  MLC_NO_SHARE = 0,
  MLC_MOST_GRAINS = 64,
  MLC_SHARE_BEGUN = 1 << 16,
  MLC_SHARE_FETCHED = 1 << 17
};

/* Grains [from, to). */
typedef struct mlc_grains {
  unsigned from;
  unsigned to;
} mlc_grains;

static inline unsigned mlc_share_front(unsigned share) { return share >> 8 & 0xff; }
static inline unsigned mlc_share_back(unsigned share) { return share & 0xff; }

/* Grains that no thread has taken. */
static inline unsigned mlc_share_left(unsigned share) {
  return mlc_share_back(share) - mlc_share_front(share);
}

static inline int mlc_share_fetched(unsigned share) { return (share & MLC_SHARE_FETCHED) != 0; }

/* By the one who starts rounds. Its earlier writes are visible to threads that take from the share.
 */
static inline void mlc_share_offer(atomic_uint* share, unsigned grains, int begun) {
  atomic_store_explicit(share, grains | (begun ? MLC_SHARE_BEGUN : 0), memory_order_release);
}

/* By the owner; 0: there is none. */
static inline int mlc_share_begin(atomic_uint* share) {
  unsigned seen = atomic_load_explicit(share, memory_order_relaxed);
  while (seen != MLC_NO_SHARE) {
    if (atomic_compare_exchange_weak(share, &seen, seen | MLC_SHARE_BEGUN)) return 1;
  }
  return 0;
}

/* By the owner of a share that is begun: the next quarter of what is left. A thread that stands
   still keeps no more than that from the others. 0: nothing is left. */
static inline int mlc_share_take_own(atomic_uint* share, mlc_grains* taken) {
  unsigned seen = atomic_load_explicit(share, memory_order_relaxed);
  for (;;) {
    const unsigned left = mlc_share_left(seen);
    if (left == 0) return 0;
    const unsigned count = (left + 3) / 4;
    if (!atomic_compare_exchange_weak(share, &seen, seen + (count << 8))) continue;
    taken->from = mlc_share_front(seen);
    taken->to = taken->from + count;
    return 1;
  }
}

/* By a helper that is part of the round: the last half of what is left. 0: nothing is left. */
static inline int mlc_share_take_others(atomic_uint* share, mlc_grains* taken) {
  unsigned seen = atomic_load_explicit(share, memory_order_relaxed);
  for (;;) {
    const unsigned left = mlc_share_left(seen);
    if (left == 0) return 0;
    const unsigned count = (left + 1) / 2;
    unsigned next = seen - count;
    if (count == left && (seen & MLC_SHARE_BEGUN) == 0) next = MLC_NO_SHARE;
    if (!atomic_compare_exchange_weak(share, &seen, next)) continue;
    taken->to = mlc_share_back(seen);
    taken->from = taken->to - count;
    return 1;
  }
}

/* By the one who starts rounds: notes that it moved the owner of a share that is begun, and of
   which nothing is left to take. 0: it is not so, or was noted before. */
static inline int mlc_share_fetch(atomic_uint* share) {
  unsigned seen = atomic_load_explicit(share, memory_order_relaxed);
  if ((seen & MLC_SHARE_BEGUN) == 0 || mlc_share_fetched(seen)) return 0;
  return atomic_compare_exchange_strong(share, &seen, seen | MLC_SHARE_FETCHED);
}

/* By the owner, when it has run what it took. Whether it was fetched meanwhile. */
static inline int mlc_share_end(atomic_uint* share) {
  return mlc_share_fetched(atomic_exchange(share, MLC_NO_SHARE));
}

#endif
