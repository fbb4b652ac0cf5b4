// The charts of one task. Pure; thread-safe.
#pragma once

#include <vector>

#include "base/html/markup.h"
#include "db/report/knob_weights.h"
#include "db/report/tuning_data.h"

namespace mlc::report {

// Each figure is empty if there is no data for it.
//
// The time of every record by its number, by the arm that proposed it.
html::Markup TrialsFigure(const TaskData& task);
// The histogram of times over the best.
html::Markup DistributionFigure(const TaskData& task);
html::Markup KnobsFigure(const std::vector<KnobWeight>& knobs);

// The estimated and the measured times of configs; a sample if there are many.
struct Predicted {
  double estimate_ns = 0;
  double measured_ns = 0;
};
std::vector<Predicted> PredictedTimes(const TaskData& task, const target::Target& target);
// The rank correlation: 1 if estimates sort the configs as measurements do, 0 if they are unrelated
// or there are less than three. Ties share their mean rank.
double RankCorrelation(const std::vector<Predicted>& times);
html::Markup PredictedFigure(const std::vector<Predicted>& times);

}  // namespace mlc::report
