#include "base/write_text.h"

#include <cerrno>
#include <cstring>
#include <fstream>

namespace mlc {

Status WriteText(const std::string& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  if (out) return {};
  return Unwritable("cannot write '" + path + "': " + std::strerror(errno));
}

}  // namespace mlc
