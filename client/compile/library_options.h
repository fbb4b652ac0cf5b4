// What the command line of mlc-compile says about the library's files.
#pragma once

#include "client/compile/compile_options.h"
#include "compiler/package/library.h"

namespace mlc::client {

// `lookup` gives variables of the environment, for the folder of the cache of device code.
package::LibraryOptions LibraryOptionsOf(const CompileOptions& options,
                                         const settings::Lookup& lookup);

}  // namespace mlc::client
