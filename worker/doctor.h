// Says what this machine offers a worker, and what is in its way.
#pragma once

#include <string>

#include "compiler/target/target.h"

namespace mlc::worker {

struct Diagnosis {
  std::string report;  // lines for people
  bool usable = true;  // false: the worker refuses to start
};
Diagnosis Diagnose(const target::Target& target);

}  // namespace mlc::worker
