#include "compiler/package/elf_object.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <utility>

#include "base/check.h"

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

// Lays out the parts of one object and writes them in order.
class ElfObject::Writer {
 public:
  explicit Writer(const ElfObject& object)
      : object_(object), x86_(object.machine_ == "x86_64"), relocations_(object.sections_.size()) {
    MLC_CHECK(x86_ || object.machine_ == "aarch64") << object.machine_;
    AddSymbols();
    AddRelocations();
    AddContents();
    AddRelocationTables();
    AddSymbolTables();
    PlaceChunks();
  }

  Status WriteTo(const std::string& path) const {
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    const Elf64_Ehdr header = Header();
    out.write(reinterpret_cast<const char*>(&header), sizeof(header));
    for (const Chunk& chunk : chunks_) {
      PadTo(chunk.header.sh_offset, out);
      if (chunk.file != nullptr) {
        MLC_TRY(CopyFile(*chunk.file, static_cast<int64_t>(chunk.header.sh_size), out));
      } else if (chunk.bytes != nullptr) {
        out.write(chunk.bytes->data(), static_cast<std::streamsize>(chunk.bytes->size()));
      }
    }
    PadTo(headers_at_, out);
    const Elf64_Shdr null_section = {};
    out.write(reinterpret_cast<const char*>(&null_section), sizeof(null_section));
    for (const Chunk& chunk : chunks_) {
      out.write(reinterpret_cast<const char*>(&chunk.header), sizeof(chunk.header));
    }
    out.close();
    if (!out) return Unwritable("cannot write '" + path + "'");
    return {};
  }

 private:
  // The null symbol, then defined and undefined globals.
  void AddSymbols() {
    symbol_table_.assign(sizeof(Elf64_Sym), '\0');
    for (const Symbol& symbol : object_.symbols_) AddSymbol(symbol);
    for (const Pointer& p : object_.pointers_) {
      if (!index_of_.contains(p.symbol)) AddSymbol({p.symbol, -1, 0, 0, false});
    }
  }

  void AddSymbol(const Symbol& symbol) {
    Elf64_Sym entry = {};
    entry.st_name = symbol_names_.Add(symbol.name);
    entry.st_info = ELF64_ST_INFO(STB_GLOBAL, symbol.section < 0 ? STT_NOTYPE : STT_OBJECT);
    entry.st_other = symbol.hidden ? STV_HIDDEN : STV_DEFAULT;
    entry.st_shndx = symbol.section < 0 ? SHN_UNDEF : static_cast<Elf64_Half>(symbol.section + 1);
    entry.st_value = static_cast<Elf64_Addr>(symbol.offset);
    entry.st_size = static_cast<Elf64_Xword>(symbol.size);
    index_of_[symbol.name] = static_cast<uint32_t>(symbol_table_.size() / sizeof(Elf64_Sym));
    Append(symbol_table_, entry);
  }

  // One table per section that holds pointers.
  void AddRelocations() {
    const Elf64_Xword type = x86_ ? R_X86_64_64 : R_AARCH64_ABS64;
    for (const Pointer& p : object_.pointers_) {
      Elf64_Rela entry = {};
      entry.r_offset = static_cast<Elf64_Addr>(p.offset);
      entry.r_info = ELF64_R_INFO(static_cast<Elf64_Xword>(index_of_[p.symbol]), type);
      entry.r_addend = p.addend;
      Append(relocations_[static_cast<size_t>(p.section)], entry);
    }
  }

  Chunk& AddChunk(const std::string& name, Elf64_Word type, int64_t alignment,
                  const std::string* bytes) {
    Chunk chunk;
    chunk.header.sh_name = section_names_.Add(name);
    chunk.header.sh_type = type;
    chunk.header.sh_addralign = static_cast<Elf64_Xword>(alignment);
    chunk.header.sh_size = bytes == nullptr ? 0 : bytes->size();
    chunk.bytes = bytes;
    chunks_.push_back(chunk);
    return chunks_.back();
  }

