// What --target names: the CPU at hand, a GPU at hand, a known GPU, or any device by its
// text. The CUDA driver is asked in a child process: this one never initialises it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "compiler/runtime/cuda_driver.h"
#include "compiler/target/target.h"

namespace mlc::client {

// cpu; cuda (GPU 0) or cuda:N, as the driver counts those that CUDA_VISIBLE_DEVICES shows; h200;
// "target v1 ...". `threads`: of kernels for the CPU. UNAVAILABLE when there is no such GPU,
// with what to do then; INVALID_ARGUMENT for another text.
Result<target::Target> ChooseTarget(
    const std::string& text, int threads,
    std::string_view without_gpu = "--target takes h200 or a target's text");

// A GPU as a target. INVALID_ARGUMENT for one that kernels cannot be made for.
Result<target::Target> TargetOf(const mlc_cuda_device_facts& facts);

// N of "cuda:N", and 0 of "cuda": a GPU as the driver counts; nothing for another text.
std::optional<int> OrdinalOf(std::string_view text);

// True for the words that mean a device of this machine.
bool IsLocalTarget(const std::string& text);

// What --help says of --target.
std::string TargetHelp();

}  // namespace mlc::client
