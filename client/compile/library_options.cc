#include "client/compile/library_options.h"

#include <filesystem>
#include <utility>

#include "base/machine/cpus.h"
#include "compiler/build/cubin_cache.h"

namespace mlc::client {

package::LibraryOptions LibraryOptionsOf(const CompileOptions& options,
                                         const settings::Lookup& lookup) {
  package::LibraryOptions library;
  library.directory = options.output;
  library.name =
      options.name.empty()
          ? package::LibraryNameFrom(
                std::filesystem::path(options.output + "/.").parent_path().filename().string())
          : options.name;
  library.cuda_home = options.cuda_home;
  library.cubin_cache = build::CubinFolder(options.cubin_cache, "libraries", lookup);
  library.embed_weights = options.weights == "embed";
  library.parallel = target::UsableCpus();
  return library;
}

Result<front::FrontOptions> FrontOptionsOf(const CompileOptions& options,
                                           const target::Target& target) {
  front::FrontOptions front;
  front.precision = MLC_TRY(graph::ParsePrecision(options.precision));
  front.tolerance = options.tolerance;
  front.skip = {options.skipped_passes.begin(), options.skipped_passes.end()};
  front.print_after = {options.print_after.begin(), options.print_after.end()};
  return front::ForTarget(std::move(front), target);
}

std::optional<package::PlanRanges> RangesOf(const DimSizes& sizes, const SizedModel& model) {
  if (model.forms() == nullptr) return std::nullopt;
  package::PlanRanges ranges;
  for (const VaryingDim& dim : sizes.dims) {
    ranges.least.push_back(dim.sizes.front());
    ranges.most.push_back(dim.sizes.back());
    ranges.any_size.push_back(dim.any_size);
  }
  ranges.forms = *model.forms();
  return ranges;
}

}  // namespace mlc::client
