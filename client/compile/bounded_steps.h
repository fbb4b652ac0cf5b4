// How many rows of each step's results a run of a class needs, found at some of its sizes. Pure but
// for the model's file.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/status.h"
#include "client/model/sized_model.h"
#include "compiler/front/front.h"
#include "compiler/graph/program.h"
#include "compiler/graph/ranged/size_form.h"

namespace mlc::client {

using StepRows = std::vector<std::optional<graph::SizeForm>>;

// The input of the lengths, which the runtime gives; -1: there is none.
int HiddenInputOf(const SizedModel& model, const graph::Program& program);

// As package::Plan::rows. `program` is that of the class `at` of the model. Empty: all of all
// steps, since only its own sizes run in the class, or other steps at other sizes. Errors of the
// front.
Result<StepRows> RowsOfClass(const SizedModel& model, size_t at, const graph::Program& program,
                             const front::FrontOptions& front);

}  // namespace mlc::client
