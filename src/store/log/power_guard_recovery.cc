// SPDX-License-Identifier: Apache-2.0
// The recovery of PowerGuard. It can be interrupted and begun again at any point: the undo log is
// not changed before the store is whole, and a page that was put back may be put back again.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "store/lmdb/lmdb.h"
#include "store/log/power_guard.h"

namespace mayfly::internal {
namespace {

// Both meta pages show the recovery point, the other one as if it were a transaction earlier, so
// that LMDB takes the right one and each is in the place that its number demands.
Status restore_metas(UndoFile& store, const LmdbMeta& point) {
  const std::uint64_t transaction = point.transaction();
  std::vector<std::byte> page(point.page_size());
  for (const std::uint64_t age : {1, 0}) {
    LmdbMeta meta = point;
    const std::uint64_t number = (transaction ^ age) & 1;
    meta.set_page_number(number);
    if (transaction > 0) meta.set_transaction(transaction - age);
    std::ranges::copy(meta.bytes, page.begin());
    Status status = store.write_at(number * page.size(), page);
    if (!status) return status;
  }
  return Done{};
}

Status restore(const UndoLog& log, const UndoHeader& header, UndoFile& store) {
  std::unordered_set<std::uint64_t> seen;
  const std::uint64_t page_size = header.meta.page_size();
  Status status = log.replay(header, [&](std::uint64_t page, std::span<const std::byte> image) {
    if (!seen.insert(page).second) return Status(Done{});
    return store.write_at(page * page_size, image);
  });
  if (status) status = restore_metas(store, header.meta);
  if (status) status = store.sync();
  return status;
}

}  // namespace

std::string undo_path_of(const std::string& store_path) {
  std::string path = store_path;
  path += "-undo";
  return path;
}

Result<std::string> boot_id_of(const PowerGuardOptions& options) {
  if (!options.boot_id.empty()) return options.boot_id;
  static constexpr char kPath[] = "/proc/sys/kernel/random/boot_id";
  const int descriptor = ::open(kPath, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return system_error(errno, "open", kPath);
  std::array<char, 40> text{};
  const ssize_t count = ::read(descriptor, text.data(), text.size());
  const int error_number = errno;
  ::close(descriptor);
  if (count <= 0) return system_error(count < 0 ? error_number : EIO, "read", kPath);
  std::string_view id(text.data(), static_cast<std::size_t>(count));
  return std::string(id.substr(0, id.find('\n')));
}

Result<bool> PowerGuard::needs_recovery(const std::string& store_path,
                                        const PowerGuardOptions& options) {
  Result<std::optional<UndoLog>> log = UndoLog::open(undo_path_of(store_path));
  if (!log) return log.error();
  if (!*log) return false;
  Result<UndoHeader> header = (*log)->newest();
  if (!header) return header.error();
  Result<std::string> boot = boot_id_of(options);
  if (!boot) return boot.error();
  return header->is_open && header->boot_id != *boot;
}

Status PowerGuard::recover(const std::string& store_path, const PowerGuardOptions& options) {
  const std::string undo_path = undo_path_of(store_path);
  Result<std::optional<UndoLog>> log = UndoLog::open(undo_path);
  if (!log) return log.error();
  if (!*log) return Done{};
  Result<std::optional<UndoFile>> store = UndoFile::open(store_path);
  if (!store) return store.error();
  if (!*store) return UndoLog::remove(undo_path);  // of a store that somebody has removed

  Result<UndoHeader> header = (*log)->newest();
  if (!header) return header.error();
  if (header->is_open) {
    Result<std::string> boot = boot_id_of(options);
    if (!boot) return boot.error();
    if (header->boot_id == *boot) return Done{};  // the page cache has everything
    if (!header->meta.is_valid()) return Error{Code::corrupt, undo_path + ": not of this machine"};
    Status status = restore(**log, *header, **store);
    if (!status) return status;

    UndoHeader whole = std::move(*header);
    ++whole.generation;
    whole.is_open = false;
    status = (*log)->write_header(whole);
    if (status) status = (*log)->sync();
    if (!status) return status;
  }
  return UndoLog::remove(undo_path);
}

}  // namespace mayfly::internal
