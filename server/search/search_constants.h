// Constants of the search that replays of recorded spaces chose. The programs use these values;
// only replays vary them, to judge the choice on spaces that had no part in it
// (tests/bench/search/judge.py). A value.
#pragma once

#include <cstddef>
#include <cstdint>

#include "costmodel/boosting.h"

namespace mlc::server {

struct SearchConstants {
  // Tries for the first candidates of a family.
  size_t sample_draws = 12000;
  // Results without an improvement after which the search descends, and starts elsewhere as well.
  int64_t descend_after = 10;
  int64_t restart_after = 30;
  // Results without an improvement after which every other choice ignores earlier jobs.
  int64_t mistrust_after = 10;
  // Steps of one knob in a descent: uneven knobs hide what lies beyond the next value.
  int descent_reach = 16;
  // Of the results of a job.
  costmodel::BoostingOptions online_trees = {
      .trees = 50, .depth = 4, .eta = 0.16, .columns = 0.4, .min_child_weight = 1, .lambda = 1};
};

}  // namespace mlc::server
