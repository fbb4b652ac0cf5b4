// Makes SQLite treat a used-up quota (EDQUOT) and a file at the limit of the process (EFBIG) as a
// full disk. Otherwise it would report I/O errors, after which the log takes no more writes.
#pragma once

namespace mlc::db {

// Returns the errno that SQLite should see for the errno of a failed write.
int FullDiskError(int error);
// Installs this for all files of the process. Once is enough.
void TreatQuotasAsFullDisks();

}  // namespace mlc::db
