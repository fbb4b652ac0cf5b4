// Resolves --target: this machine's CPU, one of its GPUs, a known GPU, or any device by its text. A
// child process asks the CUDA driver; this process never initialises it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "compiler/runtime/cuda_driver.h"
#include "compiler/target/target.h"

namespace mlc::client {

// Accepts cpu; cuda (GPU 0) or cuda:N, as the driver counts the GPUs that CUDA_VISIBLE_DEVICES
// shows; h200; "target v1 ...". `threads`: of kernels for the CPU. UNAVAILABLE, with what to do, if
// there is no such GPU; INVALID_ARGUMENT for another text.
Result<target::Target> ChooseTarget(
    const std::string& text, int threads,
    std::string_view without_gpu = "--target takes h200 or a target's text");

// Describes a GPU as a target. INVALID_ARGUMENT if no kernels can be generated for it.
Result<target::Target> TargetOf(const mlc_cuda_device_facts& facts);

// Returns N of "cuda:N" and 0 of "cuda", a GPU as the driver counts; empty for another text.
std::optional<int> OrdinalOf(std::string_view text);

// True for the words that mean a device of this machine.
bool IsLocalTarget(const std::string& text);

// The help text of --target.
std::string TargetHelp();

}  // namespace mlc::client
