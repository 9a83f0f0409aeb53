// SPDX-License-Identifier: Apache-2.0
// LMDB by hand as one of the systems that are compared: what somebody who knows it well writes to
// give keys a deadline. Same tables, same key layouts and same environment as the store has.
//
//   data       key -> value
//   keys       key -> deadline, 8 bytes big-endian
//   deadlines  [deadline, 8 bytes big-endian][key] -> nothing

#include <lmdb.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "bench/peers/peer.h"
#include "bench/report/must.h"

namespace mayfly::bench {
namespace {

using Stamp = std::array<char, kStampBytes>;
using DeadlineKey = std::array<char, kStampBytes + kBenchKeyBytes>;

Stamp to_stamp(Time deadline) {
  return std::bit_cast<Stamp>(
      __builtin_bswap64(static_cast<std::uint64_t>(deadline.time_since_epoch().count())));
}

Time to_time(const MDB_val& stamp) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, stamp.mv_data, sizeof bits);
  return Time(Millis(static_cast<std::int64_t>(__builtin_bswap64(bits))));
}

MDB_val to_val(std::string_view bytes) {
  return {bytes.size(), const_cast<char*>(bytes.data())};  // LMDB does not write through it
}

std::string_view to_view(const MDB_val& value) {
  return {static_cast<const char*>(value.mv_data), value.mv_size};
}

struct Tables {
  MDB_dbi data = 0;
  MDB_dbi keys = 0;
  MDB_dbi deadlines = 0;
};

// One transaction, and the operations in it. The first failure is kept, and the rest do nothing.
class LmdbTxn {
 public:
  LmdbTxn(MDB_env* env, const Tables& tables, bool ttl, Time now, unsigned flags)
      : tables_(tables), ttl_(ttl), now_(now) {
    code_ = mdb_txn_begin(env, nullptr, flags, &txn_);
  }
  ~LmdbTxn() {
    if (txn_ != nullptr) mdb_txn_abort(txn_);
  }
  LmdbTxn(const LmdbTxn&) = delete;
  LmdbTxn& operator=(const LmdbTxn&) = delete;

  int code() const { return code_; }
  MDB_txn* raw() const { return txn_; }

  int commit() {
    if (code_ != 0) return code_;
    return mdb_txn_commit(std::exchange(txn_, nullptr));
  }

  bool get(std::string_view key, MDB_val& value) {
    MDB_val wanted = to_val(key);
    if (!found(mdb_get(txn_, tables_.data, &wanted, &value))) return false;
    return !ttl_ || is_alive(wanted);
  }

  bool is_alive(MDB_val key) {
    MDB_val stamp;
    return !found(mdb_get(txn_, tables_.keys, &key, &stamp)) || !is_due(to_time(stamp), now_);
  }

  void put(std::string_view key, std::string_view value, Time deadline) {
    MDB_val key_val = to_val(key);
    MDB_val value_val = to_val(value);
    keep(mdb_put(txn_, tables_.data, &key_val, &value_val, 0));
    if (!ttl_) return;
    forget_deadline(key);
    Stamp stamp = to_stamp(deadline);
    MDB_val stamp_val{stamp.size(), stamp.data()};
    keep(mdb_put(txn_, tables_.keys, &key_val, &stamp_val, 0));
    DeadlineKey row = deadline_key(stamp, key);
    MDB_val row_val{row.size(), row.data()};
    MDB_val nothing{0, nullptr};
    keep(mdb_put(txn_, tables_.deadlines, &row_val, &nothing, 0));
  }

  bool erase(std::string_view key) {
    bool alive = true;
    MDB_val key_val = to_val(key);
    if (ttl_) {
      if (const std::optional<Time> deadline = forget_deadline(key)) {
        alive = !is_due(*deadline, now_);
        keep(mdb_del(txn_, tables_.keys, &key_val, nullptr));
      }
    }
    return found(mdb_del(txn_, tables_.data, &key_val, nullptr)) && alive;
  }

  // Removes what is due, `limit` at most. Returns how many.
  std::size_t purge(std::size_t limit) {
    MDB_cursor* cursor = nullptr;
    if (!keep(mdb_cursor_open(txn_, tables_.deadlines, &cursor))) return 0;
    std::size_t removed = 0;
    MDB_val row;
    MDB_val nothing;
    MDB_cursor_op move = MDB_FIRST;
    while (removed < limit && found(mdb_cursor_get(cursor, &row, &nothing, move))) {
      if (!is_due(to_time(row), now_)) break;
      DeadlineKey copy{};  // the page it is in is about to change
      std::memcpy(copy.data(), row.mv_data, copy.size());
      MDB_val key{kBenchKeyBytes, copy.data() + kStampBytes};
      keep(mdb_del(txn_, tables_.data, &key, nullptr));
      keep(mdb_del(txn_, tables_.keys, &key, nullptr));
      keep(mdb_cursor_del(cursor, 0));
      move = MDB_NEXT;
      ++removed;
    }
    mdb_cursor_close(cursor);
    return removed;
  }

 private:
  // Removes the row of the old deadline, if there is one, but not that of the key.
  std::optional<Time> forget_deadline(std::string_view key) {
    MDB_val key_val = to_val(key);
    MDB_val stamp;
    if (!found(mdb_get(txn_, tables_.keys, &key_val, &stamp))) return {};
    const Time deadline = to_time(stamp);
    DeadlineKey row = deadline_key(to_stamp(deadline), key);
    MDB_val row_val{row.size(), row.data()};
    keep(mdb_del(txn_, tables_.deadlines, &row_val, nullptr));
    return deadline;
  }

  static DeadlineKey deadline_key(const Stamp& stamp, std::string_view key) {
    DeadlineKey row;
    std::memcpy(row.data(), stamp.data(), kStampBytes);
    std::memcpy(row.data() + kStampBytes, key.data(), kBenchKeyBytes);
    return row;
  }

