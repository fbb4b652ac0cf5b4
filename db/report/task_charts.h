// The charts of one task. Pure; thread-safe.
#pragma once

#include <vector>

#include "base/html/markup.h"
#include "db/report/knob_weights.h"
#include "db/report/tuning_data.h"

namespace mlc::report {

// Each is empty where there is nothing to show.
//
// Every record over its number, by what proposed it.
html::Markup TrialsFigure(const TaskData& task);
// How often which time came, over the best.
html::Markup DistributionFigure(const TaskData& task);
html::Markup KnobsFigure(const std::vector<KnobWeight>& knobs);

// The analytic estimate of configs that were measured, and what was measured. Not all of many.
struct Predicted {
  double estimate_ns = 0;
  double measured_ns = 0;
};
std::vector<Predicted> PredictedTimes(const TaskData& task, const target::Target& target);
// Of the ranks of both: 1 if estimates sort the configs as measurements do, 0 if they say nothing.
// 0 for less than three. Ties share their mean rank.
double RankCorrelation(const std::vector<Predicted>& times);
html::Markup PredictedFigure(const std::vector<Predicted>& times);

}  // namespace mlc::report
