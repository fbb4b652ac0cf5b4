#include "client/model_variants.h"

#include <algorithm>
#include <map>
#include <utility>

namespace mlc::client {
namespace {

// A pass without which a model is executed in another way.
struct Choice {
  const char* pass;
  const char* name;
  const char* difference;
};
constexpr Choice kMerge = {"merge_siblings", "products apart", "products of one value stay apart"};

bool HasChanged(const front::PassTrace& trace, std::string_view pass) {
  return std::any_of(trace.entries.begin(), trace.entries.end(),
                     [&](const auto& entry) { return entry.changed && entry.pass == pass; });
}

}  // namespace

std::vector<ModelVariant> VariantsOf(const front::PassTrace& trace) {
  std::vector<ModelVariant> variants = {{"fused", "", {}}};
  if (HasChanged(trace, kMerge.pass)) {
    variants.push_back({kMerge.name, kMerge.difference, {kMerge.pass}});
  }
  return variants;
}

front::FrontOptions OptionsFor(front::FrontOptions usual, const ModelVariant& variant) {
  usual.skip.insert(variant.skip.begin(), variant.skip.end());
  usual.print = nullptr;
  return usual;
}

void ModelTasks::Add(const std::string& variant, const std::vector<graph::Task>& its_tasks) {
  std::map<Digest, size_t> places;
  for (size_t i = 0; i < tasks.size(); ++i) places[tasks[i].workload.digest()] = i;
  for (ModelTask& task : tasks) task.uses.push_back(0);
  variants.push_back(variant);
  for (const graph::Task& task : its_tasks) {
    const auto [place, is_new] = places.try_emplace(task.workload.digest(), tasks.size());
    if (is_new) {
      tasks.push_back({task.workload, task.label, std::vector<int>(variants.size(), 0)});
    }
    tasks[place->second].uses.back() += task.occurrences;
  }
}

Result<ModelTasks> TasksOfModel(front::Model model, const front::FrontOptions& options) {
  ModelTasks all;
  front::PassTrace trace;
  // The tasks alone: a program may hold weights of its own.
  std::vector<graph::Task> tasks = MLC_TRY(front::CompileModel(model, options, &trace)).tasks;
  for (const ModelVariant& variant : VariantsOf(trace)) {
    if (!all.variants.empty()) {
      tasks = MLC_TRY(front::CompileModel(model, OptionsFor(options, variant))).tasks;
    }
    all.Add(variant.name, tasks);
  }
  return all;
}

}  // namespace mlc::client
