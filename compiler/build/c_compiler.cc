#include "compiler/build/c_compiler.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>

namespace mlc::build {
namespace {

constexpr const char* kCompilers[] = {"/usr/bin/cc",        "/usr/bin/gcc",
                                      "/usr/bin/clang",     "/usr/local/bin/cc",
                                      "/usr/local/bin/gcc", "/usr/local/bin/clang"};
constexpr size_t kMaxMessages = 8192;
constexpr int kCannotRun = 127;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Its output goes to `errors`, and temporary files to `scratch`.
[[noreturn]] void Execute(std::vector<std::string> words, const std::string& scratch,
                          const std::string& errors) {
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  const int output = open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (output < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0) _exit(kCannotRun);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::string temporary = "TMPDIR=" + scratch;
  std::string path = "PATH=/usr/local/bin:/usr/bin:/bin";
  std::string locale = "LC_ALL=C";
  char* const environment[] = {temporary.data(), path.data(), locale.data(), nullptr};
  execve(argv[0], argv.data(), environment);
  _exit(kCannotRun);
}

}  // namespace

Result<std::string> FindCCompiler() {
  for (const char* path : kCompilers) {
    if (access(path, X_OK) == 0) return std::string(path);
  }
  return NotFound("there is no C compiler: install gcc or clang, so that /usr/bin/cc exists");
}

Result<std::string> CompileC(const std::string& compiler, const std::string& scratch,
                             const CSource& source) {
  const std::string input = scratch + "/kernel.c", object = scratch + "/kernel.o",
                    errors = scratch + "/messages";
  if (!(std::ofstream(input, std::ios::binary) << source.text).flush()) {
    return ResourceExhausted(
        "cannot write the kernel's source for the C compiler: is the disk full?");
  }
  // No calls that a loader would have to resolve, nor data of the platform's linkers; -fpie, since
  // the object is loaded above 4 GiB.
  std::vector<std::string> words = {compiler,
                                    "-x",
                                    "c",
                                    "-std=gnu11",
                                    "-O3",
                                    "-march=native",
                                    "-fno-math-errno",
                                    "-fpie",
                                    "-fno-stack-protector",
                                    "-fcf-protection=none",
                                    "-fno-asynchronous-unwind-tables",
                                    "-c"};
  words.insert(words.end(), source.options.begin(), source.options.end());
  words.insert(words.end(), {input, "-o", object});
  const pid_t child = fork();
  if (child < 0) return ResourceExhausted(std::string("cannot start cc: ") + strerror(errno));
  if (child == 0) Execute(std::move(words), scratch, errors);
  int end = 0;
  while (waitpid(child, &end, 0) < 0 && errno == EINTR) {
  }
  std::string messages = ReadFile(errors).substr(0, kMaxMessages);
  // The author of the kernel sees the source alone.
  for (size_t at = messages.find(scratch); at != std::string::npos; at = messages.find(scratch)) {
    messages.erase(at, scratch.size() + 1);
  }
  if (WIFEXITED(end) && WEXITSTATUS(end) == 0) {
    std::string bytes = ReadFile(object);
    if (!bytes.empty()) return bytes;
  }
  if (WIFEXITED(end) && WEXITSTATUS(end) == kCannotRun) {
    return FailedPrecondition("the C compiler " + compiler + " does not run here");
  }
  if (WIFSIGNALED(end)) {
    return InvalidArgument("the C compiler ended with signal " + std::to_string(WTERMSIG(end)));
  }
  return InvalidArgument("the C compiler refused the kernel: " + messages);
}

}  // namespace mlc::build
