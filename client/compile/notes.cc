#include "client/compile/notes.h"

#include <cstdint>
#include <cstdio>

#include "client/compile/untuned_tasks.h"

namespace mlc::client {
namespace {

void PrintTrace(const front::PassTrace& trace) {
  for (const front::PassTrace::Entry& entry : trace.entries) {
    std::fprintf(stderr, "%-24s %-9s %8.2f ms %6d values\n", entry.pass.c_str(),
                 entry.changed ? "changed" : "unchanged", entry.milliseconds, entry.values);
  }
}

}  // namespace

void SayNotes(const CompileOptions& options, const front::PassTrace& trace) {
  for (const std::string& note : trace.Notes()) {
    std::fprintf(stderr, "mlc-compile: note: %s\n", note.c_str());
  }
  if (options.verbose) PrintTrace(trace);
}

void SayCache(const CompileOptions& options, const std::string& folder,
              const package::LibraryReport& written) {
  if (!written.cache_failure.empty()) {
    std::fprintf(stderr, "mlc-compile: the cache of device code is of no use: %s\n",
                 written.cache_failure.c_str());
  }
  const int64_t pieces = written.code_found + written.code_made;
  if (!options.verbose || pieces == 0) return;
  std::fprintf(stderr, "device code: %lld of %lld from the cache %s\n",
               static_cast<long long>(written.code_found), static_cast<long long>(pieces),
               folder.empty() ? "(off)" : folder.c_str());
}

void NoteUntuned(const CompileOptions& options, const Variant& variant,
                 const target::Target& target) {
  if (options.log.empty() || !options.locked.empty() || options.no_note_untuned) return;
  const Status noted = NoteUntunedTasks(options.log, variant.program, variant.choices, target);
  if (!noted.ok() && options.verbose) {
    std::fprintf(stderr, "mlc-compile: note: %s\n", noted.message().c_str());
  }
}

}  // namespace mlc::client
