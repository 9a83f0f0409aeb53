// SPDX-License-Identifier: Apache-2.0
// `mayfly export`: from a store into a running server.

#include "cli/import/export_from_store.h"
#include "cli/import/import_to_server.h"
#include "cli/import/import_words.h"
#include "cli/server_commands.h"

namespace mayfly {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  mayfly export --db app.db redis://127.0.0.1:6379         all keys, with their deadlines\n"
    "  mayfly export --db app.db redis://:secret@db.example/3 --match 'session:*'\n"
    "  mayfly export --db app.db redis://127.0.0.1 --if-absent  keys that are there stay\n"
    "The target is any Redis, Valkey or Mayfly. If it is interrupted, the same command goes on\n"
    "where it was.\n"
    "\n"
    "Keys of the family default (or --cf NAME) become strings. What 'mayfly import' has put into\n"
    "the families hash, set, zset and list (NAME.hash and so on) becomes what it was; see\n"
    "'mayfly import --help'. If all members of a key have the same deadline, the key gets it.\n"
    "Otherwise the fields of a hash keep their own, if the target can (Redis 7.4, Valkey 9,\n"
    "Mayfly); a set, sorted set or list gets the latest of them, and is counted.";

Result<Exit> copy_out(const CopyWords& words, const StoreFile& file) {
  const Result<ServerAddress> to = parse_server_address(words.server);
  if (!to) return to.error();
  const SystemClock clock;
  StopSignals stop;
  Result<Store> store = file.open(StoreFile::Use::read);
  if (!store) return store.error();
  Result<StoreSource> source =
      StoreSource::open(*store, file.path(), {file.family_name(), words.match, words.batch});
  if (!source) return source.error();
  Result<std::unique_ptr<ServerTarget>> target =
      ServerTarget::open(*to, {words.is_if_absent, words.drops_field_ttls}, clock);
  if (!target) return target.error();
  const CopyPlan plan = words.plan(file.family_name(), file.path() + ".export", file.is_json());
  return run_copy(*source, **target, plan, stop);
}

}  // namespace

void add_export_command(Program& program, StoreFile* file) {
  CopyWords* const words = program.keep<CopyWords>();
  CliCommand command =
      program.add("export", "Copy a store into a running Redis, Valkey or Mayfly", kExamples);
  command.add_option("TARGET", words->server, "redis://[[user]:password@]host[:port][/database]")
      .required();
  words->add_options(command);
  file->add_options(command);
  program.on(command, [words, file] { return copy_out(*words, *file); });
}

}  // namespace mayfly
