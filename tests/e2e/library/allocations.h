/* Counts what the runtime takes from libc and fails one call on request. The test is linked with
   --wrap, so every call of the program's objects comes here; libc's own calls do not. */
#ifndef MLC_TESTS_E2E_LIBRARY_ALLOCATIONS_H_
#define MLC_TESTS_E2E_LIBRARY_ALLOCATIONS_H_

/* Blocks and mappings that are held now. */
long AllocationsHeld(void);
/* Call number `n` from now (from 1) fails; 0 turns failing off. */
void FailAllocation(long n);

#endif
