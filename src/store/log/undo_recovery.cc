// SPDX-License-Identifier: Apache-2.0
#include "store/log/undo_recovery.h"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <span>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "store/lmdb/lmdb.h"
#include "store/lmdb/page_format.h"

namespace mayfly::internal {
namespace {

constexpr std::uint64_t kUndoBlock = 4096;
constexpr std::uint64_t kUndoAreas = 4 * kUndoBlock;
constexpr std::uint64_t kUndoTurn = 1 << 20;
constexpr std::size_t kUndoBatchBytes = 4 << 20;  // of images, at most

constexpr std::uint64_t kUndoHeaderMagic = 0x316f646e7579616d;   // "mayundo1"
constexpr std::uint64_t kUndoControlMagic = 0x6c727463646e756d;  // "mundctrl"
constexpr std::uint64_t kUndoBatchMagic = 0x686374616279616d;    // "maybatch"

struct UndoPoint {
  std::uint64_t magic;
  std::uint64_t generation;
  std::uint64_t is_open;         // 0: the store is whole, there is nothing to undo
  std::uint64_t start;           // where in its area its batches begin
  std::uint64_t first_sequence;  // the number of its first batch
  std::uint64_t salt;            // seeds the checksums of batches
  char boot_id[40];              // of the boot that made it
  LmdbMeta meta;                 // the store's meta page at this point
  std::uint64_t checksum;        // of all before it
};
static_assert(sizeof(UndoPoint) == 248);

struct UndoWords {
  std::uint64_t magic;
  std::uint64_t unused[8];
  std::uint64_t has_failed;  // 1: the store's file could not be synced in this boot
  std::uint64_t checksum;    // of all before it
};
static_assert(sizeof(UndoWords) == 88);

struct UndoBatchHead {
  std::uint64_t magic;
  std::uint64_t generation;
  std::uint64_t sequence;
  std::uint64_t count;
  std::uint64_t page_size;
  std::uint64_t checksum;  // of the whole batch, with 0 in this place
};
static_assert(sizeof(UndoBatchHead) == 48);

struct UndoBatch {
  UndoBatchHead head;
  std::vector<std::byte> bytes;  // all of it
};

std::uint64_t undo_slot_of(std::uint64_t generation) { return kUndoBlock * (1 + (generation & 1)); }

template <class Block>
std::uint64_t undo_checksum(const Block& block) {
  return XXH3_64bits(&block, offsetof(Block, checksum));
}

// The store or its undo log. The first error stays: nothing is read or written after it, and
// status() tells it.
class UndoneFile {
 public:
  UndoneFile(std::string path, int flags)
      : path_(std::move(path)), file_(::open(path_.c_str(), flags | O_CLOEXEC)) {
    if (file_ < 0 && errno != ENOENT) status_ = system_error(errno, "open", path_);
  }
  ~UndoneFile() {
    if (file_ >= 0) ::close(file_);
  }
  UndoneFile(const UndoneFile&) = delete;
  UndoneFile& operator=(const UndoneFile&) = delete;

  bool exists() const { return file_ >= 0; }
  const Status& status() const { return status_; }

  Status damaged(std::string_view what) {
    if (status_) status_ = Error{Code::corrupt, std::string(path_).append(": ").append(what)};
    return status_;
  }

  // Whether there are so many bytes.
  bool read(std::uint64_t offset, std::span<std::byte> bytes) {
    return transfer(::pread, "read", offset, bytes);
  }
  void write(std::uint64_t offset, std::span<const std::byte> bytes) {
    const bool written = transfer(::pwrite, "write", offset, bytes);
    if (!written && status_) status_ = system_error(ENOSPC, "write", path_);
  }
  Status sync() {
    while (status_ && ::fdatasync(file_) != 0) {
      if (errno != EINTR) status_ = system_error(errno, "sync", path_);
    }
    return status_;
  }
  Status remove() const {
    if (::unlink(path_.c_str()) == 0 || errno == ENOENT) return Done{};
    return system_error(errno, "remove", path_);
  }

