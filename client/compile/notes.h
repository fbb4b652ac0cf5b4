// What mlc-compile says on standard error while it works, and notes beside its log. Thread-safe.
#pragma once

#include <string>

#include "client/compile/compile_options.h"
#include "client/compile/variants.h"
#include "compiler/front/front.h"
#include "compiler/package/library.h"

namespace mlc::client {

// Notes of the passes; with --verbose, the time of each pass, too.
void SayNotes(const CompileOptions& options, const front::PassTrace& trace);

// Why the cache of device code in `folder` was of no use; with --verbose, how much it gave. An
// empty folder: there is no cache.
void SayCache(const CompileOptions& options, const std::string& folder,
              const package::LibraryReport& written);

// For people and idle servers, what the log lacks (untuned_tasks.h). The build does not fail for
// it.
void NoteUntuned(const CompileOptions& options, const Variant& variant,
                 const target::Target& target);

}  // namespace mlc::client
