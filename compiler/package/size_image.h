// The part of a model's static tables that libraries of several sizes have: dimensions, sizes, and
// the image of each plan. Pure.
#pragma once

#include <cstdint>
#include <span>

#include "compiler/package/image_builder.h"
#include "compiler/package/plans.h"

namespace mlc::package {

// The mlc_size_table; returns its offset. `tables`: one image a plan, in their order.
int64_t AddSizeTable(ImageBuilder& builder, const Plans& plans, std::span<const ImageTable> tables);

}  // namespace mlc::package
