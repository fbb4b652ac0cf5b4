#include "client/model/model_variants.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "client/model/sized_model.h"
#include "compiler/backend/backend.h"
#include "compiler/graph/physical/build_program.h"

namespace mlc::client {
namespace {

// A pass without which a model is executed in another way.
struct Rewrite {
  std::string_view pass;
  const char* name;   // of what stays apart without it
  const char* words;  // the same with more of them
};
constexpr Rewrite kRewrites[] = {
    {"merge_siblings", "products", "products of one value"},
    {graph::kFuseResiduals, "sums", "residual sums"},
};

bool HasChanged(const front::PassTrace& trace, std::string_view pass) {
  return std::any_of(trace.entries.begin(), trace.entries.end(),
                     [&](const auto& entry) { return entry.changed && entry.pass == pass; });
}

// `variant` and what `rewrite` does left out, too.
ModelVariant Without(const ModelVariant& variant, const Rewrite& rewrite) {
  if (variant.skip.empty()) {
    return {std::string(rewrite.name) + " apart",
            std::string(rewrite.words) + " stay apart",
            {std::string(rewrite.pass)}};
  }
  ModelVariant more = variant;
  more.name = std::string(rewrite.name) + " and " + variant.name;
  more.difference = std::string(rewrite.words) + " and " + variant.difference;
  more.skip.emplace(rewrite.pass);
  return more;
}

}  // namespace

std::vector<ModelVariant> VariantsOf(const front::PassTrace& trace, const target::Target& target) {
  const auto apart = backend::BackendOf(target).passes_apart;
  std::vector<ModelVariant> variants = {{"fused", "", {}}};
  for (const Rewrite& rewrite : kRewrites) {
    if (!HasChanged(trace, rewrite.pass) || std::ranges::find(apart, rewrite.pass) == apart.end())
      continue;
    const size_t so_far = variants.size();
    for (size_t v = 0; v < so_far; ++v) variants.push_back(Without(variants[v], rewrite));
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

Result<ModelTasks> TasksOfModel(const front::Model& model, const front::FrontOptions& options,
                                const target::Target& target) {
  ModelTasks all;
  front::PassTrace trace;
  // The tasks alone: a program may hold weights of its own.
  std::vector<graph::Task> tasks = MLC_TRY(front::CompileModel(model, options, &trace)).tasks;
  all.notes = trace.Notes();
  for (const ModelVariant& variant : VariantsOf(trace, target)) {
    if (!all.variants.empty()) {
      tasks = MLC_TRY(front::CompileModel(model, OptionsFor(options, variant))).tasks;
    }
    all.Add(variant.name, tasks);
  }
  return all;
}

namespace {

// The place of each task among those of all sizes.
class TaskPlaces {
 public:
  explicit TaskPlaces(ModelTasks& all) : all_(all) {}

  ModelTask& Of(const ModelTask& task) {
    const auto [place, is_new] = places_.try_emplace(task.workload.digest(), all_.tasks.size());
    if (is_new) {
      all_.tasks.push_back({task.workload, task.label, std::vector<int>(all_.variants.size(), 0)});
    }
    return all_.tasks[place->second];
  }

 private:
  ModelTasks& all_;
  std::map<Digest, size_t> places_;
};

void AddOnce(const std::vector<std::string>& from, std::vector<std::string>& to) {
  for (const std::string& text : from) {
    if (std::ranges::find(to, text) == to.end()) to.push_back(text);
  }
}

}  // namespace

ModelTasks TasksOfAll(const std::vector<ModelTasks>& sizes) {
  ModelTasks all;
  for (const ModelTasks& size : sizes) {
    AddOnce(size.variants, all.variants);
    AddOnce(size.notes, all.notes);
  }
  TaskPlaces places(all);
  for (const ModelTasks& size : sizes) {
    for (const ModelTask& task : size.tasks) {
      ModelTask& its = places.Of(task);
      for (size_t v = 0; v < all.variants.size(); ++v) {
        const auto own = std::ranges::find(size.variants, all.variants[v]);
        its.uses[v] += own == size.variants.end()
                           ? task.uses.front()
                           : task.uses[static_cast<size_t>(own - size.variants.begin())];
      }
    }
  }
  std::ranges::stable_partition(all.tasks, [](const auto& task) { return task.uses.front() > 0; });
  return all;
}

Result<ModelTasks> TasksOfModel(const std::string& path, const DimSizes& sizes,
                                const Constants& constants, const front::FrontOptions& options,
                                const target::Target& target) {
  SizedModel sized = MLC_TRY(SizedModel::Open(path, sizes, constants));
  std::vector<ModelTasks> all;
  for (size_t i = 0; i < sizes.combinations.size(); ++i) {
    const Result<front::Model> model = sized.Take(i);
    Result<ModelTasks> tasks =
        model.ok() ? TasksOfModel(*model, options, target) : Result<ModelTasks>(model.status());
    if (!tasks.ok()) {
      return sizes.varies() ? tasks.status().WithPrefix("with " + sizes.TextAt(i)) : tasks.status();
    }
    all.push_back(*std::move(tasks));
  }
  return all.size() == 1 ? std::move(all.front()) : TasksOfAll(all);
}

}  // namespace mlc::client