  void AddContents() {
    for (const Section& section : object_.sections_) {
      Chunk& chunk = AddChunk((section.relocated ? ".data.rel.ro." : ".rodata.") + section.name,
                              SHT_PROGBITS, kAlignment, &section.bytes);
      chunk.header.sh_flags = SHF_ALLOC | (section.relocated ? SHF_WRITE : 0);
      chunk.header.sh_size = static_cast<Elf64_Xword>(section.size);
      if (!section.file.empty()) chunk.file = &section.file;
    }
  }

  void AddRelocationTables() {
    const auto tables =
        static_cast<size_t>(std::count_if(relocations_.begin(), relocations_.end(),
                                          [](const std::string& table) { return !table.empty(); }));
    const size_t symbols_at = 1 + chunks_.size() + tables;
    for (size_t i = 0; i < relocations_.size(); ++i) {
      if (relocations_[i].empty()) continue;
      Chunk& chunk = AddChunk(".rela" + std::to_string(i), SHT_RELA, 8, &relocations_[i]);
      chunk.header.sh_flags = SHF_INFO_LINK;
      chunk.header.sh_link = static_cast<Elf64_Word>(symbols_at);
      chunk.header.sh_info = static_cast<Elf64_Word>(i + 1);
      chunk.header.sh_entsize = sizeof(Elf64_Rela);
    }
  }

  void AddSymbolTables() {
    Chunk& symbols = AddChunk(".symtab", SHT_SYMTAB, 8, &symbol_table_);
    symbols.header.sh_info = 1;  // every symbol but the null one is global
    symbols.header.sh_entsize = sizeof(Elf64_Sym);
    symbols.header.sh_link = static_cast<Elf64_Word>(chunks_.size() + 1);
    AddChunk(".strtab", SHT_STRTAB, 1, &symbol_names_.bytes());
    // An empty section of this name says that the stack need not be executable.
    AddChunk(".note.GNU-stack", SHT_PROGBITS, 1, nullptr);
    // Its own name is in it: the size is known afterwards only.
    Chunk& names = AddChunk(".shstrtab", SHT_STRTAB, 1, &section_names_.bytes());
    names.header.sh_size = section_names_.bytes().size();
  }

  void PlaceChunks() {
    uint64_t end = sizeof(Elf64_Ehdr);
    for (Chunk& chunk : chunks_) {
      const uint64_t align = chunk.header.sh_addralign;
      chunk.header.sh_offset = (end + align - 1) / align * align;
      end = chunk.header.sh_offset + chunk.header.sh_size;
    }
    headers_at_ = (end + 7) / 8 * 8;
  }

  Elf64_Ehdr Header() const {
    Elf64_Ehdr header = {};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_REL;
    header.e_machine = x86_ ? EM_X86_64 : EM_AARCH64;
    header.e_version = EV_CURRENT;
    header.e_shoff = headers_at_;
    header.e_ehsize = sizeof(Elf64_Ehdr);
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<Elf64_Half>(chunks_.size() + 1);
    header.e_shstrndx = static_cast<Elf64_Half>(chunks_.size());
    return header;
  }

  static void PadTo(uint64_t offset, std::ofstream& out) {
    for (auto at = static_cast<uint64_t>(out.tellp()); at < offset; ++at) out.put('\0');
  }

  const ElfObject& object_;
  const bool x86_;
  Names symbol_names_;
  Names section_names_;
  std::string symbol_table_;
  std::map<std::string, uint32_t, std::less<>> index_of_;
  std::vector<std::string> relocations_;  // by section
  std::vector<Chunk> chunks_;             // of section index + 1
  uint64_t headers_at_ = 0;
};

Status ElfObject::WriteTo(const std::string& path) const { return Writer(*this).WriteTo(path); }

}  // namespace mlc::package
