#include "base/settings/config_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/file_access.h"
#include "base/settings/setting_table.h"

namespace mlc::settings {
namespace {

constexpr size_t kMostBytes = 1 << 20;

std::string ValueOf(const Lookup& lookup, const char* name) {
  const char* found = lookup(name);
  return found == nullptr ? "" : found;
}

// A descriptor that is closed at the end.
struct Descriptor {
  explicit Descriptor(int opened) : number(opened) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
  const int number;
};

// A user who can change the file can choose programs and libraries that run as this user.
Status CheckOwner(const struct stat& file, const std::string& path) {
  if (file.st_uid != 0 && file.st_uid != geteuid()) {
    return Status(StatusCode::kPermissionDenied,
                  path + " belongs to user " + std::to_string(file.st_uid) +
                      ", who could choose what runs as user " + std::to_string(geteuid()) +
                      ": copy it to a file of that user");
  }
  if ((file.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Status(StatusCode::kPermissionDenied,
                  path + " can be changed by others than its owner: chmod go-w " + path);
  }
  return Status();
}

Result<std::string> ReadAll(int descriptor, const std::string& path) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t count = read(descriptor, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return CannotOpen("cannot read", path, errno);
    if (count == 0) return text;
    text.append(buffer, static_cast<size_t>(count));
    if (text.size() > kMostBytes) {
      return FailedPrecondition(path + " is longer than 1 MiB, the limit of a configuration file");
    }
  }
}

// Whether a folder on the way is closed to this user, as the home of another user is whose HOME
// sudo and setpriv keep. A file that this user reaches and cannot read is an error instead.
bool IsOutOfReach(const std::string& path, int error) {
  if (error != EACCES) return false;
  const std::string folder = std::filesystem::path(path).parent_path();
  return faccessat(AT_FDCWD, folder.c_str(), X_OK, AT_EACCESS) != 0;
}

}  // namespace

const FileValue* ConfigFile::Find(Program program, const Setting& setting) const {
  const FileValue* at_top = nullptr;
  for (const FileValue& value : values) {
    if (value.name != setting.name) continue;
    if (value.table == NameOf(program)) return &value;
    if (value.table.empty() && setting.scope == Scope::kAllPrograms) at_top = &value;
  }
  return at_top;
}

std::optional<ConfigPlace> FindConfig(const std::optional<std::string>& flag,
                                      const Lookup& lookup) {
  if (flag) return flag->empty() ? std::nullopt : std::optional(ConfigPlace{*flag, false});
  if (const std::string named = ValueOf(lookup, "MLC_CONFIG"); !named.empty()) {
    return ConfigPlace{named, false};
  }
  std::string folder = ValueOf(lookup, "XDG_CONFIG_HOME");
  if (!folder.starts_with('/')) {
    const std::string home = ValueOf(lookup, "HOME");
    if (!home.starts_with('/')) return std::nullopt;
    folder = home + "/.config";
  }
  return ConfigPlace{folder + "/mlc/config.toml", true};
}

Result<ConfigFile> ReadConfigFile(const ConfigPlace& place, const Lookup& lookup) {
  const std::string path = std::filesystem::absolute(place.path).lexically_normal();
  // Not waiting for the writer of a pipe.
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.number < 0) {
    const int error = errno;
    const bool is_missing = error == ENOENT || error == ENOTDIR;
    if (place.may_be_missing && (is_missing || IsOutOfReach(path, error))) return ConfigFile();
    if (is_missing) return FailedPrecondition("there is no configuration file " + path);
    return CannotOpen("cannot read the configuration file", path, error);
  }
  struct stat about;
  if (fstat(file.number, &about) != 0) return CannotOpen("cannot read", path, errno);
  if (!S_ISREG(about.st_mode)) return FailedPrecondition(path + " is not a regular file");
  MLC_TRY(CheckOwner(about, path));
  return ParseConfig(MLC_TRY(ReadAll(file.number, path)), path, lookup);
}

}  // namespace mlc::settings
