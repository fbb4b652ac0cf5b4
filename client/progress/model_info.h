// What a client knows of a model that it tunes itself. Pure; thread-safe.
#pragma once

#include "client/model/model_variants.h"
#include "server/state/job_figures.h"

namespace mlc::client {

server::ModelInfo InfoOf(const ModelTasks& model);

}  // namespace mlc::client
