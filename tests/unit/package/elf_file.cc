#include "tests/unit/package/elf_file.h"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <iterator>

namespace mlc::package {

namespace {

template <typename T>
T At(const std::string& bytes, uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

void ReadSymbols(const std::string& bytes, const Elf64_Shdr& table, const Elf64_Shdr& names,
                 bool dynamic, ElfFile& file) {
  for (uint64_t i = 1; i < table.sh_size / sizeof(Elf64_Sym); ++i) {
    const auto symbol = At<Elf64_Sym>(bytes, table.sh_offset + i * sizeof(Elf64_Sym));
    const std::string name = bytes.data() + names.sh_offset + symbol.st_name;
    if (!dynamic) {
      file.symbols.insert(name);
      const bool global = ELF64_ST_BIND(symbol.st_info) != STB_LOCAL;
      if (global && symbol.st_shndx != SHN_UNDEF) file.globals.insert(name);
    } else if (symbol.st_shndx == SHN_UNDEF) {
      file.imported.insert(name);
    } else {
      file.exported.insert(name);
    }
  }
}

void ReadNeeded(const std::string& bytes, const Elf64_Shdr& table, const Elf64_Shdr& names,
                ElfFile& file) {
  for (uint64_t at = 0; at < table.sh_size; at += sizeof(Elf64_Dyn)) {
    const auto entry = At<Elf64_Dyn>(bytes, table.sh_offset + at);
    if (entry.d_tag == DT_NEEDED) {
      file.needed.emplace_back(bytes.data() + names.sh_offset + entry.d_un.d_val);
    }
  }
}

}  // namespace

std::string ReadBytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

ElfFile ReadElf(const std::string& path) {
  const std::string bytes = ReadBytes(path);
  ElfFile file;
  const auto header = At<Elf64_Ehdr>(bytes, 0);
  file.type = header.e_type;
  file.machine = header.e_machine;
  std::vector<Elf64_Shdr> sections;
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    sections.push_back(At<Elf64_Shdr>(bytes, header.e_shoff + i * sizeof(Elf64_Shdr)));
  }
  for (const Elf64_Shdr& section : sections) {
    file.sections.emplace_back(bytes.data() + sections[header.e_shstrndx].sh_offset +
                               section.sh_name);
    const Elf64_Shdr& linked = sections[section.sh_link];
    if (section.sh_type == SHT_DYNSYM) ReadSymbols(bytes, section, linked, true, file);
    if (section.sh_type == SHT_SYMTAB) ReadSymbols(bytes, section, linked, false, file);
    if (section.sh_type == SHT_DYNAMIC) ReadNeeded(bytes, section, linked, file);
  }
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    const auto segment = At<Elf64_Phdr>(bytes, header.e_phoff + i * sizeof(Elf64_Phdr));
    const auto both = static_cast<Elf64_Word>(PF_W | PF_X);
    if (segment.p_type == PT_LOAD) file.loaded_bytes += static_cast<int64_t>(segment.p_memsz);
    const bool counts = segment.p_type == PT_LOAD || segment.p_type == PT_GNU_STACK;
    if (counts && (segment.p_flags & both) == both) file.writable_and_executable = true;
  }
  return file;
}

}  // namespace mlc::package
