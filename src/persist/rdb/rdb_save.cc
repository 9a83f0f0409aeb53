// SPDX-License-Identifier: Apache-2.0
#include "persist/rdb/rdb_save.h"

#include <array>
#include <memory>
#include <utility>

#include "persist/disk/disk.h"
#include "persist/rdb/rdb_format.h"
#include "persist/rdb/rdb_restore.h"

namespace mayfly {
namespace {

constexpr std::size_t kAhead = 8;  // keys prefetched

// Keys lie anywhere in memory: each is prefetched before it is written.
void write_keys(RdbWriter& writer, Database& database, bool access, ReportingSink& sink) {
  std::array<Slot, kAhead> waiting{};
  std::size_t seen = 0;
  const auto write = [&](Slot slot) {
    writer.entry(database, slot, access);
    sink.count_key();
  };
  database.each([&](Slot slot) {
    __builtin_prefetch(&database.node(slot));
    const Slot next = std::exchange(waiting[seen++ % kAhead], slot);
    if (seen > kAhead) write(next);
    return !writer.has_failed();
  });
  for (std::size_t i = seen < kAhead ? 0 : seen - kAhead; i < seen && !writer.has_failed(); ++i) {
    write(waiting[i % kAhead]);
  }
}

void write_aux(RdbWriter& writer, const RdbAux& aux) {
  writer.aux("redis-bits", "64");
  for (const auto& [name, value] : aux) writer.aux(name, value);
}

Result<SaveProgress> write_file(Disk& disk, const std::string& path, Keyspace& keyspace,
                                const SaveOptions& options, const OnSaveProgress& progress) {
  Result<std::unique_ptr<DiskFile>> file = disk.create(path);
  if (!file) return file.error();
  SyncingSink sink(**file, options.is_durable ? options.sync_every_bytes : 0);
  Result<SaveProgress> saved = save_rdb(keyspace, sink, options, progress);
  if (!saved || !options.is_durable) return saved;
  if (Status status = (*file)->sync(); !status) return status.error();
  return saved;
}

// Redis 6 restores a stream of its own type, if the version is its own.
unsigned payload_version(const KeyNode& node, rdb::Type type) {
  if (node.has_member_deadlines != 0) return rdb::kDeadlinesVersion;
  return type == rdb::Type::stream ? rdb::kRedis5Version : rdb::kPlainVersion;
}

}  // namespace

bool has_member_deadlines(Keyspace& keyspace) {
  for (int i = 0; i < keyspace.count(); ++i) {
    if (keyspace[i].member_deadline_count() > 0) return true;
  }
  return false;
}

int version_for(Keyspace& keyspace) {
  return has_member_deadlines(keyspace) ? rdb::kDeadlinesVersion : rdb::kPlainVersion;
}

Result<SaveProgress> save_rdb(Keyspace& keyspace, ByteSink& sink, const SaveOptions& options,
                              const OnSaveProgress& progress) {
  ReportingSink reporting(sink, progress);
  RdbWriter writer(reporting, options.format);
  const int version = options.has_keys ? version_for(keyspace) : rdb::kPlainVersion;
  writer.header(version);
  write_aux(writer, options.aux);
  for (const std::string& code : options.libraries) writer.function(code);
  for (int i = 0; options.has_keys && i < keyspace.count() && !writer.has_failed(); ++i) {
    Database& database = keyspace[i];
    if (database.stored() == 0) continue;
    writer.select(i, database.stored(), database.deadline_count());
    write_keys(writer, database, options.saves_access, reporting);
  }
  if (Status status = writer.finish(); !status) return status.error();
  return reporting.done;
}

Result<SaveProgress> save_rdb_file(Disk& disk, const std::string& directory,
                                   const std::string& name, const std::string& temporary,
                                   Keyspace& keyspace, const SaveOptions& options,
                                   const OnSaveProgress& progress) {
  const std::string written = directory + "/" + temporary;
  Result<SaveProgress> saved = write_file(disk, written, keyspace, options, progress);
  if (!saved) {
    (void)disk.remove(written);  // the first error is reported
    return saved;
  }
  if (Status status = disk.rename(written, directory + "/" + name); !status) {
    (void)disk.remove(written);
    return status.error();
  }
  if (!options.is_durable) return saved;
  if (Status status = disk.sync_directory(directory); !status) return status.error();
  return saved;
}

std::string dump_value(Database& database, Slot slot, const RdbOptions& options) {
  StringSink sink;
  RdbOptions format = options;
  format.checksums = false;  // the payload has its own
  RdbWriter writer(sink, format);
  const rdb::Type type = RdbWriter::type_of(database, slot, format);
  writer.type(type);
  writer.value(database, slot);
  (void)writer.flush();  // a string takes everything

  append_payload_footer(sink.bytes, payload_version(database.node(slot), type));
  return std::move(sink.bytes);
}

}  // namespace mayfly
