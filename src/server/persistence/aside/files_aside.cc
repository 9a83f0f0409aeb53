// SPDX-License-Identifier: Apache-2.0
#include "server/persistence/aside/files_aside.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "persist/crc64.h"
#include "persist/rdb/rdb_parser.h"
#include "persist/rdb/rdb_save.h"
#include "server/monitoring/stats.h"
#include "server/persistence/aof_writer.h"
#include "server/persistence/snapshots.h"

namespace mayfly {
namespace {

constexpr std::uint64_t kPiece = 256;  // of the beginning, which has its time, and of the end

std::string dump_path(const Config& config) { return config.dir + "/" + config.dbfilename; }

std::string mark_path(const Config& config) {
  return fmt::format("{}/{}/{}.seen", config.dir, config.appenddirname, config.dbfilename);
}

// At most kPiece bytes; empty if it cannot be read.
std::string read_piece(Disk& disk, const std::string& path, std::uint64_t offset) {
  const auto file = disk.open(path, offset);
  if (!file) return {};
  std::string bytes(kPiece, '\0');
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const Result<std::size_t> count = (*file)->read({bytes.data() + filled, bytes.size() - filled});
    if (!count || *count == 0) break;
    filled += *count;
  }
  bytes.resize(filled);
  return bytes;
}

// Distinguishes dumps: the size, the beginning, and the end with the checksum.
std::string identity(Disk& disk, const std::string& path) {
  const auto file = disk.open(path);
  if (!file) return {};
  const std::uint64_t size = (*file)->size();
  const std::uint64_t crc = crc64(crc64(0, read_piece(disk, path, 0)),
                                  read_piece(disk, path, size - std::min(size, kPiece)));
  return fmt::format("{} {:016x}\n", size, crc);
}

// Any key ends the reading.
class UntilFirstKey final : public RdbHandler {
 public:
  Status string(const RdbKey&, std::string_view) override { return found(); }
  Status members_begin(const RdbKey&, std::uint64_t) override { return found(); }
  Status members(std::span<const Member>) override { return found(); }
  Status members_end() override { return found(); }
  Status list_begin(const RdbKey&) override { return found(); }
  Status list_elements(std::span<const std::string_view>) override { return found(); }
  Status list_end() override { return found(); }
  Status stream(const RdbKey&, std::unique_ptr<Stream>) override { return found(); }

 private:
  static Status found() { return Error{Code::busy, "there is a key"}; }
};

Status link_dump(Disk& disk, const Config& config, const std::string& name) {
  if (Status status = disk.link(dump_path(config), name); !status) return status;
  return disk.sync_directory(config.dir);
}

}  // namespace

bool has_no_keys(Disk& disk, const std::string& path) {
  const auto source = disk.open(path);
  if (!source) return false;
  UntilFirstKey none;
  RdbParser parser(**source, none);
  for (;;) {
    const Result<bool> ended = parser.step();
    if (!ended || *ended) return ended.ok();
  }
}

std::string unused_name(const Disk& disk, const std::string& path, std::string_view why) {
  for (int number = 1;; ++number) {
    std::string name = fmt::format("{}.{}-{}", path, why, number);
    if (!disk.exists(name)) return name;
  }
}

Result<std::string> keep_data_aside(const StorageContext& context, AofWriter& aof) {
  constexpr std::string_view kWhy = "replaced";
  Disk& disk = context.host.disk();
  const Config& config = context.config;
  if (aof.is_on() && aof.log() != nullptr && aof.log()->is_in_force()) {
    if (Status status = aof.sync_now(); !status) return status.error();
    return aof.link_files_aside(kWhy);
  }
  const std::string name = unused_name(disk, dump_path(config), kWhy);
  if (disk.exists(dump_path(config)) && context.stats.dirty == 0) {
    if (Status status = link_dump(disk, config, name); !status) return status.error();
    return name;
  }
  const std::string base = name.substr(config.dir.size() + 1);
  const Result<SaveProgress> saved = save_rdb_file(disk, config.dir, base, "temp-" + base,
                                                   context.keyspace, save_options(context), {});
  if (!saved) return saved.error();
  return name;
}

void mark_dump(const StorageContext& context) {
  Disk& disk = context.host.disk();
  const Config& config = context.config;
  if (!disk.exists(config.dir + "/" + config.appenddirname)) return;
  if (!disk.exists(dump_path(config))) return;
  // Without a mark the file is kept once more than needed.
  if (auto file = disk.create(mark_path(config)); file) {
    (void)(*file)->write(identity(disk, dump_path(config)));
  }
}

bool has_unknown_dump(const StorageContext& context) {
  Disk& disk = context.host.disk();
  const Config& config = context.config;
  if (!disk.exists(dump_path(config))) return false;
  return read_piece(disk, mark_path(config), 0) != identity(disk, dump_path(config));
}

}  // namespace mayfly
