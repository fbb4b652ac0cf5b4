// What the command line of mlc-compile says about the library's files.
#pragma once

#include <optional>

#include "client/compile/compile_options.h"
#include "client/model/dims.h"
#include "client/model/sized_model.h"
#include "compiler/front/front.h"
#include "compiler/package/library.h"
#include "compiler/package/plans.h"

namespace mlc::client {

// `lookup` gives variables of the environment, for the folder of the cache of device code.
package::LibraryOptions LibraryOptionsOf(const CompileOptions& options,
                                         const settings::Lookup& lookup);

// But for `print`.
Result<front::FrontOptions> FrontOptionsOf(const CompileOptions& options,
                                           const target::Target& target);

// What the library takes beside the sizes of its plans; none: the model has no range.
std::optional<package::PlanRanges> RangesOf(const DimSizes& sizes, const SizedModel& model);

}  // namespace mlc::client
