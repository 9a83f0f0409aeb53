// SPDX-License-Identifier: Apache-2.0
// SQLite as one of the systems that are compared: a write-ahead log, a table that is a B-tree by
// its key (WITHOUT ROWID), prepared statements, and a cache that holds everything. With TTLs the
// table has a column for the deadline and an index on it, as a user of SQLite would write it.

#include "bench/peers/peer.h"

#ifdef MAYFLY_HAS_SQLITE

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <string>

#include "bench/report/must.h"

namespace mayfly::bench {
namespace {

constexpr const char* kSchema =
    "PRAGMA journal_mode = WAL;"
    "PRAGMA cache_size = -2000000;"  // 2 GB
    "CREATE TABLE IF NOT EXISTS data(key BLOB PRIMARY KEY, value BLOB, deadline INTEGER)"
    " WITHOUT ROWID;";
constexpr const char* kIndex = "CREATE INDEX IF NOT EXISTS deadlines ON data(deadline);";

enum Sql : std::size_t {
  begin_write,
  begin_read,
  commit,
  get_plain,
  get_ttl,
  scan_plain,
  scan_ttl,
  put_plain,
  put_ttl,
  erase_plain,
  erase_ttl,
  purge_due,
};
constexpr std::size_t kStatements = purge_due + 1;

constexpr std::array<const char*, kStatements> kSql = {
    "BEGIN IMMEDIATE",
    "BEGIN",
    "COMMIT",
    "SELECT value FROM data WHERE key = ?1",
    "SELECT value FROM data WHERE key = ?1 AND deadline > ?2",
    "SELECT value FROM data ORDER BY key",
    "SELECT value FROM data WHERE +deadline > ?2 ORDER BY key",  // + keeps it off the index
    "INSERT OR REPLACE INTO data VALUES(?1, ?2, NULL)",
    "INSERT OR REPLACE INTO data VALUES(?1, ?2, ?3)",
    "DELETE FROM data WHERE key = ?1",
    "DELETE FROM data WHERE key = ?1 RETURNING deadline",
    "DELETE FROM data WHERE key IN"
    " (SELECT key FROM data WHERE deadline <= ?2 ORDER BY deadline, key LIMIT 256)",
};
static_assert(kPeerPurgeBatch == 256);

// A prepared statement. Binding and stepping come in a row; the first failure is kept by the peer.
class Statement {
 public:
  Statement() = default;
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  int prepare(sqlite3* database, const char* sql) {
    return sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement_, nullptr);
  }

  // Parameter 1 is a key everywhere, parameter 2 a value or a time, parameter 3 a deadline. What is
  // bound must live until the statement is reset.
  Statement& key(std::string_view bytes) { return bind(1, bytes); }
  Statement& value(std::string_view bytes) { return bind(2, bytes); }
  Statement& time(Time moment, int place = 2) {
    sqlite3_bind_int64(statement_, place, moment.time_since_epoch().count());
    return *this;
  }

  int step() { return sqlite3_step(statement_); }
  void reset() { sqlite3_reset(statement_); }
  int run() {
    const int code = step();
    reset();
    return code;
  }

  std::string_view blob(int column) const {
    const void* const bytes = sqlite3_column_blob(statement_, column);
    return {static_cast<const char*>(bytes),
            static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
  }
  Time time_at(int column) const { return Time(Millis(sqlite3_column_int64(statement_, column))); }

 private:
  Statement& bind(int place, std::string_view bytes) {
    sqlite3_bind_blob(statement_, place, bytes.data(), static_cast<int>(bytes.size()),
                      SQLITE_STATIC);
    return *this;
  }

  sqlite3_stmt* statement_ = nullptr;
};

class SqlitePeer final : public Peer {
 public:
  explicit SqlitePeer(const Clock& clock) : clock_(clock) {}
  ~SqlitePeer() override {
    statements_.reset();
    sqlite3_close(database_);
  }

  void open(const PeerPlace& place) override {
    ttl_ = place.ttl;
    const std::string path = (place.directory / "sqlite.db").string();
    const std::string sync = place.durability == Durability::full     ? "FULL"
                             : place.durability == Durability::normal ? "NORMAL"
                                                                      : "OFF";
    constexpr int kOpenFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    keep(sqlite3_open_v2(path.c_str(), &database_, kOpenFlags, nullptr));
    // A row of such a table must fit into a quarter of a page, or it spills into a page of its own.
    std::string setup = place.value_bytes > 900 ? "PRAGMA page_size = 8192;" : "";
    setup += "PRAGMA synchronous = " + sync + ";" + kSchema + (ttl_ ? kIndex : "");
    keep(sqlite3_exec(database_, setup.c_str(), nullptr, nullptr, nullptr));
    statements_ = std::make_unique<std::array<Statement, kStatements>>();
    for (std::size_t i = 0; i < kStatements; ++i) {
      keep((*statements_)[i].prepare(database_, kSql[i]));
    }
    check();
  }

