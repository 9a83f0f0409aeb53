// SPDX-License-Identifier: Apache-2.0
#include "store/log/undo_log.h"

#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>
#include <utility>

#include "store/lmdb/lmdb.h"

namespace mayfly::internal {
namespace {

constexpr std::uint64_t kBlock = 4096;
constexpr std::uint64_t kAreas = 4 * kBlock;
constexpr std::uint64_t kTurn = 1 << 20;
constexpr std::size_t kBatchBytes = 4 << 20;  // of images, at most

constexpr std::uint64_t kHeaderMagic = 0x316f646e7579616d;   // "mayundo1"
constexpr std::uint64_t kControlMagic = 0x6c727463646e756d;  // "mundctrl"
constexpr std::uint64_t kBatchMagic = 0x686374616279616d;    // "maybatch"

struct DiskHeader {
  std::uint64_t magic;
  std::uint64_t generation;
  std::uint64_t is_open;
  std::uint64_t start;
  std::uint64_t first_sequence;
  std::uint64_t salt;
  char boot_id[40];
  std::byte meta[kMetaBytes];
  std::uint64_t checksum;  // of all before it
};
static_assert(sizeof(DiskHeader) == 248 && sizeof(DiskHeader) <= 512, "it fits into one sector");

struct DiskControl {
  std::uint64_t magic;
  UndoControl control;
  std::uint64_t checksum;  // of all before it
};
static_assert(sizeof(DiskControl) == 88);

struct BatchHead {
  std::uint64_t magic;
  std::uint64_t generation;
  std::uint64_t sequence;
  std::uint64_t count;
  std::uint64_t page_size;
  std::uint64_t checksum;  // of the whole batch, with 0 in this place
};
static_assert(sizeof(BatchHead) == 48);

template <class Disk>
std::uint64_t checksum_of(const Disk& disk) {
  return XXH3_64bits(&disk, offsetof(Disk, checksum));
}

std::uint64_t slot_of(std::uint64_t generation) { return kBlock * (1 + (generation & 1)); }

std::uint64_t batch_size(std::uint64_t count, std::uint64_t page_size) {
  const std::uint64_t size = sizeof(BatchHead) + count * (sizeof(std::uint64_t) + page_size);
  return (size + kBlock - 1) / kBlock * kBlock;
}

std::optional<UndoHeader> to_header(const DiskHeader& disk) {
  if (disk.magic != kHeaderMagic || disk.checksum != checksum_of(disk)) return std::nullopt;
  UndoHeader header;
  header.generation = disk.generation;
  header.is_open = disk.is_open != 0;
  header.start = disk.start;
  header.first_sequence = disk.first_sequence;
  header.salt = disk.salt;
  header.boot_id.assign(disk.boot_id, strnlen(disk.boot_id, sizeof disk.boot_id));
  std::memcpy(header.meta.bytes.data(), disk.meta, sizeof disk.meta);
  return header;
}

Error damaged_log(const std::string& path, const char* what) {
  std::string message = path;
  message += ": ";
  message += what;
  return Error{Code::corrupt, std::move(message)};
}

// The images of `pages`, which are in ascending order, one read for each run of neighbours.
Status read_pages(const UndoFile& store, std::span<const std::uint64_t> pages,
                  std::uint32_t page_size, std::byte* to) {
  for (std::size_t begin = 0; begin < pages.size();) {
    std::size_t end = begin + 1;
    while (end < pages.size() && pages[end] == pages[end - 1] + 1) ++end;
    const std::size_t size = (end - begin) * page_size;
    Result<std::size_t> count = store.read_at(pages[begin] * page_size, {to, size});
    if (!count) return count.error();
    if (*count != size) return damaged_log(store.path(), "ends before a page that it had in use");
    to += size;
    begin = end;
  }
  return Done{};
}

// Reads or writes a range of an area in the pieces in which it lies in the file.
template <class Bytes, class Access>
Status for_each_piece(std::uint64_t area, std::uint64_t offset, Bytes bytes, Access access) {
  while (!bytes.empty()) {
    const std::uint64_t in_turn = offset % kTurn;
    const std::size_t size = std::min<std::uint64_t>(bytes.size(), kTurn - in_turn);
    const std::uint64_t turn = offset / kTurn * 2 + (area & 1);
    Status status = access(kAreas + turn * kTurn + in_turn, bytes.first(size));
    if (!status) return status;
    bytes = bytes.subspan(size);
    offset += size;
  }
  return Done{};
}

}  // namespace

Result<std::optional<UndoLog>> UndoLog::open(const std::string& path) {
  Result<std::optional<UndoFile>> file = UndoFile::open(path);
  if (!file) return file.error();
  if (!*file) return std::optional<UndoLog>();
  return std::optional(UndoLog(std::move(**file)));
}

Result<UndoLog> UndoLog::create(const std::string& path, const std::string& boot_id) {
  std::string fresh = path;
  fresh += "-new";
  Result<UndoFile> file = UndoFile::create(fresh);
  if (!file) return file.error();

  UndoLog log(std::move(*file));
  std::random_device random;
  UndoHeader header;
  header.generation = 1;
  header.boot_id = boot_id;
  header.salt = (static_cast<std::uint64_t>(random()) << 32) | random();
  UndoControl control;
  control.confirmed = control.captured = 1;
  const std::vector<std::byte> zeros(kAreas);  // headers need no more space later
  Status status = log.file_.write_at(0, zeros);
  if (status) status = log.write_header(header);
  if (status) status = log.write_control(control);
  if (status) status = log.sync();
  if (!status) return status.error();
  if (std::rename(fresh.c_str(), path.c_str()) != 0) {
    return system_error(errno, "rename to", path);
  }
  status = sync_directory_of(path);
  if (!status) return status.error();

  Result<std::optional<UndoLog>> renamed = open(path);  // so that errors name the right file
  if (!renamed) return renamed.error();
  if (!*renamed) return system_error(ENOENT, "open", path);
  return std::move(**renamed);
}

Status UndoLog::remove(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return Done{};
  return system_error(errno, "remove", path);
}

Result<std::optional<UndoHeader>> UndoLog::header(std::uint64_t generation) const {
  DiskHeader disk{};
  Result<std::size_t> count =
      file_.read_at(slot_of(generation), std::as_writable_bytes(std::span(&disk, 1)));
  if (!count) return count.error();
  std::optional<UndoHeader> found = to_header(disk);
  if (found && found->generation != generation) found.reset();
  return found;
}

Result<UndoHeader> UndoLog::newest() const {
  std::optional<UndoHeader> best;
  for (const std::uint64_t slot : {0, 1}) {
    DiskHeader disk{};
    Result<std::size_t> count =
        file_.read_at(slot_of(slot), std::as_writable_bytes(std::span(&disk, 1)));
    if (!count) return count.error();
    const std::optional<UndoHeader> found = to_header(disk);
    if (!found || (found->generation & 1) != slot) continue;
    if (!best || best->generation < found->generation) best = found;
  }
  if (!best) return damaged_log(file_.path(), "both of its headers are damaged");
  return *std::move(best);
}

Status UndoLog::write_header(const UndoHeader& header) {
  DiskHeader disk{};
  disk.magic = kHeaderMagic;
  disk.generation = header.generation;
  disk.is_open = header.is_open ? 1 : 0;
  disk.start = header.start;
  disk.first_sequence = header.first_sequence;
  disk.salt = header.salt;
  header.boot_id.copy(disk.boot_id, sizeof disk.boot_id);
  std::memcpy(disk.meta, header.meta.bytes.data(), sizeof disk.meta);
  disk.checksum = checksum_of(disk);
  return file_.write_at(slot_of(header.generation), std::as_bytes(std::span(&disk, 1)));
}

Result<UndoControl> UndoLog::control() const {
  DiskControl disk{};
  Result<std::size_t> count = file_.read_at(0, std::as_writable_bytes(std::span(&disk, 1)));
  if (!count) return count.error();
  if (disk.magic != kControlMagic || disk.checksum != checksum_of(disk)) {
    return damaged_log(file_.path(), "its first block is damaged");
  }
  return disk.control;
}

Status UndoLog::write_control(const UndoControl& control) {
  DiskControl disk{};
  disk.magic = kControlMagic;
  disk.control = control;
  disk.checksum = checksum_of(disk);
  return file_.write_at(0, std::as_bytes(std::span(&disk, 1)));
}

Status UndoLog::append(UndoControl& control, std::uint64_t salt,
                       std::span<const std::uint64_t> pages, const UndoFile& store,
                       std::uint32_t page_size) {
  std::vector<std::byte> bytes;
  std::uint64_t& end = control.ends[control.captured & 1];
  while (!pages.empty()) {
    const std::size_t count = std::min(pages.size(), kBatchBytes / page_size);
    bytes.assign(batch_size(count, page_size), std::byte{});
    std::byte* const numbers = bytes.data() + sizeof(BatchHead);
    std::byte* const images = numbers + count * sizeof(std::uint64_t);
    std::memcpy(numbers, pages.data(), count * sizeof(std::uint64_t));
    Status status = read_pages(store, pages.first(count), page_size, images);
    if (!status) return status;

    BatchHead head{kBatchMagic, control.captured, control.next_sequence, count, page_size, 0};
    std::memcpy(bytes.data(), &head, sizeof head);
    head.checksum = XXH3_64bits_withSeed(bytes.data(), bytes.size(), salt);
    std::memcpy(bytes.data(), &head, sizeof head);
    status = write_area(control.captured, end, bytes);
    if (!status) return status;

    end += bytes.size();
    ++control.next_sequence;
    pages = pages.subspan(count);
  }
  return Done{};
}

Status UndoLog::replay(const UndoHeader& header, const Restore& restore) const {
  const std::uint32_t page_size = header.meta.page_size();
  std::uint64_t expected = header.first_sequence;
  for (const std::uint64_t next : {0, 1}) {
    const std::uint64_t generation = header.generation + next;
    std::uint64_t offset = next == 0 ? header.start : 0;
    for (bool is_first = true;; is_first = false) {
      Result<std::optional<Batch>> read = read_batch(generation, offset, header.salt, page_size);
      if (!read) return read.error();
      if (!*read) break;
      const Batch& batch = **read;
      // The first batch of the next area may have the number of the last one here, if that was
      // written but never confirmed. It cannot have a greater one than the next.
      if (next == 1 && is_first && batch.sequence < expected) expected = batch.sequence;
      if (next == 1 && is_first && batch.sequence > expected) {
        return damaged_log(file_.path(), "batches of saved pages are missing");
      }
      if (batch.sequence != expected) break;
      const std::byte* const numbers = batch.bytes.data() + sizeof(BatchHead);
      const std::byte* const images = numbers + batch.count * sizeof(std::uint64_t);
      for (std::uint64_t i = 0; i < batch.count; ++i) {
        std::uint64_t page = 0;
        std::memcpy(&page, numbers + i * sizeof page, sizeof page);
        Status status = restore(page, {images + i * page_size, page_size});
        if (!status) return status;
      }
      ++expected;
      offset = batch.end;
    }
  }
  return Done{};
}

Result<std::optional<UndoLog::Batch>> UndoLog::read_batch(std::uint64_t generation,
                                                          std::uint64_t start, std::uint64_t salt,
                                                          std::uint32_t page_size) const {
  BatchHead head{};
  Result<std::size_t> count =
      read_area(generation, start, std::as_writable_bytes(std::span(&head, 1)));
  if (!count) return count.error();
  if (*count != sizeof head || head.magic != kBatchMagic || head.generation != generation ||
      head.page_size != page_size || head.count == 0 || head.count > kBatchBytes / page_size) {
    return std::optional<Batch>();
  }
  Batch batch;
  batch.sequence = head.sequence;
  batch.count = head.count;
  batch.bytes.resize(batch_size(head.count, page_size));
  batch.end = start + batch.bytes.size();
  count = read_area(generation, start, batch.bytes);
  if (!count) return count.error();
  if (*count != batch.bytes.size()) return std::optional<Batch>();
  const std::uint64_t checksum = std::exchange(head.checksum, 0);
  std::memcpy(batch.bytes.data(), &head, sizeof head);
  if (XXH3_64bits_withSeed(batch.bytes.data(), batch.bytes.size(), salt) != checksum) {
    return std::optional<Batch>();
  }
  return std::optional(std::move(batch));
}

Result<std::size_t> UndoLog::read_area(std::uint64_t area, std::uint64_t offset,
                                       std::span<std::byte> bytes) const {
  std::size_t done = 0;
  Status status =
      for_each_piece(area, offset, bytes, [&](std::uint64_t at, std::span<std::byte> piece) {
        Result<std::size_t> count = file_.read_at(at, piece);
        if (!count) return Status(count.error());
        done += *count;
        return Status(Done{});
      });
  if (!status) return status.error();
  return done;
}

Status UndoLog::write_area(std::uint64_t area, std::uint64_t offset,
                           std::span<const std::byte> bytes) {
  return for_each_piece(area, offset, bytes,
                        [this](std::uint64_t at, std::span<const std::byte> piece) {
                          return file_.write_at(at, piece);
                        });
}

}  // namespace mayfly::internal
