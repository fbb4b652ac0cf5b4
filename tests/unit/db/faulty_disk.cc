#include "tests/unit/db/faulty_disk.h"

#include <sqlite3.h>

#include <atomic>

namespace mlc::db {
namespace {

std::atomic<Fault> armed = Fault::kNone;
std::atomic<int64_t> calls_left = 0;
std::atomic<bool> lasting = false;
std::atomic<bool> failed = false;

// True if this call is to fail.
bool Fails(bool sync) {
  const Fault fault = armed;
  if (fault == Fault::kNone || (fault == Fault::kSyncError) != sync) return false;
  const int64_t left = --calls_left;
  if (left > 0 || (left < 0 && !lasting)) return false;
  failed = true;
  return true;
}

// The real file follows the wrapper in memory.
struct File {
  sqlite3_file base;
};
sqlite3_file* Real(sqlite3_file* file) {
  return reinterpret_cast<sqlite3_file*>(reinterpret_cast<File*>(file) + 1);
}
const sqlite3_io_methods& Methods(sqlite3_file* file) { return *Real(file)->pMethods; }

int Close(sqlite3_file* file) { return Methods(file).xClose(Real(file)); }
int Read(sqlite3_file* file, void* to, int size, sqlite3_int64 at) {
  return Methods(file).xRead(Real(file), to, size, at);
}
int Write(sqlite3_file* file, const void* from, int size, sqlite3_int64 at) {
  if (!Fails(false)) return Methods(file).xWrite(Real(file), from, size, at);
  if (armed == Fault::kFull) return SQLITE_FULL;
  if (armed == Fault::kShortWrite) (void)Methods(file).xWrite(Real(file), from, size / 2, at);
  return SQLITE_IOERR_WRITE;
}
int Truncate(sqlite3_file* file, sqlite3_int64 size) {
  return Methods(file).xTruncate(Real(file), size);
}
int Sync(sqlite3_file*, int) { return Fails(true) ? SQLITE_IOERR_FSYNC : SQLITE_OK; }
int Size(sqlite3_file* file, sqlite3_int64* size) {
  return Methods(file).xFileSize(Real(file), size);
}
int Lock(sqlite3_file* file, int kind) { return Methods(file).xLock(Real(file), kind); }
int Unlock(sqlite3_file* file, int kind) { return Methods(file).xUnlock(Real(file), kind); }
int CheckLock(sqlite3_file* file, int* held) {
  return Methods(file).xCheckReservedLock(Real(file), held);
}
int Control(sqlite3_file* file, int what, void* value) {
  return Methods(file).xFileControl(Real(file), what, value);
}
int SectorSize(sqlite3_file* file) { return Methods(file).xSectorSize(Real(file)); }
int Traits(sqlite3_file* file) { return Methods(file).xDeviceCharacteristics(Real(file)); }
int ShmMap(sqlite3_file* file, int page, int size, int extend, void volatile** out) {
  return Methods(file).xShmMap(Real(file), page, size, extend, out);
}
int ShmLock(sqlite3_file* file, int offset, int count, int flags) {
  return Methods(file).xShmLock(Real(file), offset, count, flags);
}
void ShmBarrier(sqlite3_file* file) { Methods(file).xShmBarrier(Real(file)); }
int ShmUnmap(sqlite3_file* file, int remove) { return Methods(file).xShmUnmap(Real(file), remove); }

constexpr sqlite3_io_methods kMethods = {
    2,       Close,      Read,   Write,  Truncate, Sync,       Size,     Lock,    Unlock, CheckLock,
    Control, SectorSize, Traits, ShmMap, ShmLock,  ShmBarrier, ShmUnmap, nullptr, nullptr};

sqlite3_vfs* real_disk = nullptr;
sqlite3_vfs faulty_disk;

int Open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out) {
  file->pMethods = nullptr;
  const int code = real_disk->xOpen(real_disk, name, Real(file), flags, out);
  if (code == SQLITE_OK) file->pMethods = &kMethods;
  return code;
}

}  // namespace

FaultyDisk::FaultyDisk() {
  real_disk = sqlite3_vfs_find(nullptr);
  // All but opening is the real one's: its functions find their own data in pAppData.
  faulty_disk = *real_disk;
  faulty_disk.zName = "faulty";
  faulty_disk.szOsFile = static_cast<int>(sizeof(File)) + real_disk->szOsFile;
  faulty_disk.xOpen = Open;
  faulty_disk.pNext = nullptr;
  sqlite3_vfs_register(&faulty_disk, 1);
}

FaultyDisk::~FaultyDisk() {
  Repair();
  sqlite3_vfs_unregister(&faulty_disk);
  sqlite3_vfs_register(real_disk, 1);
}

void FaultyDisk::Arm(Fault fault, int64_t call, bool for_good) {
  armed = fault;
  calls_left = call;
  lasting = for_good;
  failed = false;
}

bool FaultyDisk::Failed() { return failed; }

}  // namespace mlc::db
