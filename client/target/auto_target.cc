#include "client/target/auto_target.h"

#include <dlfcn.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "client/target/answering_child.h"
#include "client/target/target_choice.h"
#include "compiler/backend/backend.h"
#include "compiler/build/cupti_places.h"
#include "compiler/build/nvrtc.h"
#include "compiler/runtime/cuda_driver.h"

namespace mlc::client {
namespace {

constexpr char kNoCupti[] =
    "is there, but CUPTI, which times kernels, was not found: install the CUDA toolkit's or the "
    "Python wheel nvidia-cuda-cupti and give --cuda-home";

// Of "no driver: X cannot be opened; install it", what is wrong.
std::string FirstClause(const std::string& text) { return text.substr(0, text.find(';')); }

std::string FoundCupti(const std::string& cuda_home) {
  for (const std::string& place : build::CuptiCandidates(cuda_home)) {
    if (dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) return place;
  }
  return {};
}

// In the child, a line each: "+" and the target's text or "-" and what is wrong, the GPU's name,
// "+" and the version of NVRTC or "-" and what is wrong, the file of CUPTI.
std::string AskMachine(const std::string& cuda_home) {
  mlc_cuda cuda;
  char error[512];
  if (mlc_cuda_open(&cuda, error, sizeof(error)) != 0) return std::string("-") + error + "\n";
  mlc_cuda_device_facts facts;
  if (const int result = mlc_cuda_query_device(&cuda, 0, &facts); result != 0) {
    mlc_cuda_error_text(&cuda, result, error, sizeof(error));
    return std::string("-GPU 0 does not answer: ") + error + "\n";
  }
  const Result<target::Target> target = TargetOf(facts);
  if (!target.ok()) return "-" + target.status().message() + "\n";
  const auto nvrtc = build::Nvrtc::Open(cuda_home);
  return "+" + target->ToText() + "\n" + facts.name + "\n" +
         (nvrtc.ok() ? "+" + (*nvrtc)->version() : "-" + nvrtc.status().message()) + "\n" +
         FoundCupti(cuda_home) + "\n";
}

using Classes = std::map<std::string, target::Target>;

Classes ClassesOf(const std::vector<std::string>& texts, int threads) {
  Classes classes;
  for (const std::string& text : texts) {
    const Result<target::Target> target = target::Target::Parse(text);
    if (!target.ok()) continue;
    const auto* cpu = target->As<target::CpuTarget>();
    if (threads > 0 && cpu != nullptr && cpu->threads != threads) continue;
    const Result<target::Target> of_class = target::Target::Parse(target->ClassText());
    if (of_class.ok()) classes.emplace(target->ClassText(), *of_class);
  }
  return classes;
}

// A device of this machine whose class is among them, GPUs first.
std::optional<AutoTarget> OfMachine(const Classes& classes, const Machine& machine,
                                    const std::string& reason) {
  if (machine.gpu.ok() && classes.contains(machine.gpu->ClassText())) {
    return AutoTarget{*machine.gpu, "cuda", reason + " this machine's GPU, " + machine.gpu_name};
  }
  if (classes.contains(machine.cpu.ClassText())) {
    return AutoTarget{machine.cpu, "cpu", reason + " this machine's CPU"};
  }
  return std::nullopt;
}

AutoTarget OfClass(const target::Target& target, std::string reason) {
  return {target, target.ClassText(), std::move(reason)};
}

}  // namespace

Machine LookAtMachine(int threads, const std::string& cuda_home) {
  Machine machine{target::DetectHost(threads),
                  Unavailable("the NVIDIA driver does not answer"),
                  {},
                  {},
                  {},
                  {}};
  std::istringstream answer(AnswerOfChild([&] { return AskMachine(cuda_home); }));
  std::string line;
  if (!std::getline(answer, line) || line.empty()) return machine;
  machine.gpu = line[0] == '+' ? target::Target::Parse(line.substr(1))
                               : Result<target::Target>(Unavailable(line.substr(1)));
  std::getline(answer, machine.gpu_name);
  if (std::getline(answer, line) && !line.empty()) {
    (line[0] == '+' ? machine.nvrtc : machine.nvrtc_failure) = line.substr(1);
  }
  std::getline(answer, machine.cupti);
  return machine;
}

AutoTarget ChooseForMachine(const Machine& machine, Work work) {
  const auto cpu = [&](const std::string& reason) {
    return AutoTarget{machine.cpu, "cpu", reason};
  };
  if (!machine.gpu.ok()) return cpu(FirstClause(machine.gpu.status().message()));
  if (machine.nvrtc.empty()) {
    return cpu(machine.gpu_name + " is there, but " + FirstClause(machine.nvrtc_failure));
  }
  const std::string found = machine.gpu_name + ", NVRTC " + machine.nvrtc;
  if (work == Work::kCompile) return {*machine.gpu, "cuda", found};
  if (machine.cupti.empty()) return cpu(machine.gpu_name + " " + kNoCupti);
  return {*machine.gpu, "cuda", found + ", CUPTI found"};
}

AutoTarget ChooseAmongRecords(const std::vector<std::string>& texts, const Machine& machine,
                              int threads, const std::string& where) {
  const Classes classes = ClassesOf(texts, threads);
  if (auto own = OfMachine(classes, machine, where + " has records of")) return *std::move(own);
  if (classes.size() == 1) {
    return OfClass(classes.begin()->second, where + " has records of this class alone");
  }
  AutoTarget chosen = ChooseForMachine(machine, Work::kCompile);
  chosen.reason += classes.empty() ? "; " + where + " has no records"
                                   : "; " + where + " has records of " +
                                         std::to_string(classes.size()) + " other classes";
  return chosen;
}

Result<AutoTarget> ChooseAmongWorkers(const std::vector<std::string>& texts, const Machine& machine,
                                      int threads) {
  const Classes classes = ClassesOf(texts, threads);
  if (classes.empty()) {
    AutoTarget chosen = ChooseForMachine(machine, Work::kCompile);
    chosen.reason += "; the server has no such workers at present";
    return chosen;
  }
  Classes kind;
  std::string_view devices;
  for (const backend::Backend& row : backend::Backends()) {
    Classes of_row;
    for (const auto& [text, target] : classes) {
      if (&backend::BackendOf(target) == &row) of_row.emplace(text, target);
    }
    if (of_row.empty()) continue;
    kind = std::move(of_row);
    devices = row.plural;
  }
  if (auto own = OfMachine(kind, machine, "the server has workers like")) return *std::move(own);
  if (kind.size() == 1) {
    return OfClass(kind.begin()->second, "the server's only class of " + std::string(devices));
  }
  std::string list;
  for (const auto& [text, target] : kind) list += "\n  --target '" + text + "'";
  return InvalidArgument("the server has workers of several classes: give one of" + list);
}

}  // namespace mlc::client
