// A lock file pins the kernel of every task of a build, so that the same model and lock file give
// the same bytes, offline and forever. Text:
//   mlc lock v1
//   target target v1 cpu arch=x86_64 ...           the class text, once
//   task <workload digest> <origin> <expected ns> <config text>
//   newer <workload digest> <config text>          of the task's substitute, where it has one
// A value.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "base/status.h"
#include "compiler/package/library.h"

namespace mlc::package {

struct LockFile {
  std::string target_class;
  std::map<Digest, Choice> choices;  // by workload

  std::string ToText() const;
  // INVALID_ARGUMENT with the line; FAILED_PRECONDITION for a newer version.
  static Result<LockFile> Parse(std::string_view text);
};

}  // namespace mlc::package
