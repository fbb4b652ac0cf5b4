// The report of mlc-compile about a library: each task with its kernel, the origin of the config,
// its expected time and share. Pure.
#pragma once

#include <string>
#include <vector>

#include "compiler/graph/program.h"
#include "compiler/package/library.h"
#include "compiler/package/plans.h"
#include "compiler/target/target.h"

namespace mlc::client {

struct CompileReport {
  const graph::Program& program;
  const std::vector<package::Choice>& choices;
  const target::Target& target;
  const package::LibraryReport& library;
  std::string note = "";                  // of client::Variant
  const package::Plans* sizes = nullptr;  // of a library of several sizes
};

std::string ToText(const CompileReport& report);
std::string ToJson(const CompileReport& report);

}  // namespace mlc::client
