// A disk that is full to us: also a used-up quota (EDQUOT), and a file at the process's limit
// (EFBIG). SQLite reports only the first as a full disk; the others would be I/O errors, after
// which the log takes no more writes.
#pragma once

namespace mlc::db {

// The errno of a failed write as SQLite is to see it.
int FullDiskError(int error);
// Has SQLite see it so, for all files of this process. Once is enough.
void TreatQuotasAsFullDisks();

}  // namespace mlc::db
