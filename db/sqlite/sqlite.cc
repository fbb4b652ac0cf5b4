#include "db/sqlite/sqlite.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "db/sqlite/full_disk.h"

namespace mlc::db {
namespace {

constexpr int kBusyMs = 5000;

StatusCode CodeOf(int code) {
  // The index of the write-ahead log finds no space to grow; nothing was written.
  if (code == SQLITE_IOERR_SHMSIZE) return StatusCode::kResourceExhausted;
  switch (code & 0xff) {
    case SQLITE_FULL:
      return StatusCode::kResourceExhausted;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_IOERR:
    case SQLITE_ERROR:  // our statements fit our tables: those of the file are others
      return StatusCode::kDataLoss;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return StatusCode::kUnavailable;
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
      return StatusCode::kInvalidArgument;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_AUTH:
      return StatusCode::kPermissionDenied;
    case SQLITE_CANTOPEN:
      return StatusCode::kNotFound;
    case SQLITE_NOMEM:
      return StatusCode::kResourceExhausted;
    default:
      return StatusCode::kInternal;
  }
}

std::string Uri(const std::string& path, std::string_view parameters) {
  std::string uri = "file:";
  for (char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      constexpr char kHex[] = "0123456789abcdef";
      uri += '%';
      uri += kHex[static_cast<unsigned char>(c) >> 4];
      uri += kHex[c & 15];
    } else {
      uri += c;
    }
  }
  return uri.append("?").append(parameters);
}

Result<sqlite3*> OpenHandle(const std::string& path, OpenMode mode, bool immutable) {
  // Counting the memory of all threads together, SQLite would have them wait for each other.
  [[maybe_unused]] static const bool prepared = [] {
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    TreatQuotasAsFullDisks();
    return true;
  }();
  sqlite3* handle = nullptr;
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI;
  flags |= mode == OpenMode::kReadWrite ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                                        : SQLITE_OPEN_READONLY;
  const std::string uri = Uri(path, immutable ? "immutable=1" : "cache=private");
  const int code = sqlite3_open_v2(uri.c_str(), &handle, flags, nullptr);
  if (code != SQLITE_OK) {
    std::string words = handle != nullptr ? sqlite3_errmsg(handle) : "out of memory";
    sqlite3_close_v2(handle);
    return Status(CodeOf(code), "cannot open tuning log " + path + ": " + words);
  }
  sqlite3_busy_timeout(handle, kBusyMs);
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  if (mode == OpenMode::kReadOnly) {
    sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  }
  return handle;
}

// What `doing` says and SQLite's own words.
Status ErrorOf(sqlite3* handle, int code, std::string_view doing) {
  const char* path = sqlite3_db_filename(handle, "main");
  std::string message(doing);
  message += std::string(" tuning log ") + (path == nullptr ? "" : path) + ": ";
  message += sqlite3_errmsg(handle);
  if ((code & 0xff) == SQLITE_FULL || code == SQLITE_IOERR_SHMSIZE) {
    message += "; writes are refused until there is free space, reads go on";
  }
  return Status(CodeOf(code), std::move(message));
}

// The first read shows whether the file can be used at all.
int Touch(sqlite3* handle) {
  return sqlite3_exec(handle, "SELECT count(*) FROM sqlite_schema", nullptr, nullptr, nullptr);
}

}  // namespace

bool IsPublished(const std::string& path) {
  for (const char* beside : {"-wal", "-journal", ".lock"}) {
    if (access((path + beside).c_str(), F_OK) == 0) return false;
  }
  // Of the header: the versions that a writer and a reader need; 1 is a file without a log.
  std::array<char, 2> versions{};
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool read = pread(fd, versions.data(), versions.size(), 18) == 2;
  close(fd);
  return read && versions[0] == 1 && versions[1] == 1;
}

Result<Database> Database::Open(const std::string& path, OpenMode mode) {
  const bool published = mode == OpenMode::kReadOnly && IsPublished(path);
  sqlite3* handle = MLC_TRY(OpenHandle(path, mode, published));
  int code = Touch(handle);
  const bool no_sidecar = access((path + "-wal").c_str(), F_OK) != 0;
  if (mode == OpenMode::kReadOnly && no_sidecar &&
      ((code & 0xff) == SQLITE_CANTOPEN || (code & 0xff) == SQLITE_READONLY)) {
    // A log in a read-only folder that no process writes: safe to read as it is.
    sqlite3_close_v2(handle);
    handle = MLC_TRY(OpenHandle(path, mode, true));
    code = Touch(handle);
  }
  Database database(handle);
  if (code != SQLITE_OK) return ErrorOf(handle, code, "cannot read");
  return database;
}

Database::Database(Database&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), cache_(std::move(other.cache_)) {}

Database& Database::operator=(Database&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(cache_, other.cache_);
  return *this;
}

Database::~Database() {
  cache_.clear();
  sqlite3_close_v2(handle_);
}

