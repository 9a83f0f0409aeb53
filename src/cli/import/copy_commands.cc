// SPDX-License-Identifier: Apache-2.0
// `mayfly import`: from a server to a store or to another server. `mayfly export`: from a store to
// a server.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "cli/commands.h"
#include "cli/import/import_from_server.h"
#include "cli/import/import_store.h"
#include "cli/import/import_to_server.h"
#include "cli/store/store_file.h"
#include "text/byte_text.h"

namespace mayfly {
namespace {

constexpr const char* kImportExamples =
    "Examples:\n"
    "  mayfly import redis://127.0.0.1:6379 --db app.db         all keys, with their expiry times\n"
    "  mayfly import redis://:secret@db.example/3 --db app.db --match 'session:*'\n"
    "  mayfly import redis://old.example --to redis://127.0.0.1:6380    a whole server\n"
    "  mayfly import redis://old.example/3 --to redis://127.0.0.1/0     one database\n"
    "  mayfly import redis://127.0.0.1 --db app.db --restart    ignore an interrupted import\n"
    "The source is a Redis (2.8 or later), Valkey or Mayfly server; it is only read. Write %40\n"
    "for an @ in a password. After an interruption, run the same command again to resume.\n"
    "\n"
    "From server to server all databases are copied, and libraries of functions, unless the "
    "source\n"
    "names a database. A store takes one database, 0 unless the source names another. The summary\n"
    "names databases and libraries that were not copied, and slots of other nodes of a cluster.\n"
    "\n"
    "In a store, strings are stored as key -> value in the family 'default'. Members of other\n"
    "types are entries in families of their own, so that each member can expire:\n"
    "  hash   length, key, field   -> value         set   length, key, member -> (empty)\n"
    "  zset   length, key, member  -> score         list  length, key, index  -> element\n"
    "  stream length, key, id      -> fields and values, and length, key -> groups and the like\n"
    "where length is the length of the key (4 bytes, big-endian), index has 8 bytes and id 16.\n"
    "With --cf NAME the families are NAME, NAME.hash and so on. 'mayfly export' copies them back.\n"
    "\n"
    "Existing keys in the target are replaced, other keys stay. Module types are skipped and\n"
    "counted. Expiry times are copied as absolute times of the source's clock. Servers before\n"
    "Redis 7.0 do not report them; they are computed from PTTL and TIME and are never too early.";

constexpr const char* kExportExamples =
    "Examples:\n"
    "  mayfly export --db app.db redis://127.0.0.1:6379         all keys, with their expiry times\n"
    "  mayfly export --db app.db redis://:secret@db.example/3 --match 'session:*'\n"
    "  mayfly export --db app.db redis://127.0.0.1 --if-absent  keep existing keys\n"
    "The target is a Redis, Valkey or Mayfly server. After an interruption, run the same command\n"
    "again to resume.\n"
    "\n"
    "Keys of the family 'default' (or --cf NAME) become strings. Entries that 'mayfly import'\n"
    "wrote to the families hash, set, zset, list and stream (NAME.hash and so on) become keys of\n"
    "these types; see 'mayfly import --help'. If all members of a key expire at the same time, so\n"
    "does the key. Otherwise members keep their own TTL, if the target supports it: Mayfly, and\n"
    "for fields of a hash also Redis 7.4 and Valkey 9. If not, use --without-member-ttl: then a\n"
    "key expires with its last member. A list or a stream always does, and is counted.";

// The arguments that import and export share.
struct CopyArgs {
  std::string server;
  std::string match;
  std::string state;
  std::size_t batch = 1000;
  bool is_resume = false;
  bool is_restart = false;
  bool is_if_absent = false;
  bool is_strict = false;
  bool drops_member_ttls = false;

  void add_options(CliCommand command) {
    command.add_option("--match", match, "Only keys that match a pattern, e.g. session:*")
        .type_name("GLOB");
    command.add_option("--batch", batch, "Approximate number of keys per batch (default 1000)")
        .type_name("N")
        .range(1, 1'000'000);
    command.add_flag("--if-absent", is_if_absent, "Keep existing keys of the target");
    command.add_flag("--strict", is_strict,
                     "Fail on keys that cannot be copied instead of skipping them");
    command.add_flag("--without-member-ttl", drops_member_ttls,
                     "Drop TTLs of fields and members if the target does not support them");
    command.add_flag("--drop-field-ttls", drops_member_ttls, "Its name before sets had them")
        .group("");
    command.add_option("--state", state, "File that records the progress").type_name("FILE");
    const CliOption resume = command.add_flag(
        "--resume", is_resume, "Only continue an interrupted copy; fail if there is none");
    command.add_flag("--restart", is_restart, "Start over, ignore an interrupted copy")
        .excludes(resume);
  }