 private:
  template <class Call, class Byte>
  bool transfer(Call call, const char* doing, std::uint64_t offset, std::span<Byte> bytes) {
    while (status_ && !bytes.empty()) {
      const ssize_t count = call(file_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) status_ = system_error(errno, doing, path_);
      if (count <= 0) return false;
      offset += static_cast<std::uint64_t>(count);
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return status_.ok();
  }

  const std::string path_;
  const int file_;
  Status status_ = Done{};
};

// Reads a block, and returns whether it is whole.
template <class Block>
bool read_undo_block(UndoneFile& log, std::uint64_t offset, std::uint64_t magic, Block& block) {
  return log.read(offset, std::as_writable_bytes(std::span(&block, 1))) && block.magic == magic &&
         block.checksum == undo_checksum(block);
}

// The recovery point of the greatest generation.
Result<UndoPoint> newest_point(UndoneFile& log) {
  UndoPoint best{};
  for (const std::uint64_t slot : {0, 1}) {
    UndoPoint found{};
    const bool whole = read_undo_block(log, undo_slot_of(slot), kUndoHeaderMagic, found);
    if (whole && (found.generation & 1) == slot && found.generation > best.generation) best = found;
  }
  if (best.generation == 0) return log.damaged("both of its headers are damaged").error();
  return best;
}

// Reads from an area, in the pieces in which it lies in the file. Returns whether all was there.
bool read_undo_area(UndoneFile& log, std::uint64_t area, std::uint64_t offset,
                    std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const std::uint64_t in_turn = offset % kUndoTurn;
    const std::size_t size = std::min<std::uint64_t>(bytes.size(), kUndoTurn - in_turn);
    const std::uint64_t turn = offset / kUndoTurn * 2 + (area & 1);
    if (!log.read(kUndoAreas + turn * kUndoTurn + in_turn, bytes.first(size))) return false;
    bytes = bytes.subspan(size);
    offset += size;
  }
  return true;
}

// Reads the batch of `generation` at `offset` of its area, and returns whether it is whole.
bool read_undo_batch(UndoneFile& log, const UndoPoint& point, std::uint64_t generation,
                     std::uint64_t offset, UndoBatch& batch) {
  UndoBatchHead& head = batch.head;
  const std::uint64_t page_size = point.meta.page_size();
  const auto head_bytes = std::as_writable_bytes(std::span(&head, 1));
  if (!read_undo_area(log, generation, offset, head_bytes) || head.magic != kUndoBatchMagic ||
      head.generation != generation || head.page_size != page_size || head.count == 0 ||
      head.count > kUndoBatchBytes / page_size) {
    return false;
  }
  const std::uint64_t size = sizeof head + head.count * (sizeof(std::uint64_t) + page_size);
  batch.bytes.resize((size + kUndoBlock - 1) / kUndoBlock * kUndoBlock);
  if (!read_undo_area(log, generation, offset, batch.bytes)) return false;
  const std::uint64_t checksum = std::exchange(head.checksum, 0);
  std::ranges::copy(head_bytes, batch.bytes.begin());
  return XXH3_64bits_withSeed(batch.bytes.data(), batch.bytes.size(), point.salt) == checksum;
}

// Puts back the pages of a batch that are not in `seen` yet: the first image of a page counts.
void restore_batch(const UndoBatch& batch, const UndoPoint& point, UndoneFile& store,
                   std::unordered_set<std::uint64_t>& seen) {
  const std::size_t page_size = point.meta.page_size();
  const std::size_t images = sizeof batch.head + batch.head.count * sizeof(std::uint64_t);
  for (std::size_t i = 0; i < batch.head.count; ++i) {
    const auto page =
        load<std::uint64_t>(batch.bytes, sizeof batch.head + i * sizeof(std::uint64_t));
    if (page > point.meta.last_page() || !seen.insert(page).second) continue;
    store.write(page * page_size, Bytes(batch.bytes).subspan(images + i * page_size, page_size));
  }
}

// Puts back all pages that lead to `point`.
Status restore_pages(UndoneFile& log, const UndoPoint& point, UndoneFile& store) {
  std::unordered_set<std::uint64_t> seen;
  std::uint64_t expected = point.first_sequence;
  UndoBatch batch;
  for (const std::uint64_t next : {0, 1}) {
    std::uint64_t offset = next == 0 ? point.start : 0;
    bool is_first = next == 1;  // in the other area
    while (read_undo_batch(log, point, point.generation + next, offset, batch)) {
      // It may have the number of the last one before, if that was written but never confirmed.
      // It cannot have a greater one than the next.
      const std::uint64_t sequence = batch.head.sequence;
      if (is_first && sequence > expected) return log.damaged("saved pages are missing");
      if (std::exchange(is_first, false)) expected = sequence;
      if (sequence != expected++) break;
      restore_batch(batch, point, store, seen);
      offset += batch.bytes.size();
    }
  }
  return log.status() ? store.status() : log.status();
}

// Both meta pages show the recovery point, the other one as if it were a transaction earlier, so
// that LMDB takes the right one and each is in the place that its number demands.
void restore_both_metas(UndoneFile& store, const LmdbMeta& point) {
  const std::uint64_t transaction = point.transaction();
  std::vector<std::byte> page(point.page_size());
  for (const std::uint64_t age : {1, 0}) {
    LmdbMeta meta = point;
    const std::uint64_t number = (transaction ^ age) & 1;
    meta.set_page_number(number);
    if (transaction > 0) meta.set_transaction(transaction - age);
    std::ranges::copy(meta.bytes, page.begin());
    store.write(number * page.size(), page);
  }
}

// Whether the machine was started again since the recovery point was made.
Result<bool> is_of_another_boot(const UndoPoint& point) {
  static constexpr char kPath[] = "/proc/sys/kernel/random/boot_id";
  std::string id;
  std::ifstream file(kPath);
  if (!std::getline(file, id)) return system_error(EIO, "read", kPath);
  return id != std::string_view(point.boot_id, ::strnlen(point.boot_id, sizeof point.boot_id));
}

// Makes the store whole and durable.
Status make_whole(UndoneFile& log, const UndoPoint& point, UndoneFile& store) {
  const auto is_cut = is_of_another_boot(point);
  if (!is_cut) return is_cut.error();
  if (*is_cut) {
    if (!point.meta.is_valid()) return log.damaged("not of this machine");
    if (const Status restored = restore_pages(log, point, store); !restored) return restored;
    restore_both_metas(store, point.meta);
    return store.sync();
  }
  // The page cache has all that was committed. But after a failed sync nobody knows what of it is
  // on the disk, and the next sync would succeed without having written it.
  UndoWords words{};
  const bool whole = read_undo_block(log, 0, kUndoControlMagic, words);
  if (!whole) return log.damaged("its first block is damaged");
  if (words.has_failed == 0) {
    const Status synced = store.sync();
    if (synced) return synced;
    words.has_failed = 1;
    words.checksum = undo_checksum(words);
    log.write(0, std::as_bytes(std::span(&words, 1)));
    return synced;
  }
  return Error{Code::io,
               "cannot open the store: an earlier sync of it failed (restart the machine)"};
}

}  // namespace

Status recover_version_1(const std::string& path) {
  ::unlink((path + "-undo-new").c_str());  // of a process that died while it made a log
  UndoneFile log(path + "-undo", O_RDWR);
  if (!log.exists()) return log.status();
  UndoneFile store(path, O_RDWR);
  if (!store.status()) return store.status();
  if (!store.exists()) return log.remove();  // of a store that somebody has removed

  auto point = newest_point(log);
  if (!point) return point.error();
  if (point->is_open != 0) {
    if (const Status settled = make_whole(log, *point, store); !settled) return settled;
    ++point->generation;  // a header that says so: the removal of the log may be lost
    point->is_open = 0;
    point->checksum = undo_checksum(*point);
    log.write(undo_slot_of(point->generation), std::as_bytes(std::span(&*point, 1)));
    if (const Status disarmed = log.sync(); !disarmed) return disarmed;
  }
  return log.remove();
}

Result<bool> needs_version_1_recovery(const std::string& path) {
  UndoneFile log(path + "-undo", O_RDONLY);
  if (!log.status()) return log.status().error();
  if (!log.exists()) return false;
  const auto point = newest_point(log);
  if (!point) return point.error();
  if (point->is_open == 0) return false;
  return is_of_another_boot(*point);
}

}  // namespace mayfly::internal
