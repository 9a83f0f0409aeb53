// SPDX-License-Identifier: Apache-2.0
// Mayfly's own store as one of the systems that are compared, through its public C++ interface.

#include <optional>
#include <string>

#include "bench/peers/peer.h"
#include "mayfly/store.h"

namespace mayfly {
namespace {

class MayflyPeer final : public Peer {
 public:
  explicit MayflyPeer(const Clock& clock) : clock_(clock) {}

  Status open(const PeerPlace& place) override {
    Result<Store> store =
        Store::open(place.directory / "mayfly.db", clock_,
                    {.durability = place.durability, .purge_batch = kPeerPurgeBatch});
    if (!store) return store.error();
    store_.emplace(std::move(*store));
    return Done{};
  }

  Result<PeerTally> apply(const StoreOps& ops, std::size_t batch) override {
    if (batch == 1) return apply_each(ops);
    PeerTally tally;
    for (std::size_t begin = 0; begin < ops.ops.size(); begin += batch) {
      Result<WriteTxn> txn = store_->write();
      if (!txn) return txn.error();
      for (const StoreOp& op : ops.ops.subspan(begin, std::min(batch, ops.ops.size() - begin))) {
        if (const Status status = apply_one(*txn, *ops.values, op, tally); !status) {
          return status.error();
        }
      }
      if (const Status status = txn->commit(); !status) return status.error();
    }
    return tally;
  }

  Result<PeerTally> get(const StoreOps& ops) override {
    const Result<ReadTxn> txn = store_->read();
    if (!txn) return txn.error();
    PeerTally tally;
    for (const StoreOp& op : ops.ops) {
      const auto value = txn->get(op.key_view());
      if (!value) return value.error();
      if (*value) tally.read(**value);
    }
    return tally;
  }

  Result<PeerTally> get_each(const StoreOps& ops) override {
    PeerTally tally;
    std::string value;
    for (const StoreOp& op : ops.ops) {
      const Result<bool> found = store_->get_into(value, op.key_view());
      if (!found) return found.error();
      if (*found) tally.read(value);
    }
    return tally;
  }

  Result<PeerTally> scan() override {
    const Result<ReadTxn> txn = store_->read();
    if (!txn) return txn.error();
    Result<Cursor> cursor = txn->cursor();
    if (!cursor) return cursor.error();
    PeerTally tally;
    for (bool on = cursor->first(); on; on = cursor->next()) tally.read(cursor->value());
    if (const Status status = cursor->status(); !status) return status.error();
    return tally;
  }

  Result<PeerTally> purge() override {
    const Purged purged = store_->purge_expired();
    if (!purged.status) return purged.status.error();
    return PeerTally{.entries = purged.removed};
  }

 private:
  // Puts only, each a transaction of its own.
  Result<PeerTally> apply_each(const StoreOps& ops) {
    for (const StoreOp& op : ops.ops) {
      const Status status = store_->put(op.key_view(), (*ops.values)[op], Expiry(op.deadline));
      if (!status) return status.error();
    }
    return PeerTally{.entries = ops.ops.size()};
  }

  static Status apply_one(WriteTxn& txn, const ValuePool& values, const StoreOp& op,
                          PeerTally& tally) {
    switch (op.kind) {
      case StoreOp::Kind::put:
        txn.put(op.key_view(), values[op], Expiry(op.deadline));
        ++tally.entries;
        break;
      case StoreOp::Kind::erase:
        if (txn.erase(op.key_view())) ++tally.entries;
        break;
      case StoreOp::Kind::get: {
        const auto value = txn.get(op.key_view());
        if (!value) return value.error();
        if (*value) tally.read(**value);
        break;
      }
    }
    return Done{};
  }

  const Clock& clock_;
  std::optional<Store> store_;
};

}  // namespace

std::unique_ptr<Peer> make_mayfly_peer(const Clock& clock) {
  return std::make_unique<MayflyPeer>(clock);
}

}  // namespace mayfly
