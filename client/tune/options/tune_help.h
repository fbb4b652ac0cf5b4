// Long help texts of mlc-tune's flags (tune_flags.h). Constant; thread-safe.
#pragma once

namespace mlc::client {

inline constexpr const char* kDimHelp =
    "NAME=N: size of a symbolic dimension; repeatable; NAME=1,8,32 and NAME=64..512:64: several "
    "sizes, all combinations of which are tuned; NAME=1..512: any size of the range, by tuning "
    "size "
    "classes";

inline constexpr const char* kReplayHelp =
    "measure nothing: take the result, and the job's search, from the records of --log alone, "
    "and list the tasks without a record; ends with code 0 if there are none, else with 3";

inline constexpr const char* kReproducibleHelp =
    "the same log, model and seed give the same search and the same kernels, whatever the "
    "order "
    "of the log's records";

}  // namespace mlc::client
