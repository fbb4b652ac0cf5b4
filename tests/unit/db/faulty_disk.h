// A disk that fails: SQLite's file system with a fault at a chosen call, for the files of this
// process. Syncs do not reach the real disk. Set from one thread while no file is in use.
#pragma once

#include <cstdint>

namespace mlc::db {

enum class Fault : uint8_t {
  kNone,
  kFull,        // a write fails: no space left
  kWriteError,  // a write fails: I/O error
  kShortWrite,  // half of a write reaches the disk, then an I/O error
  kSyncError,   // a synchronisation fails
};

// Replaces SQLite's default file system while it lives.
class FaultyDisk {
 public:
  FaultyDisk();
  ~FaultyDisk();

  // The `call`-th write or sync from now fails, counted from 1; with `for_good`, all later ones
  // too.
  static void Arm(Fault fault, int64_t call, bool for_good);
  static void Repair() { Arm(Fault::kNone, 0, false); }
  // Whether the fault was met.
  static bool Failed();
};

}  // namespace mlc::db
