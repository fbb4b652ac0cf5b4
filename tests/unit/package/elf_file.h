// Test support: what a shared library or an object says about itself, read from its ELF tables.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace mlc::package {

struct ElfFile {
  int type = 0;     // ET_REL, ET_DYN
  int machine = 0;  // EM_X86_64, ...
  std::vector<std::string> sections;
  std::vector<std::string> needed;  // DT_NEEDED
  std::set<std::string> exported;   // defined, visible, in the dynamic symbol table
  std::set<std::string> imported;   // undefined there
  std::set<std::string> symbols;    // of the static symbol table
  std::set<std::string> globals;    // of these, what other objects can use
  int64_t loaded_bytes = 0;         // of all segments to load
  bool writable_and_executable = false;
};

// REQUIRES: a well-formed ELF64 file; throws away nothing, checks nothing.
ElfFile ReadElf(const std::string& path);
std::string ReadBytes(const std::string& path);

}  // namespace mlc::package
