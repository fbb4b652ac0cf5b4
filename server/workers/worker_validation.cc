#include "server/workers/worker_validation.h"

#include <algorithm>

namespace mlc::server {
namespace {

constexpr size_t kLongestName = 253;  // a host's is not longer
constexpr size_t kLongestText = 1'024;
constexpr size_t kLongestTarget = 8'192;
constexpr size_t kMostKernels = 256;
constexpr size_t kLongestKernel = 64;
constexpr size_t kMostPrecisions = 16;

bool AreShort(const std::vector<std::string>& words, size_t most, size_t longest) {
  return words.size() <= most &&
         std::all_of(words.begin(), words.end(),
                     [&](const std::string& word) { return word.size() <= longest; });
}

Status CheckCapabilities(const std::string& worker, const Capabilities& told) {
  if (!AreShort(told.kernels, kMostKernels, kLongestKernel)) {
    return InvalidArgument("worker " + worker + " names more than " + std::to_string(kMostKernels) +
                           " families of kernels, or one of over " +
                           std::to_string(kLongestKernel) + " bytes");
  }
  const bool are_short =
      AreShort(told.precisions, kMostPrecisions, kLongestKernel) &&
      std::max({told.llvm.size(), told.nvrtc.size(), told.driver.size()}) <= kLongestText;
  if (!are_short) {
    return InvalidArgument("worker " + worker + " sends too long a compiler version: at most " +
                           std::to_string(kLongestText) + " bytes");
  }
  return Status();
}

}  // namespace

std::string NameProblem(const std::string& name) {
  if (name.empty()) return "the worker has no name";
  if (name.size() > kLongestName) {
    return "a worker's name is longer than " + std::to_string(kLongestName) + " bytes";
  }
  const bool printable =
      std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c <= '~'; });
  return printable ? "" : "a worker's name is not of printable ASCII characters without spaces";
}

Status ValidateSynchronize(const WorkerCall& call) {
  const std::string& worker = call.worker;
  if (std::string problem = NameProblem(worker); !problem.empty()) return InvalidArgument(problem);
  if (call.incarnation.empty()) {
    return InvalidArgument("worker " + worker +
                           " sends no incarnation: it has to be new for each start of its process, "
                           "so that leases of an "
                           "earlier one are taken back");
  }
  if (call.incarnation.size() > kLongestText || call.build.size() > kLongestText) {
    return InvalidArgument("worker " + worker + " has an incarnation or a build of over " +
                           std::to_string(kLongestText) + " bytes");
  }
  if (call.target.size() > kLongestTarget) {
    return InvalidArgument("worker " + worker + " has a target of over " +
                           std::to_string(kLongestTarget) + " bytes");
  }
  return CheckCapabilities(worker, call.capabilities);
}

}  // namespace mlc::server
