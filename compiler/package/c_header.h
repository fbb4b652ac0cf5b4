// The text of NAME.h: declares the model's table and says its shapes and sizes. Names from the
// model do not occur in it; they are data of the library. Pure.
#pragma once

#include <span>
#include <string>

#include "compiler/package/in_place.h"
#include "compiler/package/plans.h"

namespace mlc::package {

std::string CHeader(const Plans& plans, std::span<const InPlacePair> in_place,
                    const std::string& name);

// The text of mlc_model.h, the interface all libraries share, and of mlc_sizes.h, which those of
// several sizes have beside it.
std::string SharedHeader();
std::string SizesHeader();

}  // namespace mlc::package
