#include "client/compile/bounded_steps.h"

#include <cstdint>
#include <utility>

#include "compiler/graph/ranged/step_rows.h"

namespace mlc::client {

int HiddenInputOf(const SizedModel& model, const graph::Program& program) {
  return model.forms()->lengths.empty() ? -1 : static_cast<int>(program.inputs.size()) - 1;
}

Result<StepRows> RowsOfClass(const SizedModel& model, size_t at, const graph::Program& program,
                             const front::FrontOptions& front) {
  const std::vector<std::vector<int64_t>> sizes = model.SmallerSizes(at);
  if (sizes.empty()) return StepRows();
  const int hidden_input = HiddenInputOf(model, program);
  std::vector<std::vector<int64_t>> by_step(program.steps.size());  // rows, by size
  for (const std::vector<int64_t>& smaller : sizes) {
    const graph::Program exact =
        MLC_TRY(front::CompileModel(MLC_TRY(model.TakeSmaller(at, smaller)), front));
    const auto rows = graph::RowsOfSteps(exact, program, hidden_input);
    if (!rows) return StepRows();
    for (size_t s = 0; s < rows->size(); ++s) by_step[s].push_back((*rows)[s]);
  }
  StepRows rows;
  for (const std::vector<int64_t>& lengths : by_step) {
    rows.push_back(lengths.front() < 0 ? std::nullopt : graph::FitForm(sizes, lengths));
    if (rows.back() && rows.back()->factors == std::vector<int64_t>(sizes.front().size(), 0)) {
      rows.back().reset();
    }
  }
  return rows;
}

}  // namespace mlc::client
