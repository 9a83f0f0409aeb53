// SPDX-License-Identifier: Apache-2.0
// LMDB by hand as one of the systems that are compared; the operations are in peer_lmdb_txn.h.

#include <lmdb.h>

#include <algorithm>
#include <string>

#include "bench/peers/peer.h"
#include "bench/peers/peer_lmdb_txn.h"
#include "bench/report/must.h"

namespace mayfly::bench {
namespace {

using by_hand::LmdbTxn;
using by_hand::to_view;

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
  by_hand::Tables tables_;
  bool ttl_ = false;
};

}  // namespace

std::unique_ptr<Peer> make_lmdb_peer(const Clock& clock) {
  return std::make_unique<LmdbPeer>(clock);
}

}  // namespace mayfly::bench
