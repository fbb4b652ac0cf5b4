#include "compiler/package/elf_object.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <utility>

#include "compiler/base/check.h"

namespace mlc::package {

namespace {

constexpr int64_t kAlignment = 64;

template <typename T>
void Append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// A string table that starts with the empty name.
class Names {
 public:
  Elf64_Word Add(std::string_view name) {
    const size_t offset = bytes_.size();
    bytes_.append(name).push_back('\0');
    return static_cast<Elf64_Word>(offset);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_ = std::string(1, '\0');
};

// What goes into the file after the header, in order.
struct Chunk {
  Elf64_Shdr header = {};
  const std::string* bytes = nullptr;
  const std::string* file = nullptr;
};

Status CopyFile(const std::string& path, int64_t size, std::ofstream& out) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return NotFound("cannot read '" + path + "'");
  std::vector<char> block(1 << 20);
  int64_t left = size;
  while (left > 0) {
    const auto want = static_cast<std::streamsize>(std::min<int64_t>(left, block.size()));
    if (!in.read(block.data(), want)) return DataLoss("'" + path + "' is shorter than expected");
    out.write(block.data(), want);
    left -= want;
  }
  return {};
}

}  // namespace

int ElfObject::AddSection(std::string name, std::string bytes, bool relocated) {
  const auto size = static_cast<int64_t>(bytes.size());
  sections_.push_back({std::move(name), std::move(bytes), "", size, relocated});
  return static_cast<int>(sections_.size()) - 1;
}

int ElfObject::AddFileSection(std::string name, std::string path, int64_t size) {
  sections_.push_back({std::move(name), "", std::move(path), size, false});
  return static_cast<int>(sections_.size()) - 1;
}

void ElfObject::Define(std::string symbol, int section, int64_t offset, int64_t size, bool hidden) {
  symbols_.push_back({std::move(symbol), section, offset, size, hidden});
}

void ElfObject::Point(int section, int64_t offset, std::string_view symbol, int64_t addend) {
  pointers_.push_back({section, offset, std::string(symbol), addend});
}

Status ElfObject::WriteTo(const std::string& path) const {
  MLC_CHECK(machine_ == "x86_64" || machine_ == "aarch64") << machine_;
  const bool x86 = machine_ == "x86_64";
  const Elf64_Xword pointer_type = x86 ? R_X86_64_64 : R_AARCH64_ABS64;

  // Symbols: the null symbol, then defined and undefined globals.
  Names symbol_names;
  std::string symbol_table(sizeof(Elf64_Sym), '\0');
  std::map<std::string, uint32_t, std::less<>> index_of;
  auto add_symbol = [&](const Symbol& s) {
    Elf64_Sym entry = {};
    entry.st_name = symbol_names.Add(s.name);
    entry.st_info = ELF64_ST_INFO(STB_GLOBAL, s.section < 0 ? STT_NOTYPE : STT_OBJECT);
    entry.st_other = s.hidden ? STV_HIDDEN : STV_DEFAULT;
    entry.st_shndx = s.section < 0 ? SHN_UNDEF : static_cast<Elf64_Half>(s.section + 1);
    entry.st_value = static_cast<Elf64_Addr>(s.offset);
    entry.st_size = static_cast<Elf64_Xword>(s.size);
    index_of[s.name] = static_cast<uint32_t>(symbol_table.size() / sizeof(Elf64_Sym));
    Append(symbol_table, entry);
  };
  for (const Symbol& s : symbols_) add_symbol(s);
  for (const Pointer& p : pointers_) {
    if (!index_of.contains(p.symbol)) add_symbol({p.symbol, -1, 0, 0, false});
  }

  // Relocations, one table per section that needs one.
  std::vector<std::string> relocations(sections_.size());
  for (const Pointer& p : pointers_) {
    Elf64_Rela entry = {};
    entry.r_offset = static_cast<Elf64_Addr>(p.offset);
    entry.r_info = ELF64_R_INFO(static_cast<Elf64_Xword>(index_of[p.symbol]), pointer_type);
    entry.r_addend = p.addend;
    Append(relocations[static_cast<size_t>(p.section)], entry);
  }

  Names section_names;
  std::vector<Chunk> chunks;
  for (const Section& s : sections_) {
    Chunk chunk;
    chunk.header.sh_name = section_names.Add((s.relocated ? ".data.rel.ro." : ".rodata.") + s.name);
    chunk.header.sh_type = SHT_PROGBITS;
    chunk.header.sh_flags = SHF_ALLOC | (s.relocated ? SHF_WRITE : 0);
    chunk.header.sh_size = static_cast<Elf64_Xword>(s.size);
    chunk.header.sh_addralign = kAlignment;
    (s.file.empty() ? chunk.bytes : chunk.file) = s.file.empty() ? &s.bytes : &s.file;
    chunks.push_back(chunk);
  }
  const auto table_count = static_cast<size_t>(std::count_if(
      relocations.begin(), relocations.end(), [](const auto& r) { return !r.empty(); }));
  const size_t symbols_at = 1 + sections_.size() + table_count;
  for (size_t i = 0; i < relocations.size(); ++i) {
    if (relocations[i].empty()) continue;
    Chunk chunk;
    chunk.header.sh_name = section_names.Add(".rela" + std::to_string(i));
    chunk.header.sh_type = SHT_RELA;
    chunk.header.sh_flags = SHF_INFO_LINK;
    chunk.header.sh_size = relocations[i].size();
    chunk.header.sh_link = static_cast<Elf64_Word>(symbols_at);
    chunk.header.sh_info = static_cast<Elf64_Word>(i + 1);
    chunk.header.sh_entsize = sizeof(Elf64_Rela);
    chunk.header.sh_addralign = 8;
    chunk.bytes = &relocations[i];
    chunks.push_back(chunk);
  }
  Chunk symbols;
  symbols.header.sh_name = section_names.Add(".symtab");
  symbols.header.sh_type = SHT_SYMTAB;
  symbols.header.sh_size = symbol_table.size();
  symbols.header.sh_link = static_cast<Elf64_Word>(symbols_at + 1);
  symbols.header.sh_info = 1;  // every symbol but the null one is global
  symbols.header.sh_entsize = sizeof(Elf64_Sym);
  symbols.header.sh_addralign = 8;
  symbols.bytes = &symbol_table;
  chunks.push_back(symbols);
  auto add_strings = [&](const char* name, const std::string* bytes) {
    Chunk strings;
    strings.header.sh_name = section_names.Add(name);
    strings.header.sh_type = SHT_STRTAB;
    strings.header.sh_addralign = 1;
    strings.bytes = bytes;
    chunks.push_back(strings);
  };
  add_strings(".strtab", &symbol_names.bytes());
  // An empty section of this name says that the stack need not be executable.
  Chunk stack;
  stack.header.sh_name = section_names.Add(".note.GNU-stack");
  stack.header.sh_type = SHT_PROGBITS;
  stack.header.sh_addralign = 1;
  const std::string empty;
  stack.bytes = &empty;
  chunks.push_back(stack);
  add_strings(".shstrtab", &section_names.bytes());
  chunks.back().header.sh_size = section_names.bytes().size();
  chunks[chunks.size() - 3].header.sh_size = symbol_names.bytes().size();

  int64_t end = sizeof(Elf64_Ehdr);
  for (Chunk& chunk : chunks) {
    const auto align = static_cast<int64_t>(chunk.header.sh_addralign);
    end = (end + align - 1) / align * align;
    chunk.header.sh_offset = static_cast<Elf64_Off>(end);
    end += static_cast<int64_t>(chunk.header.sh_size);
  }
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = x86 ? EM_X86_64 : EM_AARCH64;
  header.e_version = EV_CURRENT;
  header.e_shoff = static_cast<Elf64_Off>((end + 7) / 8 * 8);
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(chunks.size() + 1);
  header.e_shstrndx = static_cast<Elf64_Half>(chunks.size());

  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  auto pad_to = [&](uint64_t offset) {
    for (auto at = static_cast<uint64_t>(out.tellp()); at < offset; ++at) out.put('\0');
  };
  out.write(reinterpret_cast<const char*>(&header), sizeof(header));
  for (const Chunk& chunk : chunks) {
    pad_to(chunk.header.sh_offset);
    if (chunk.file != nullptr) {
      MLC_TRY(CopyFile(*chunk.file, static_cast<int64_t>(chunk.header.sh_size), out));
    } else {
      out.write(chunk.bytes->data(), static_cast<std::streamsize>(chunk.bytes->size()));
    }
  }
  pad_to(header.e_shoff);
  const Elf64_Shdr null_section = {};
  out.write(reinterpret_cast<const char*>(&null_section), sizeof(null_section));
  for (const Chunk& chunk : chunks) {
    out.write(reinterpret_cast<const char*>(&chunk.header), sizeof(chunk.header));
  }
  out.close();
  if (!out) return Status(StatusCode::kAlreadyExists, "cannot write '" + path + "'");
  return {};
}

}  // namespace mlc::package
