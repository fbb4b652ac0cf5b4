// Writes a relocatable ELF64 object of data: sections of bytes, symbols in them, and pointers that
// the linker fills in. Used for a model's tables and weights, which hold no code. Large sections
// come from a file and are streamed, so weights never stand in memory twice. Deterministic. Not
// thread-safe. Source: System V ABI, ELF-64 object file format; relocation R_X86_64_64 and
// R_AARCH64_ABS64.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace mlc::package {

class ElfObject {
 public:
  // `machine`: x86_64 or aarch64.
  explicit ElfObject(std::string machine) : machine_(std::move(machine)) {}

  // Adds a section and returns its index. A relocated section is written as .data.rel.ro, others as
  // .rodata; all are aligned to 64 bytes.
  int AddSection(std::string name, std::string bytes, bool relocated);
  // A read-only section whose contents are a file's `size` bytes.
  int AddFileSection(std::string name, std::string path, int64_t size);
  // A defined global symbol; hidden symbols are seen by the objects linked together only.
  void Define(std::string symbol, int section, int64_t offset, int64_t size, bool hidden);
  // Sets the 8 bytes at `offset` of `section` to the address of `symbol` plus `addend`. The linker
  // resolves a symbol that is not defined here.
  void Point(int section, int64_t offset, std::string_view symbol, int64_t addend);

  // NOT_FOUND or DATA_LOSS for a section's file, UNWRITABLE when `path` cannot be written.
  Status WriteTo(const std::string& path) const;

 private:
  class Writer;
  struct Section {
    std::string name;
    std::string bytes;
    std::string file;
    int64_t size;
    bool relocated;
  };
  struct Symbol {
    std::string name;
    int section;  // -1: undefined
    int64_t offset;
    int64_t size;
    bool hidden;
  };
  struct Pointer {
    int section;
    int64_t offset;
    std::string symbol;
    int64_t addend;
  };

  std::string machine_;
  std::vector<Section> sections_;
  std::vector<Symbol> symbols_;
  std::vector<Pointer> pointers_;
};

}  // namespace mlc::package
