#include "db/sqlite/full_disk.h"

#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>

namespace mlc::db {
namespace {

ssize_t Translated(ssize_t wrote) {
  if (wrote < 0) errno = FullDiskError(errno);
  return wrote;
}

// Declared as SQLite calls them.
ssize_t Write(int fd, const void* from, size_t size) { return Translated(write(fd, from, size)); }
ssize_t Pwrite(int fd, const void* from, size_t size, off_t at) {
  return Translated(pwrite(fd, from, size, at));
}
ssize_t Pwrite64(int fd, const void* from, size_t size, off64_t at) {
  return Translated(pwrite64(fd, from, size, at));
}

void Replace(sqlite3_vfs* system, const char* name, sqlite3_syscall_ptr call) {
  // One that this SQLite does not use is no loss.
  (void)system->xSetSystemCall(system, name, call);
}

}  // namespace

int FullDiskError(int error) { return error == EDQUOT || error == EFBIG ? ENOSPC : error; }

void TreatQuotasAsFullDisks() {
  sqlite3_vfs* system = sqlite3_vfs_find("unix");
  if (system == nullptr || system->iVersion < 3) return;
  Replace(system, "write", reinterpret_cast<sqlite3_syscall_ptr>(&Write));
  Replace(system, "pwrite", reinterpret_cast<sqlite3_syscall_ptr>(&Pwrite));
  Replace(system, "pwrite64", reinterpret_cast<sqlite3_syscall_ptr>(&Pwrite64));
}

}  // namespace mlc::db
