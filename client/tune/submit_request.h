// Builds the message that submits a job. Pure.
#pragma once

#include <string>

#include "client/model/model_variants.h"
#include "client/tune/options/tune_options.h"
#include "compiler/target/target.h"
#include "proto/tuner.pb.h"

namespace mlc::client {

// A model with one variant is submitted without variants.
proto::SubmitJobRequest SubmitRequestOf(const TuneOptions& options, const ModelTasks& model,
                                        const target::Target& target, const std::string& user);

}  // namespace mlc::client