Status Database::Execute(const std::string& sql) {
  const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? Status() : ErrorOf(handle_, code, "cannot work on");
}

Result<int64_t> Database::Integer(const std::string& sql) {
  Statement statement = MLC_TRY(Prepare(sql));
  if (!MLC_TRY(statement.Step())) return DataLoss("no row from " + sql);
  return statement.Int(0);
}

Status Database::CopyTo(const std::string& path) {
  sqlite3* to = MLC_TRY(OpenHandle(path, OpenMode::kReadWrite, false));
  int code = sqlite3_exec(to, "PRAGMA synchronous=OFF", nullptr, nullptr, nullptr);
  sqlite3_backup* copy =
      code == SQLITE_OK ? sqlite3_backup_init(to, "main", handle_, "main") : nullptr;
  if (code == SQLITE_OK && copy == nullptr) code = sqlite3_errcode(to);
  if (copy != nullptr) {
    // All pages in one step, of one read transaction: with several, each commit would start it
    // anew.
    code = sqlite3_backup_step(copy, -1);
    const int finished = sqlite3_backup_finish(copy);
    if (code == SQLITE_DONE) code = finished;
  }
  const Status status = code == SQLITE_OK ? Status() : ErrorOf(to, code, "cannot copy to");
  sqlite3_close_v2(to);
  return status;
}

bool Database::InAutocommit() const { return sqlite3_get_autocommit(handle_) != 0; }
int64_t Database::Changes() const { return sqlite3_changes64(handle_); }
int64_t Database::LastInsertId() const { return sqlite3_last_insert_rowid(handle_); }
int64_t Database::TakePagesWritten() {
  int pages = 0;
  int unused = 0;
  sqlite3_db_status(handle_, SQLITE_DBSTATUS_CACHE_WRITE, &pages, &unused, /*resetFlg=*/1);
  return pages;
}

Result<Statement> Database::Prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v2(handle_, sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  if (code != SQLITE_OK) return ErrorOf(handle_, code, "cannot query");
  return Statement(statement);
}

Result<Statement*> Database::Cached(std::string_view sql) {
  auto found = cache_.find(sql);
  if (found == cache_.end()) {
    found = cache_.emplace(std::string(sql), MLC_TRY(Prepare(sql))).first;
  }
  found->second.Reset();
  return &found->second;
}

Statement::Statement(Statement&& other) noexcept
    : statement_(std::exchange(other.statement_, nullptr)), next_(other.next_) {}

Statement& Statement::operator=(Statement&& other) noexcept {
  std::swap(statement_, other.statement_);
  std::swap(next_, other.next_);
  return *this;
}

Statement::~Statement() { sqlite3_finalize(statement_); }

Statement& Statement::Bind(int64_t value) {
  sqlite3_bind_int64(statement_, next_++, value);
  return *this;
}
Statement& Statement::BindReal(double value) {
  sqlite3_bind_double(statement_, next_++, value);
  return *this;
}
Statement& Statement::BindNull() {
  sqlite3_bind_null(statement_, next_++);
  return *this;
}
Statement& Statement::Bind(std::string_view text) {
  sqlite3_bind_text64(statement_, next_++, text.data() == nullptr ? "" : text.data(), text.size(),
                      SQLITE_TRANSIENT, SQLITE_UTF8);
  return *this;
}
Statement& Statement::BindBlob(std::string_view bytes) {
  sqlite3_bind_blob64(statement_, next_++, bytes.data() == nullptr ? "" : bytes.data(),
                      bytes.size(), SQLITE_TRANSIENT);
  return *this;
}
Statement& Statement::Bind(const Digest& digest) {
  const auto bytes = digest.ToBytes();
  return BindBlob({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

Result<bool> Statement::Step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return ErrorOf(sqlite3_db_handle(statement_), code, "cannot step in");
}

Status Statement::Run() {
  Result<bool> row = true;
  while (row.ok() && *row) row = Step();
  Reset();
  return row.status();
}

void Statement::Reset() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
  next_ = 1;
}

bool Statement::IsNull(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}
int64_t Statement::Int(int column) const { return sqlite3_column_int64(statement_, column); }
double Statement::Real(int column) const { return sqlite3_column_double(statement_, column); }
std::string Statement::Text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  const int size = sqlite3_column_bytes(statement_, column);
  return text == nullptr ? std::string() : std::string(text, static_cast<size_t>(size));
}
std::string Statement::Blob(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  const int size = sqlite3_column_bytes(statement_, column);
  return bytes == nullptr ? std::string() : std::string(bytes, static_cast<size_t>(size));
}
Digest Statement::DigestAt(int column) const {
  const std::string bytes = Blob(column);
  std::array<uint8_t, 16> raw{};
  if (bytes.size() == raw.size()) std::memcpy(raw.data(), bytes.data(), raw.size());
  return Digest::FromBytes(raw);
}

}  // namespace mlc::db
