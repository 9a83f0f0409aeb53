// SPDX-License-Identifier: Apache-2.0
// RocksDB as one of the systems that are compared: a log-structured store with its write-ahead log
// on, and the three tables as column families. It needs an index over a batch to see, in a
// transaction with TTLs, what was written in it before.

#include "bench/peers/peer.h"

#ifdef MAYFLY_HAS_ROCKSDB

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/write_batch_with_index.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "bench/report/must.h"

namespace mayfly::bench {
namespace {

constexpr std::size_t kBlockCacheBytes = std::size_t{1} << 30;

std::string stamp_text(Time deadline) {
  const auto bits = static_cast<std::uint64_t>(deadline.time_since_epoch().count());
  const auto bytes = std::bit_cast<std::array<char, kStampBytes>>(__builtin_bswap64(bits));
  return {bytes.data(), bytes.size()};
}

Time to_time(const rocksdb::Slice& stamp) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, stamp.data(), sizeof bits);
  return Time(Millis(static_cast<std::int64_t>(__builtin_bswap64(bits))));
}

rocksdb::Slice to_slice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

rocksdb::Options options_for_all() {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(kBlockCacheBytes);
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  rocksdb::Options options;
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  options.compression = rocksdb::kNoCompression;  // as the others; the values are random
  options.info_log_level = rocksdb::ERROR_LEVEL;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

class RocksdbPeer final : public Peer {
 public:
  explicit RocksdbPeer(const Clock& clock) : clock_(clock) {}
  ~RocksdbPeer() override {
    for (rocksdb::ColumnFamilyHandle* const family : families_) {
      database_->DestroyColumnFamilyHandle(family);
    }
  }

  void open(const PeerPlace& place) override {
    ttl_ = place.ttl;
    write_.sync = place.durability == Durability::full;
    const rocksdb::Options options = options_for_all();
    const std::vector<rocksdb::ColumnFamilyDescriptor> descriptors = {
        {rocksdb::kDefaultColumnFamilyName, options}, {"keys", options}, {"deadlines", options}};
    rocksdb::DB* database = nullptr;
    keep(rocksdb::DB::Open(options, (place.directory / "rocksdb").string(), descriptors, &families_,
                           &database));
    database_.reset(database);
    check();
  }

  PeerTally apply(const StoreOps& ops, std::size_t batch) override {
    PeerTally tally;
    for (std::size_t begin = 0; begin < ops.ops.size(); begin += batch) {
      const auto some = ops.ops.subspan(begin, std::min(batch, ops.ops.size() - begin));
      if (ttl_) {
        now_ = clock_.now();
        rocksdb::WriteBatchWithIndex changes(rocksdb::BytewiseComparator(), 0, true);
        for (const StoreOp& op : some) apply_one(changes, *ops.values, op, tally);
        keep(database_->Write(write_, changes.GetWriteBatch()));
      } else {
        rocksdb::WriteBatch changes;
        for (const StoreOp& op : some) {
          keep(changes.Put(data(), to_slice(op.key_view()), to_slice((*ops.values)[op])));
        }
        tally.entries += some.size();
        keep(database_->Write(write_, &changes));
      }
    }
    return checked(tally);
  }

  PeerTally get(const StoreOps& ops) override {
    const rocksdb::Snapshot* const snapshot = database_->GetSnapshot();
    read_.snapshot = snapshot;
    PeerTally tally = get_each(ops);
    read_.snapshot = nullptr;
    database_->ReleaseSnapshot(snapshot);
    return tally;
  }

  PeerTally get_each(const StoreOps& ops) override {
    PeerTally tally;
    now_ = clock_.now();
    rocksdb::PinnableSlice value;
    for (const StoreOp& op : ops.ops) {
      const rocksdb::Slice key = to_slice(op.key_view());
      if (found(database_->Get(read_, data(), key, &value)) && (!ttl_ || is_alive(key))) {
        tally.read(value.ToStringView());
      }
      value.Reset();
    }
    return checked(tally);
  }

  PeerTally scan() override {
    PeerTally tally;
    now_ = clock_.now();
    const std::unique_ptr<rocksdb::Iterator> walk(database_->NewIterator(read_, data()));
    for (walk->SeekToFirst(); walk->Valid(); walk->Next()) {
      if (!ttl_ || is_alive(walk->key())) tally.read(walk->value().ToStringView());
    }
    keep(walk->status());
    return checked(tally);
  }

  PeerTally purge() override {
    PeerTally tally;
    now_ = clock_.now();
    const std::unique_ptr<rocksdb::Iterator> walk(database_->NewIterator(read_, deadlines()));
    walk->SeekToFirst();
    bool more = true;
    while (more) {
      rocksdb::WriteBatch changes;
      std::size_t removed = 0;
      for (; removed < kPeerPurgeBatch && walk->Valid(); walk->Next(), ++removed) {
        if (!is_due(to_time(walk->key()), now_)) break;
        rocksdb::Slice key = walk->key();
        keep(changes.Delete(deadlines(), key));
        key.remove_prefix(kStampBytes);
        keep(changes.Delete(data(), key));
        keep(changes.Delete(keys(), key));
      }
      keep(database_->Write(write_, &changes));
      tally.entries += removed;
      more = removed == kPeerPurgeBatch;
    }
    keep(walk->status());
    return checked(tally);
  }

 private:
  rocksdb::ColumnFamilyHandle* data() const { return families_[0]; }
  rocksdb::ColumnFamilyHandle* keys() const { return families_[1]; }
  rocksdb::ColumnFamilyHandle* deadlines() const { return families_[2]; }

  bool is_alive(const rocksdb::Slice& key) {
    rocksdb::PinnableSlice stamp;
    return !found(database_->Get(read_, keys(), key, &stamp)) || !is_due(to_time(stamp), now_);
  }

  void apply_one(rocksdb::WriteBatchWithIndex& changes, const ValuePool& values, const StoreOp& op,
                 PeerTally& tally) {
    const rocksdb::Slice key = to_slice(op.key_view());
    const std::optional<Time> old = deadline_in(changes, key);
    const bool alive = !old || !is_due(*old, now_);
    if (op.kind == StoreOp::Kind::get) {
      rocksdb::PinnableSlice value;
      const bool there =
          found(changes.GetFromBatchAndDB(database_.get(), read_, data(), key, &value));
      if (there && alive) tally.read(value.ToStringView());
      return;
    }
    if (old) keep(changes.Delete(deadlines(), stamp_text(*old).append(op.key_view())));
    if (op.kind == StoreOp::Kind::put) {
      std::string stamp = stamp_text(op.deadline);
      keep(changes.Put(data(), key, to_slice(values[op])));
      keep(changes.Put(keys(), key, stamp));
      keep(changes.Put(deadlines(), stamp.append(op.key_view()), ""));
      ++tally.entries;
    } else if (old) {  // all entries have a deadline here
      keep(changes.Delete(keys(), key));
      keep(changes.Delete(data(), key));
      if (alive) ++tally.entries;
    }
  }

  std::optional<Time> deadline_in(rocksdb::WriteBatchWithIndex& changes,
                                  const rocksdb::Slice& key) {
    rocksdb::PinnableSlice stamp;
    if (!found(changes.GetFromBatchAndDB(database_.get(), read_, keys(), key, &stamp))) return {};
    return to_time(stamp);
  }

  bool keep(const rocksdb::Status& result) {
    if (!result.ok() && failure_.empty()) failure_ = result.ToString();
    return result.ok();
  }
  bool found(const rocksdb::Status& result) { return !result.IsNotFound() && keep(result); }
  void check() const {
    if (!failure_.empty()) throw Failure("RocksDB: " + failure_);
  }
  PeerTally checked(PeerTally tally) const {
    check();
    return tally;
  }

  const Clock& clock_;
  std::unique_ptr<rocksdb::DB> database_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;
  rocksdb::ReadOptions read_;
  rocksdb::WriteOptions write_;
  bool ttl_ = false;
  Time now_{};
  std::string failure_;  // the first
};

}  // namespace

std::unique_ptr<Peer> make_rocksdb_peer(const Clock& clock) {
  return std::make_unique<RocksdbPeer>(clock);
}

}  // namespace mayfly::bench

#else

namespace mayfly::bench {

std::unique_ptr<Peer> make_rocksdb_peer(const Clock&) { return nullptr; }

}  // namespace mayfly::bench

#endif
