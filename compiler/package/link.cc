#include "compiler/package/link.h"

#include <fcntl.h>
#include <lld/Common/Driver.h>
#include <llvm/Object/ArchiveWriter.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/raw_ostream.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>

#include "base/file_access.h"
#include "base/process/child_process.h"
#include "base/write_text.h"
#include "compiler/package/elf_object.h"

LLD_HAS_DRIVER(elf)

namespace mlc::package {

namespace {

Status RunLinker(const std::vector<std::string>& arguments) {
  return build::RunInChildren(1, 1, [&](int) -> Status {
    std::vector<const char*> argv = {"ld.lld"};
    for (const std::string& argument : arguments) argv.push_back(argument.c_str());
    std::string messages;
    llvm::raw_string_ostream stream(messages);
    const lld::Result result = lld::lldMain(argv, stream, stream, {{lld::Gnu, &lld::elf::link}});
    if (result.retCode == 0) return {};
    return Internal("linking failed: " + stream.str());
  });
}

// On a full disk a signal ends the linker, which maps its output, and an error of LLVM's streams
// the program. So whether there is space for what goes into the output is asked before.
Status CheckSpace(const std::vector<std::string>& objects, const std::string& output) {
  int64_t bytes = int64_t{64} << 10;  // tables of its own
  for (const std::string& object : objects) {
    std::error_code error;
    const uintmax_t size = std::filesystem::file_size(object, error);
    if (!error) bytes += static_cast<int64_t>(size);
  }
  const int file = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  const int error = file < 0 ? errno : posix_fallocate(file, 0, bytes);
  if (file >= 0) close(file);
  (void)unlink(output.c_str());
  const Status status = CannotOpen("cannot write", output, error);
  // Some file systems cannot tell.
  if (file >= 0 && status.code() != StatusCode::kResourceExhausted) return {};
  return status;
}

std::string EmulationOf(const std::string& machine) {
  return machine == "aarch64" ? "aarch64linux" : "elf_x86_64";
}

// An empty library with libc's name: linking against it records the dependency without tying the
// result to the C library of the machine that links.
Result<std::string> StandInForLibc(const LinkJob& job) {
  const std::string object = job.scratch_dir + "/empty.o";
  MLC_TRY(ElfObject(job.machine).WriteTo(object));
  std::string path = job.scratch_dir + "/libc.so.6";
  MLC_TRY(RunLinker(
      {"-m", EmulationOf(job.machine), "-shared", "-soname", "libc.so.6", "-o", path, object}));
  return path;
}

}  // namespace

Status LinkShared(const LinkJob& job) {
  MLC_TRY(CheckSpace(job.objects, job.output));
  const std::string libc = MLC_TRY(StandInForLibc(job));
  std::string script = "{ global:";
  for (const std::string& symbol : job.exported) script += " " + symbol + ";";
  script += " local: *; };\n";
  const std::string script_path = job.scratch_dir + "/exports.map";
  MLC_TRY(WriteText(script_path, script));
  std::vector<std::string> arguments = {"-m",
                                        EmulationOf(job.machine),
                                        "-shared",
                                        "--gc-sections",
                                        "--build-id=none",
                                        "--hash-style=gnu",
                                        "-z",
                                        "now",
                                        "-z",
                                        "noexecstack",
                                        "-soname",
                                        job.soname,
                                        "--version-script",
                                        script_path,
                                        "-o",
                                        job.output};
  arguments.insert(arguments.end(), job.objects.begin(), job.objects.end());
  arguments.push_back(libc);
  return RunLinker(arguments);
}

Status WriteArchive(const std::vector<std::string>& objects, const std::string& output) {
  MLC_TRY(CheckSpace(objects, output));
  std::vector<llvm::NewArchiveMember> members;
  for (const std::string& path : objects) {
    llvm::Expected<llvm::NewArchiveMember> member =
        llvm::NewArchiveMember::getFile(path, /*Deterministic=*/true);
    if (!member)
      return Internal("cannot archive '" + path + "': " + llvm::toString(member.takeError()));
    // The file's own name: folders are of one run.
    member->MemberName = llvm::sys::path::filename(path);
    members.push_back(std::move(*member));
  }
  llvm::Error error = llvm::writeArchive(output, members, llvm::SymtabWritingMode::NormalSymtab,
                                         llvm::object::Archive::K_GNU, /*Deterministic=*/true,
                                         /*Thin=*/false);
  if (error) {
    return Unwritable("cannot write '" + output + "': " + llvm::toString(std::move(error)));
  }
  return {};
}

}  // namespace mlc::package
