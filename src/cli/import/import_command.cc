// SPDX-License-Identifier: Apache-2.0
// `mayfly import`: from a running server into a store, or into another server.

#include <fmt/format.h>

#include <cstdlib>

#include "cli/import/import_from_server.h"
#include "cli/import/import_to_server.h"
#include "cli/import/import_to_store.h"
#include "cli/import/import_words.h"
#include "cli/server_commands.h"

namespace mayfly {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  mayfly import redis://127.0.0.1:6379 --db app.db         all keys, with their deadlines\n"
    "  mayfly import redis://:secret@db.example/3 --db app.db --match 'session:*'\n"
    "  mayfly import redis://old.example --to redis://127.0.0.1:6380    from server to server\n"
    "  mayfly import redis://127.0.0.1 --db app.db --restart    begin anew after an interruption\n"
    "The source is any Redis (2.8 or later), Valkey or Mayfly; it is only read. Write %40 for an "
    "@\n"
    "in a password. If it is interrupted, the same command goes on where it was.\n"
    "\n"
    "In a store, strings are key -> value in the family default; the members of other types have\n"
    "families of their own, so that each can expire by itself:\n"
    "  hash   length, key, field   -> value         set   length, key, member -> nothing\n"
    "  zset   length, key, member  -> score         list  length, key, index  -> element\n"
    "where length is that of the key in 4 bytes and index has 8, the greatest byte first. With\n"
    "--cf NAME the families are NAME, NAME.hash and so on. 'mayfly export' is the way back.\n"
    "\n"
    "Keys that the target has are replaced, others in it stay. Streams and types of modules are\n"
    "skipped and counted. Deadlines are moments by the source's clock; where a server cannot tell\n"
    "them (before Redis 7.0), they are computed from PTTL and TIME, and never early.";

struct ImportWords : CopyWords {
  std::string to;
};

Result<Exit> into_store(const ImportWords& words, const ServerAddress& from,
                        const StoreFile& file) {
  const SystemClock clock;
  StopSignals stop;
  Result<std::unique_ptr<ServerSource>> source =
      ServerSource::open(from, {words.match, words.batch}, clock);
  if (!source) return source.error();
  Result<Store> store = file.open(StoreFile::Use::write);
  if (!store) return store.error();
  StoreTarget target(*store, file.path(), file.family_name(), words.is_if_absent);
  const CopyPlan plan = words.plan(file.family_name(), file.path() + ".import", file.is_json());
  const Result<Exit> done = run_copy(**source, target, plan, stop);
  if (!done) return done;
  const Status closed = store->close();
  return closed ? done : Result<Exit>(closed.error());
}

Result<Exit> into_server(const ImportWords& words, const ServerAddress& from, bool is_json) {
  const Result<ServerAddress> to = parse_server_address(words.to);
  if (!to) return to.error();
  if (to->text() == from.text()) {
    return Error{Code::invalid, "the source and the target are the same database"};
  }
  const SystemClock clock;
  StopSignals stop;
  Result<std::unique_ptr<ServerSource>> source =
      ServerSource::open(from, {words.match, words.batch}, clock);
  if (!source) return source.error();
  Result<std::unique_ptr<ServerTarget>> target =
      ServerTarget::open(*to, {words.is_if_absent, words.drops_field_ttls}, clock);
  if (!target) return target.error();
  const std::string state =
      from.path.empty() ? fmt::format("mayfly-{}-{}-{}.import", from.host, from.port, from.database)
                        : fmt::format("mayfly-unix-{}.import", from.database);
  return run_copy(**source, **target, words.plan("", state, is_json), stop);
}

Result<Exit> copy_in(const ImportWords& words, const StoreFile& file) {
  const Result<ServerAddress> from = parse_server_address(words.server);
  if (!from) return from.error();
  if (words.to.empty() && file.path().empty()) {
    return Error{Code::invalid,
                 "where to? Say --db FILE for a store, or --to redis://... for a "
                 "server"};
  }
  if (words.to.empty()) return into_store(words, *from, file);
  // MAYFLY_DB is for those who have not said anything else.
  const char* const usual = std::getenv("MAYFLY_DB");
  if (!file.path().empty() && (usual == nullptr || file.path() != usual)) {
    return Error{Code::invalid, "--db is a store and --to is a server; say one of them"};
  }
  return into_server(words, *from, file.is_json());
}

}  // namespace

void add_import_command(Program& program, StoreFile* file) {
  ImportWords* const words = program.keep<ImportWords>();
  CliCommand command = program.add(
      "import", "Copy a running Redis, Valkey or Mayfly into a store or a server", kExamples);
  command.add_option("SOURCE", words->server, "redis://[[user]:password@]host[:port][/database]")
      .required();
  command.add_option("--to", words->to, "Into another server: redis://host:port")
      .type_name("SERVER");
  words->add_options(command);
  file->add_options(command);
  program.on(command, [words, file] { return copy_in(*words, *file); });
}

}  // namespace mayfly
