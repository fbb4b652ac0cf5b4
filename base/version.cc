#include "base/version.h"

namespace mlc {

std::string VersionText(std::string_view program) {
  return std::string(program) + " " + MLC_VERSION;
}

}  // namespace mlc
