// Wraps SQLite in Status, values and owners. No other file maps its error codes. A Database and its
// Statements belong to one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "base/status.h"

struct sqlite3;
struct sqlite3_stmt;

namespace mlc::db {

// Positions of parameters start with 1, those of columns with 0. Must not outlive its Database.
class Statement {
 public:
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) noexcept;
  ~Statement();

  Statement& Bind(int64_t value);
  Statement& BindReal(double value);
  Statement& BindNull();
  Statement& Bind(std::string_view text);
  Statement& BindBlob(std::string_view bytes);
  Statement& Bind(const Digest& digest);

  // True if there is a row, false at the end.
  Result<bool> Step();
  // Runs the statement to its end and resets it for new bindings.
  Status Run();
  void Reset();

  bool IsNull(int column) const;
  int64_t Int(int column) const;
  double Real(int column) const;
  std::string Text(int column) const;
  std::string Blob(int column) const;
  // A 16-byte blob; zero for anything else.
  Digest DigestAt(int column) const;

 private:
  sqlite3_stmt* statement_;
  int next_ = 1;
};

enum class OpenMode : uint8_t {
  kReadWrite,  // creates the file
  kReadOnly,
};

// True for a published snapshot, which is replaced as a whole and never written: its header selects
// no write-ahead log, it has none, and no writer's lock is beside it.
bool IsPublished(const std::string& path);

class Database {
 public:
  // A published snapshot is read without locks. See IsPublished.
  static Result<Database> Open(const std::string& path, OpenMode mode);
  Database(Database&& other) noexcept;
  Database& operator=(Database&& other) noexcept;
  ~Database();

  // Runs statements that give no rows.
  Status Execute(const std::string& sql);
  // Returns the first column of the first row.
  Result<int64_t> Integer(const std::string& sql);
  // Copies the current state of the database to a new file, page by page; others may write in
  // parallel. Does not synchronise the file.
  Status CopyTo(const std::string& path);
  // True outside a transaction.
  bool InAutocommit() const;
  int64_t Changes() const;
  int64_t LastInsertId() const;
  // Number of pages that the commits of this connection have written since the last call; a page
  // counts each time.
  int64_t TakePagesWritten();
  Result<Statement> Prepare(std::string_view sql);
  // Returns a statement that is prepared once and kept. It is reset, and valid until the next call
  // with the same text.
  Result<Statement*> Cached(std::string_view sql);

 private:
  explicit Database(sqlite3* handle) : handle_(handle) {}

  sqlite3* handle_ = nullptr;
  std::map<std::string, Statement, std::less<>> cache_;
};

}  // namespace mlc::db
