#include "client/tune/kernel_file.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/settings/toml_json.h"
#include "client/tune/cuda_kernel.h"
#include "compiler/build/c_compiler.h"
#include "compiler/schedule/cuda/user_kernel/tuned_kernel.h"
#include "compiler/schedule/kernel_spec/text_checks.h"

namespace mlc::client {
namespace {

using Json = nlohmann::ordered_json;

Status ParseJson(const std::string& text, Json& json) {
  if (!schedule::IsShallow(text)) return InvalidArgument("nested too deeply");
  // The library throws for what is no JSON, with the position.
  try {
    json = Json::parse(text);
    return Status();
  } catch (const Json::exception& error) {
    return InvalidArgument(error.what());
  }
}

// The path of a file that a specification names.
std::string Beside(const std::string& file, const std::string& name) {
  return (std::filesystem::path(file).parent_path() / name).string();
}

// A member's text; empty if there is none.
std::string TextOf(const Json& of, const char* name) {
  return of.is_object() && of.contains(name) && of[name].is_string() ? of[name].get<std::string>()
                                                                     : std::string();
}

Result<graph::Workload> WorkloadOf(const TuneOptions& options, const Json& kernel) {
  std::string text = TextOf(kernel, "Workload");
  std::string where = options.kernel + ": Workload";
  const std::string named = TextOf(kernel, "WorkloadFile");
  if (!text.empty() && !named.empty()) {
    return InvalidArgument(options.kernel +
                           ": Workload and WorkloadFile are both given: leave one of them out");
  }
  const std::string file = !options.workload.empty() ? options.workload
                           : !named.empty()          ? Beside(options.kernel, named)
                                                     : std::string();
  if (!file.empty()) {
    text = MLC_TRY(ReadText(file));
    where = "'" + file + "'";
  }
  if (text.empty()) {
    // The results that stand in files belong to inputs that stand in files. Workers draw new inputs
    // for every check, or a kernel could pass that is right for these alone.
    const bool has_results = kernel.contains("ReferenceArguments");
    return InvalidArgument(
        options.kernel +
        (has_results ? ": ReferenceArguments have the results of one set of inputs, "
                       "while workers check on random inputs; "
                     : ": ") +
        "what the kernel computes is not said: give --workload FILE, or Workload or WorkloadFile "
        "in KernelSpecification (docs/reference/kernel-spec.md)");
  }
  Result<graph::Workload> workload = graph::Workload::Parse(text);
  if (!workload.ok()) return workload.status().WithPrefix(where);
  return workload;
}

}  // namespace

Result<KernelFile> ReadKernelFile(const TuneOptions& options) {
  const std::string& file = options.kernel;
  const std::string text = MLC_TRY(ReadText(file));
  const bool is_toml = std::filesystem::path(file).extension() == ".toml";
  const Result<std::string> as_json = is_toml ? settings::JsonOfToml(text) : text;
  if (!as_json.ok()) return as_json.status().WithPrefix("'" + file + "'");
  Json json;
  MLC_TRY(ParseJson(*as_json, json).WithPrefix("'" + file + "'"));
  if (!json.is_object() || !json.contains("KernelSpecification") ||
      !json["KernelSpecification"].is_object()) {
    return InvalidArgument("'" + file + "': KernelSpecification: an object is needed");
  }
  Json& kernel = json["KernelSpecification"];
  // The text of a specification (KernelSpec::ToText) has both: the file is a name there.
  const std::string source = TextOf(kernel, "KernelFile");
  if (!source.empty() && TextOf(kernel, "Source").empty())
    kernel["Source"] = MLC_TRY(ReadText(Beside(file, source)));
  Result<schedule::KernelSpec> spec =
      schedule::KernelSpec::Parse(json.dump(-1, ' ', false, Json::error_handler_t::replace));
  if (!spec.ok()) return spec.status().WithPrefix("'" + file + "'");
  KernelFile read;
  graph::Workload workload = MLC_TRY(WorkloadOf(options, kernel));
  const Status fits = schedule::CheckArguments(*spec, workload);
  if (!fits.ok()) return fits.WithPrefix("'" + file + "'");
  read.tasks.Add("", {{std::move(workload), 1, spec->kernel_name()}});
  const Result<schedule::TunedKernel> kernel_space = schedule::TunedKernel::Open(*spec);
  if (!kernel_space.ok()) return kernel_space.status().WithPrefix("'" + file + "'");
  read.spec = *std::move(spec);
  return read;
}

Status CheckKernelTarget(const schedule::KernelSpec& spec, const TuneOptions& options,
                         const target::Target& target) {
  const bool is_c = spec.language() == schedule::KernelLanguage::kC;
  if (is_c != (target.As<target::CpuTarget>() != nullptr)) {
    return FailedPrecondition("'" + options.kernel + "' is in " + (is_c ? "C" : "CUDA") +
                              ", which runs on a " +
                              (is_c ? "CPU: --target cpu" : "GPU: --target cuda"));
  }
  if (!is_c || !options.server.empty()) return Status();
  const Result<std::string> compiler = build::FindCCompiler();
  return compiler.ok() ? Status() : FailedPrecondition(compiler.status().message());
}

Result<std::string> TargetOfKernel(const TuneOptions& options) {
  const KernelFile file = MLC_TRY(ReadKernelFile(options));
  return std::string(file.spec.language() == schedule::KernelLanguage::kC ? "cpu" : "cuda");
}

}  // namespace mlc::client
