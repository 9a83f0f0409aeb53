// SPDX-License-Identifier: Apache-2.0
#include "store/log/power_guard_lmdb.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include "store/lmdb/lmdb.h"

namespace mayfly {
namespace {

constexpr MDB_dbi kFreeTable = 0;  // transaction -> [count][page]..., in words

struct CloseCursor {
  void operator()(MDB_cursor* cursor) const { mdb_cursor_close(cursor); }
};

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

Status for_each_freed(MDB_txn* reader, std::uint64_t first, std::uint64_t last,
                      const std::function<void(std::uint64_t page)>& visit) {
  MDB_cursor* opened = nullptr;
  int code = mdb_cursor_open(reader, kFreeTable, &opened);
  if (code != MDB_SUCCESS) return lmdb_error(code, "read the table of free pages");
  const std::unique_ptr<MDB_cursor, CloseCursor> cursor(opened);

  MDB_val key{sizeof first, &first};
  MDB_val value{};
  code = mdb_cursor_get(opened, &key, &value, MDB_SET_RANGE);
  for (; code == MDB_SUCCESS; code = mdb_cursor_get(opened, &key, &value, MDB_NEXT)) {
    std::uint64_t transaction = 0;
    std::memcpy(&transaction, key.mv_data, sizeof transaction);
    if (transaction > last) return Done{};
    const auto* words = static_cast<const std::byte*>(value.mv_data);
    std::uint64_t count = 0;
    std::memcpy(&count, words, sizeof count);
    if (count >= value.mv_size / sizeof count) {
      return Error{Code::corrupt, "the table of free pages is damaged"};
    }
    for (std::uint64_t i = 1; i <= count; ++i) {
      std::uint64_t page = 0;
      std::memcpy(&page, words + i * sizeof page, sizeof page);
      visit(page);
    }
  }
  if (code != MDB_NOTFOUND) return lmdb_error(code, "read the table of free pages");
  return Done{};
}

}  // namespace mayfly