  bool keep(int code) {
    if (code != 0 && code_ == 0) code_ = code;
    return code == 0;
  }
  bool found(int code) { return code != MDB_NOTFOUND && keep(code); }

  const Tables& tables_;
  const bool ttl_;
  const Time now_;
  MDB_txn* txn_ = nullptr;
  int code_ = 0;
};

constexpr unsigned kFlags = MDB_NOSUBDIR | MDB_NOTLS | MDB_NORDAHEAD;  // as the store

void check(int code) {
  if (code != 0) throw Failure(std::string("LMDB: ") + mdb_strerror(code));
}

class LmdbPeer final : public Peer {
 public:
  explicit LmdbPeer(const Clock& clock) : clock_(clock) {}
  ~LmdbPeer() override {
    if (env_ != nullptr) mdb_env_close(env_);
  }

  void open(const PeerPlace& place) override {
    ttl_ = place.ttl;
    const std::string path = (place.directory / "lmdb.db").string();
    const unsigned sync = place.durability == Durability::full ? 0 : MDB_NOSYNC;
    const std::uint64_t map = std::filesystem::space(place.directory).capacity;  // as the store
    int code = mdb_env_create(&env_);
    if (code == 0) code = mdb_env_set_mapsize(env_, map / 4096 * 4096);
    if (code == 0) code = mdb_env_set_maxdbs(env_, 3);
    if (code == 0) code = mdb_env_open(env_, path.c_str(), kFlags | sync, 0644);
    if (code == 0) code = open_tables();
    check(code);
  }

  PeerTally apply(const StoreOps& ops, std::size_t batch) override {
    PeerTally tally;
    for (std::size_t begin = 0; begin < ops.ops.size(); begin += batch) {
      LmdbTxn txn(env_, tables_, ttl_, clock_.now(), 0);
      check(txn.code());
      for (const StoreOp& op : ops.ops.subspan(begin, std::min(batch, ops.ops.size() - begin))) {
        apply_one(txn, *ops.values, op, tally);
      }
      check(txn.commit());
    }
    return tally;
  }

  PeerTally get(const StoreOps& ops) override {
    LmdbTxn txn(env_, tables_, ttl_, clock_.now(), MDB_RDONLY);
    check(txn.code());
    PeerTally tally;
    MDB_val value;
    for (const StoreOp& op : ops.ops) {
      if (txn.get(op.key_view(), value)) tally.read(to_view(value));
    }
    check(txn.code());
    return tally;
  }

  PeerTally get_each(const StoreOps& ops) override {
    LmdbTxn txn(env_, tables_, ttl_, clock_.now(), MDB_RDONLY);
    check(txn.code());
    PeerTally tally;
    std::string copy;
    MDB_val value;
    for (const StoreOp& op : ops.ops) {
      mdb_txn_reset(txn.raw());
      check(mdb_txn_renew(txn.raw()));
      if (!txn.get(op.key_view(), value)) continue;
      copy = to_view(value);
      tally.read(copy);
    }
    check(txn.code());
    return tally;
  }

  PeerTally scan() override {
    LmdbTxn txn(env_, tables_, ttl_, clock_.now(), MDB_RDONLY);
    check(txn.code());
    MDB_cursor* cursor = nullptr;
    int code = mdb_cursor_open(txn.raw(), tables_.data, &cursor);
    check(code);
    PeerTally tally;
    MDB_val key;
    MDB_val value;
    for (code = mdb_cursor_get(cursor, &key, &value, MDB_FIRST); code == 0;
         code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
      if (!ttl_ || txn.is_alive(key)) tally.read(to_view(value));
    }
    mdb_cursor_close(cursor);
    if (code != MDB_NOTFOUND) check(code);
    return tally;
  }

  PeerTally purge() override {
    PeerTally tally;
    for (std::size_t removed = kPeerPurgeBatch; removed == kPeerPurgeBatch;) {
      LmdbTxn txn(env_, tables_, ttl_, clock_.now(), 0);
      check(txn.code());
      removed = txn.purge(kPeerPurgeBatch);
      check(txn.commit());
      tally.entries += removed;
    }
    return tally;
  }

 private:
  int open_tables() {
    LmdbTxn txn(env_, tables_, ttl_, clock_.now(), 0);
    int code = txn.code();
    if (code == 0) code = mdb_dbi_open(txn.raw(), "data", MDB_CREATE, &tables_.data);
    if (code == 0 && ttl_) code = mdb_dbi_open(txn.raw(), "keys", MDB_CREATE, &tables_.keys);
    if (code == 0 && ttl_) {
      code = mdb_dbi_open(txn.raw(), "deadlines", MDB_CREATE, &tables_.deadlines);
    }
    return code == 0 ? txn.commit() : code;
  }

  static void apply_one(LmdbTxn& txn, const ValuePool& values, const StoreOp& op,
                        PeerTally& tally) {
    MDB_val value;
    switch (op.kind) {
      case StoreOp::Kind::put:
        txn.put(op.key_view(), values[op], op.deadline);
        ++tally.entries;
        break;
      case StoreOp::Kind::erase:
        if (txn.erase(op.key_view())) ++tally.entries;
        break;
      case StoreOp::Kind::get:
        if (txn.get(op.key_view(), value)) tally.read(to_view(value));
        break;
    }
  }

  const Clock& clock_;
  MDB_env* env_ = nullptr;
  Tables tables_;
  bool ttl_ = false;
};

}  // namespace

std::unique_ptr<Peer> make_lmdb_peer(const Clock& clock) {
  return std::make_unique<LmdbPeer>(clock);
}

}  // namespace mayfly::bench