  PeerTally apply(const StoreOps& ops, std::size_t batch) override {
    PeerTally tally;
    for (std::size_t begin = 0; begin < ops.ops.size(); begin += batch) {
      now_ = clock_.now();
      const bool explicitly = batch > 1;  // a single statement is a transaction
      if (explicitly) run(begin_write);
      for (const StoreOp& op : ops.ops.subspan(begin, std::min(batch, ops.ops.size() - begin))) {
        apply_one(*ops.values, op, tally);
      }
      if (explicitly) run(commit);
    }
    return checked(tally);
  }

  PeerTally get(const StoreOps& ops) override {
    run(begin_read);
    PeerTally tally = get_each(ops);
    run(commit);
    return tally;
  }

  // What SQLite hands out is its own copy, or a page in its cache that does not change meanwhile.
  PeerTally get_each(const StoreOps& ops) override {
    PeerTally tally;
    now_ = clock_.now();
    for (const StoreOp& op : ops.ops) get_one(op, tally);
    return checked(tally);
  }

  PeerTally scan() override {
    PeerTally tally;
    now_ = clock_.now();
    Statement& walk = ttl_ ? (*this)[scan_ttl].time(now_) : (*this)[scan_plain];
    int code = SQLITE_ROW;
    while ((code = walk.step()) == SQLITE_ROW) tally.read(walk.blob(0));
    walk.reset();
    keep(code);
    return checked(tally);
  }

  PeerTally purge() override {
    PeerTally tally;
    now_ = clock_.now();
    for (std::size_t removed = kPeerPurgeBatch; removed == kPeerPurgeBatch && code_ == SQLITE_OK;) {
      keep((*this)[purge_due].time(now_).run());
      removed = static_cast<std::size_t>(sqlite3_changes(database_));
      tally.entries += removed;
    }
    return checked(tally);
  }

 private:
  Statement& operator[](Sql which) { return (*statements_)[which]; }
  void run(Sql which) { keep((*this)[which].run()); }

  void get_one(const StoreOp& op, PeerTally& tally) {
    Statement& find = (*this)[ttl_ ? get_ttl : get_plain].key(op.key_view());
    if (ttl_) find.time(now_);
    const int code = find.step();
    if (code == SQLITE_ROW) tally.read(find.blob(0));
    find.reset();
    keep(code);
  }

  void apply_one(const ValuePool& values, const StoreOp& op, PeerTally& tally) {
    switch (op.kind) {
      case StoreOp::Kind::put:
        put(op, values[op]);
        ++tally.entries;
        break;
      case StoreOp::Kind::erase:
        if (erase(op.key_view())) ++tally.entries;
        break;
      case StoreOp::Kind::get:
        get_one(op, tally);
        break;
    }
  }

  void put(const StoreOp& op, std::string_view value) {
    Statement& statement = (*this)[ttl_ ? put_ttl : put_plain].key(op.key_view()).value(value);
    if (ttl_) statement.time(op.deadline, 3);
    keep(statement.run());
  }

  bool erase(std::string_view key) {
    Statement& statement = (*this)[ttl_ ? erase_ttl : erase_plain].key(key);
    int code = statement.step();
    bool erased = !ttl_ && sqlite3_changes(database_) > 0;
    for (; code == SQLITE_ROW; code = statement.step()) {
      erased = !is_due(statement.time_at(0), now_);
    }
    statement.reset();
    keep(code);
    return erased;
  }

  void keep(int code) {
    if (code == SQLITE_ROW || code == SQLITE_DONE || code_ != SQLITE_OK) return;
    code_ = code;
  }
  void check() const {
    if (code_ != SQLITE_OK) throw Failure(std::string("SQLite: ") + sqlite3_errstr(code_));
  }
  PeerTally checked(PeerTally tally) const {
    check();
    return tally;
  }

  const Clock& clock_;
  sqlite3* database_ = nullptr;
  std::unique_ptr<std::array<Statement, kStatements>> statements_;
  bool ttl_ = false;
  Time now_{};
  int code_ = SQLITE_OK;  // the first failure
};

}  // namespace

std::unique_ptr<Peer> make_sqlite_peer(const Clock& clock) {
  return std::make_unique<SqlitePeer>(clock);
}

}  // namespace mayfly::bench

#else

namespace mayfly::bench {

std::unique_ptr<Peer> make_sqlite_peer(const Clock&) { return nullptr; }

}  // namespace mayfly::bench

#endif
