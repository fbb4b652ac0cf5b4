#include "client/progress/model_info.h"

namespace mlc::client {

server::ModelInfo InfoOf(const ModelTasks& model) {
  server::ModelInfo info;
  info.variants = model.variants;
  info.notes = model.notes;
  for (const ModelTask& task : model.tasks) {
    info.tasks.push_back(server::InfoOf(task.workload, task.label, task.uses));
  }
  return info;
}

}  // namespace mlc::client
