#include "compiler/package/loaded_bytes.h"

#include <elf.h>

#include <cstring>
#include <fstream>

namespace mlc::package {

int64_t LoadedBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header = {};
  if (!file.read(reinterpret_cast<char*>(&header), sizeof(header)) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_shentsize != sizeof(Elf64_Shdr)) {
    return 0;
  }
  file.seekg(static_cast<std::streamoff>(header.e_shoff));
  int64_t bytes = 0;
  for (int i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section = {};
    if (!file.read(reinterpret_cast<char*>(&section), sizeof(section))) return 0;
    if ((section.sh_flags & SHF_ALLOC) != 0) bytes += static_cast<int64_t>(section.sh_size);
  }
  return bytes;
}

}  // namespace mlc::package
