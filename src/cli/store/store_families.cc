// SPDX-License-Identifier: Apache-2.0
// cf list, cf create, cf drop and cf ttl: the column families of a store.

#include <fmt/format.h>

#include <cstdio>
#include <optional>

#include "cli/store/store_answers.h"
#include "cli/store/store_commands.h"
#include "cli/ttl_words.h"

namespace mayfly {
namespace {

using Use = StoreFile::Use;

constexpr const char* kExamples =
    "Examples:\n"
    "  mayfly cf create --db app.db sessions\n"
    "  mayfly cf ttl --db app.db sessions 30m          for what is put there without a TTL\n"
    "  mayfly put --db app.db --cf sessions 42 alice\n"
    "  mayfly cf list --db app.db\n"
    "A column family has keys and a default TTL of its own, and shares the file and its\n"
    "transactions with the others. The one called default is always there.";

constexpr const char* kListExamples =
    "Examples:\n"
    "  mayfly cf list --db app.db            a name on each line, but for the default one\n"
    "  mayfly cf list --db app.db --json     with how much is in them";

constexpr const char* kCreateExamples =
    "Examples:\n"
    "  mayfly cf create --db app.db sessions\n"
    "The file is made if it is not there.";

constexpr const char* kDropExamples =
    "Examples:\n"
    "  mayfly cf drop --db app.db sessions     with all that is in it\n"
    "Exit code 2: there is no such family.";

constexpr const char* kTtlExamples =
    "Examples:\n"
    "  mayfly cf ttl --db app.db sessions          print it\n"
    "  mayfly cf ttl --db app.db sessions 30m      for what is put there from now on without one\n"
    "  mayfly cf ttl --db app.db sessions none     such entries live for ever\n"
    "  mayfly cf ttl --db app.db default 1d        the default family may have one, too\n"
    "What is there already keeps the deadline that it has.\n"
    "Exit code 2: there is no such family.";

struct Words {
  std::string name;
  std::string time;
};

std::string json_name(const std::string& name, const StoreFile& file) {
  return file.bytes().json(name);
}

Exit no_such_family(const std::string& name, const StoreFile& file) {
  if (file.is_json()) {
    fmt::print("{{\"name\": {}, \"error\": \"not found\"}}\n", json_name(name, file));
  } else {
    fmt::print(stderr, "mayfly: there is no column family '{}' in {}\n", file.bytes().line(name),
               file.path());
  }
  return Exit::not_found;
}

Result<Exit> list(const Words&, const StoreFile& file) {
  const Result<Store> store = file.open(Use::read);
  if (!store) return store.error();
  const Result<ReadTxn> txn = store->read();
  if (!txn) return txn.error();
  return exit_of(print_families(*txn, file));
}

Result<Exit> create(const Words& words, const StoreFile& file) {
  Result<Store> store = file.open(Use::write);
  if (!store) return store.error();
  const Result<Family> made = store->create_family(words.name);
  if (!made) return made.error();
  print_family_done(words.name, "created", file);
  return Exit::ok;
}

Result<Exit> drop(const Words& words, const StoreFile& file) {
  Result<Store> store = file.open(Use::change);
  if (!store) return store.error();
  const Status dropped = store->drop_family(words.name);
  if (!dropped && dropped.error().code == Code::not_found) return no_such_family(words.name, file);
  if (!dropped) return dropped.error();
  print_family_done(words.name, "dropped", file);
  return Exit::ok;
}

// The TTL that was written; nothing for "none".
Result<std::optional<Millis>> ttl_of(const std::string& text) {
  if (text.empty() || text == "none") return std::optional<Millis>();
  const Result<Millis> duration = parse_duration(text);
  if (duration) return std::optional<Millis>(*duration);
  return Error{Code::invalid,
               fmt::format("'{}' is not a TTL: write 90s, 15m, 2h30m, 7d or none", text)};
}

Result<Exit> ttl(const Words& words, const StoreFile& file) {
  const Result<std::optional<Millis>> wanted = ttl_of(words.time);
  if (!wanted) return wanted.error();
  Result<Store> store = file.open(Use::change);
  if (!store) return store.error();
  Family family;
  if (words.name != "default") {
    const Result<Family> found = store->family(words.name);
    if (!found && found.error().code == Code::not_found) return no_such_family(words.name, file);
    if (!found) return found.error();
    family = *found;
  }
  if (!words.time.empty()) {
    if (const Status set = store->set_default_ttl(*wanted, family); !set) return set.error();
  }
  const Result<std::optional<Millis>> now = store->default_ttl(family);
  if (!now) return now.error();
  if (file.is_json()) {
    fmt::print("{{\"name\": {}, \"default_ttl\": {}}}\n", json_name(words.name, file),
               seconds_json(now->value_or(Millis::max())));
  } else if (words.time.empty()) {
    fmt::print("{}\n", *now ? time_left_text(**now) : "no ttl");
  }
  return Exit::ok;
}

using Work = Result<Exit> (*)(const Words&, const StoreFile&);

}  // namespace

void add_family_commands(Program& program, StoreFile* file) {
  const auto words = program.keep<Words>();
  CliCommand above = program.add("cf", "Column families: key spaces of their own", kExamples);
  const auto add = [&](const char* name, const char* what, const char* examples, Work work) {
    CliCommand command = program.add(above, name, what, examples);
    if (work != list) command.add_option("NAME", words->name, "The family").required();
    if (work == ttl) {
      add_word(command, "TIME", words->time, "", "The new one: 90s, 15m, 2h30m, 7d, or none");
    }
    file->add_options(command);
    command.remove_option("--cf");  // NAME says it
    program.on(command, [words, file, work] { return work(*words, *file); });
  };
  add("list", "List the column families", kListExamples, list);
  add("create", "Make a column family", kCreateExamples, create);
  add("drop", "Remove a column family and all that is in it", kDropExamples, drop);
  add("ttl", "Print or set the default TTL of a column family", kTtlExamples, ttl);
}

}  // namespace mayfly