  // `family` is the value of --cf; empty from server to server.
  CopyPlan plan(const std::string& family, const std::string& default_state, bool is_json) const {
    return {.match = match,
            .family = family,
            .state_path = state.empty() ? default_state : state,
            .keeps = is_if_absent,
            .drops_member_ttls = drops_member_ttls,
            .is_strict = is_strict,
            .must_resume = is_resume,
            .is_restart = is_restart,
            .is_json = is_json,
            .left_out = {}};
  }
};

struct ImportArgs : CopyArgs {
  std::string to;
  bool is_without_functions = false;
};

// A line for data that the user of the source may not see.
Result<std::string> unseen(std::string_view what, const Error& why) {
  if (why.code != Code::unsupported) return why;
  return fmt::format("{}, if there are any: {}", what, why.message);
}

// What other nodes of its cluster have, a line each.
Status add_other_slots(ServerSource& source, const ServerAddress& from,
                       std::vector<std::string>& lines) {
  const Result<std::vector<OtherSlots>> slots = source.other_slots();
  if (!slots) {
    Result<std::string> line = unseen("slots of other nodes", slots.error());
    if (!line) return line.error();
    lines.push_back(*std::move(line));
  }
  for (const OtherSlots& others : slots ? *slots : std::vector<OtherSlots>()) {
    ServerAddress node = from;
    node.port = others.port;
    if (!others.host.empty()) node.host = others.host;
    lines.push_back(fmt::format("slots {} of another node of the cluster: {}", others.slots,
                                node.server_text()));
  }
  return Done{};
}

// What the source has and the copy has not, a line each. `are_copied`: the libraries of functions.
Result<std::vector<std::string>> left_out(ServerSource& source, const ServerAddress& from,
                                          bool are_copied) {
  std::vector<std::string> lines;
  if (source.is_cut_off()) {
    lines.emplace_back(
        "newer writes, if there are any: the source is a replica without a connection to its "
        "primary");
  }
  const Result<std::vector<DatabaseKeys>> all = source.all_databases();
  if (!all) {
    Result<std::string> line = unseen("other databases", all.error());
    if (!line) return line.error();
    lines.push_back(*std::move(line));
  }
  for (const DatabaseKeys& database : all ? *all : std::vector<DatabaseKeys>()) {
    if (std::ranges::count(source.databases(), database.number, &DatabaseKeys::number) > 0) {
      continue;
    }
    ServerAddress other = from;
    other.database = database.number;
    lines.push_back(fmt::format("database {} with {} key{}: {}", database.number, database.keys,
                                database.keys == 1 ? "" : "s", other.text()));
  }
  if (Status status = add_other_slots(source, from, lines); !status) return status.error();
  if (are_copied) return lines;
  const Result<std::vector<FunctionLibrary>> libraries = source.libraries();
  if (!libraries) {
    Result<std::string> line = unseen("libraries of functions", libraries.error());
    if (!line) return line.error();
    lines.push_back(*std::move(line));
    return lines;
  }
  for (const FunctionLibrary& library : *libraries) {
    lines.push_back(fmt::format("library of functions {}", bytes_as_json(library.name)));
  }
  return lines;
}

Result<Exit> into_store(const ImportArgs& args, const ServerAddress& from, const StoreFile& file) {
  const SystemClock clock;
  StopSignals stop;
  Result<std::unique_ptr<ServerSource>> source =
      ServerSource::open(from, {args.match, args.batch}, clock);
  if (!source) return source.error();
  Result<Store> store = file.open(StoreFile::Use::write);
  if (!store) return store.error();
  StoreTarget target(*store, file.path(), file.family_name(), args.is_if_absent);
  CopyPlan plan = args.plan(file.family_name(), file.path() + ".import", file.is_json());
  Result<std::vector<std::string>> others = left_out(**source, from, false);
  if (!others) return others.error();
  plan.left_out = std::move(*others);
  const Result<Exit> done = run_copy(**source, target, plan, stop);
  if (!done) return done;
  const Status closed = store->close();
  return closed ? done : Result<Exit>(closed.error());
}

// Loads the libraries of the source into the target. Returns those that were not loaded, with the
// reason.
Result<std::vector<std::string>> copy_libraries(const ImportArgs& args, ServerSource& source,
                                                ServerTarget& target) {
  const Result<std::vector<FunctionLibrary>> libraries = source.libraries();
  Result<std::vector<std::string>> failures =
      libraries ? target.put_libraries(*libraries) : std::vector<std::string>();
  if (!libraries) {
    Result<std::string> line = unseen("libraries of functions", libraries.error());
    if (!line) return line.error();
    failures->push_back(*std::move(line));
  }
  if (failures && args.is_strict && !failures->empty()) {
    return Error{Code::unsupported,
                 fmt::format("cannot copy {} (use --without-functions)", failures->front())};
  }
  return failures;
}

// A target that names its database takes several databases only if they become one.
Status check_databases(const ServerSource& source, const ServerAddress& to) {
  if (!to.has_database || source.databases().size() < 2) return Done{};
  return Error{Code::invalid,
               fmt::format("the source has keys in {} databases, and the target names one (use "
                           "--to {} for all of them, or name a database of the source)",
                           source.databases().size(), to.server_text())};
}

bool is_same(const ServerAddress& from, const ServerAddress& to) {
  return from.has_database ? from.text() == to.text() : from.server_text() == to.server_text();
}

// The state file, in the current folder.
std::string state_of(const ServerAddress& from) {
  const std::string server =
      from.path.empty() ? fmt::format("{}-{}", from.host, from.port) : std::string("unix");
  return from.has_database ? fmt::format("mayfly-{}-{}.import", server, from.database)
                           : fmt::format("mayfly-{}.import", server);
}

Result<Exit> into_server(const ImportArgs& args, const ServerAddress& from, bool is_json) {
  const Result<ServerAddress> to = parse_server_address(args.to);
  if (!to) return to.error();
  if (is_same(from, *to)) {
    return Error{Code::invalid, "the source and the target are the same database"};
  }
  const SystemClock clock;
  StopSignals stop;
  const bool is_whole = !from.has_database;
  Result<std::unique_ptr<ServerSource>> source =
      ServerSource::open(from, {args.match, args.batch, is_whole}, clock);
  if (!source) return source.error();
  if (const Status status = check_databases(**source, *to); !status) return status.error();
  Result<std::unique_ptr<ServerTarget>> target = ServerTarget::open(
      *to, {args.is_if_absent, args.drops_member_ttls, is_whole && !to->has_database}, clock);
  if (!target) return target.error();

  CopyPlan plan = args.plan("", state_of(from), is_json);
  const bool with_functions = is_whole && !args.is_without_functions;
  Result<std::vector<std::string>> others = left_out(**source, from, with_functions);
  if (!others) return others.error();
  plan.left_out = std::move(*others);
  if (with_functions) {
    const Result<std::vector<std::string>> failures = copy_libraries(args, **source, **target);
    if (!failures) return failures.error();
    plan.left_out.insert(plan.left_out.end(), failures->begin(), failures->end());
  }
  return run_copy(**source, **target, plan, stop);
}

Result<Exit> run_import(const ImportArgs& args, const StoreFile& file) {
  const Result<ServerAddress> from = parse_server_address(args.server);
  if (!from) return from.error();
  if (args.to.empty() && file.path().empty()) {
    return Error{Code::invalid,
                 "no target given (use --db FILE for a store, or --to redis://... for a server)"};
  }
  if (args.to.empty()) return into_store(args, *from, file);
  // MAYFLY_DB is only a default.
  const char* const from_environment = std::getenv("MAYFLY_DB");
  if (!file.path().empty() && (from_environment == nullptr || file.path() != from_environment)) {
    return Error{Code::invalid, "give either --db FILE or --to SERVER"};
  }
  return into_server(args, *from, file.is_json());
}

Result<Exit> run_export(const CopyArgs& args, const StoreFile& file) {
  const Result<ServerAddress> to = parse_server_address(args.server);
  if (!to) return to.error();
  const SystemClock clock;
  StopSignals stop;
  Result<Store> store = file.open(StoreFile::Use::read);
  if (!store) return store.error();
  Result<StoreSource> source =
      StoreSource::open(*store, file.path(), {file.family_name(), args.match, args.batch});
  if (!source) return source.error();
  Result<std::unique_ptr<ServerTarget>> target =
      ServerTarget::open(*to, {args.is_if_absent, args.drops_member_ttls}, clock);
  if (!target) return target.error();
  const CopyPlan plan = args.plan(file.family_name(), file.path() + ".export", file.is_json());
  return run_copy(*source, **target, plan, stop);
}

}  // namespace

void add_copy_commands(Program& program, StoreFile* file) {
  constexpr const char* kAddress = "redis://[[user]:password@]host[:port][/database]";
  ImportArgs* const import_args = program.keep<ImportArgs>();
  const CliCommand importing = file->add_command(
      program, "import", "Copy a Redis, Valkey or Mayfly server into a store or a server",
      kImportExamples, import_args, run_import);
  importing.add_option("SOURCE", import_args->server, kAddress).required();
  importing
      .add_option("--to", import_args->to, "Target server instead of a store: redis://host:port")
      .type_name("SERVER");
  importing.add_flag("--without-functions", import_args->is_without_functions,
                     "Do not copy libraries of functions to a server");
  import_args->add_options(importing);

  CopyArgs* const export_args = program.keep<CopyArgs>();
  const CliCommand exporting =
      file->add_command(program, "export", "Copy a store into a Redis, Valkey or Mayfly server",
                        kExportExamples, export_args, run_export);
  exporting.add_option("TARGET", export_args->server, kAddress).required();
  export_args->add_options(exporting);
}

}  // namespace mayfly
