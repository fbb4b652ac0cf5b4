// The report of a job as one HTML page. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/html/markup.h"
#include "db/report/tuning_data.h"

namespace mlc::report {

std::string TuningPage(const TuningData& data);
// The page without its heading, for embedding into another page.
html::Markup TuningBody(const TuningData& data);

// The parts of the page, in its order. Tasks are numbered from 1 in `order`, which are indices of
// data.tasks.
html::Markup AdviceSection(const TuningData& data, const std::vector<size_t>& order);
html::Markup LatencySection(const TuningData& data);
html::Markup SharesSection(const TuningData& data, const std::vector<size_t>& order);
html::Markup RooflineSection(const TuningData& data, const std::vector<size_t>& order);
html::Markup TasksSection(const TuningData& data, const std::vector<size_t>& order);
html::Markup MachineSection(const TuningData& data);

// The tasks with the largest share of the model's time first; those that the fastest variant does
// not execute last.
std::vector<size_t> TaskOrder(const TuningData& data);
// "3. matmul 16x64 * 64x64 +add".
std::string TaskName(const TuningData& data, const std::vector<size_t>& order, size_t number);

}  // namespace mlc::report
