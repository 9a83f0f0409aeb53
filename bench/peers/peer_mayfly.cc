// SPDX-License-Identifier: Apache-2.0
// Mayfly's own store as one of the systems that are compared, through its C++ interface.

#include <optional>
#include <string>
#include <string_view>

#include "bench/peers/peer.h"
#include "bench/report/must.h"
#include "mayfly/store.h"

namespace mayfly::bench {
namespace {

class MayflyPeer final : public Peer {
 public:
  explicit MayflyPeer(const Clock& clock) : clock_(clock) {}

  void open(const PeerPlace& place) override {
    store_.emplace(
        must(Store::open(place.directory / "mayfly.db", clock_,
                         {.durability = place.durability, .purge_batch = kPeerPurgeBatch})));
  }

  PeerTally apply(const StoreOps& ops, std::size_t batch) override {
    if (batch == 1) return apply_each(ops);
    PeerTally tally;
    for (std::size_t begin = 0; begin < ops.ops.size(); begin += batch) {
      WriteTxn txn = must(store_->write());
      for (const StoreOp& op : ops.ops.subspan(begin, std::min(batch, ops.ops.size() - begin))) {
        apply_one(txn, *ops.values, op, tally);
      }
      must(txn.commit());
    }
    return tally;
  }

  PeerTally get(const StoreOps& ops) override {
    const ReadTxn txn = must(store_->read());
    PeerTally tally;
    for (const StoreOp& op : ops.ops) {
      const auto value = txn.get(op.key_view());
      if (!value) throw Failure(value.error().message);
      if (*value) tally.read(**value);
    }
    return tally;
  }

  PeerTally get_each(const StoreOps& ops) override {
    PeerTally tally;
    std::string value;
    for (const StoreOp& op : ops.ops) {
      const Result<bool> found = store_->get_into(value, op.key_view());
      if (!found) throw Failure(found.error().message);
      if (*found) tally.read(value);
    }
    return tally;
  }

  PeerTally scan() override {
    const ReadTxn txn = must(store_->read());
    Cursor cursor = must(txn.cursor());
    PeerTally tally;
    for (bool on = cursor.first(); on; on = cursor.next()) tally.read(cursor.value());
    must(cursor.status());
    return tally;
  }

  PeerTally purge() override {
    const Purged purged = store_->purge_expired();
    must(purged.status);
    return PeerTally{.entries = purged.removed};
  }

 private:
  // Puts only, each a transaction of its own.
  PeerTally apply_each(const StoreOps& ops) {
    for (const StoreOp& op : ops.ops) {
      must(store_->put(op.key_view(), (*ops.values)[op], Expiry(op.deadline)));
    }
    return PeerTally{.entries = ops.ops.size()};
  }

  static void apply_one(WriteTxn& txn, const ValuePool& values, const StoreOp& op,
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
        if (!value) throw Failure(value.error().message);
        if (*value) tally.read(**value);
        break;
      }
    }
  }

  const Clock& clock_;
  std::optional<Store> store_;
};

}  // namespace

std::unique_ptr<Peer> make_mayfly_peer(const Clock& clock) {
  return std::make_unique<MayflyPeer>(clock);
}

}  // namespace mayfly::bench
