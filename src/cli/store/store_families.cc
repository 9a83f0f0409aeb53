// SPDX-License-Identifier: Apache-2.0
// cf list, cf create, cf drop and cf ttl: the column families of a store.

#include <fmt/format.h>

#include <cstdio>
#include <optional>

#include "cli/commands.h"
#include "cli/store/store_answers.h"
#include "cli/ttl_words.h"

namespace mayfly {
namespace {

using Use = StoreFile::Use;

constexpr const char* kFamilyExamples =
    "Examples:\n"
    "  mayfly cf create --db app.db sessions\n"
    "  mayfly cf ttl --db app.db sessions 30m          for entries stored without a TTL\n"
    "  mayfly put --db app.db --cf sessions 42 alice\n"
    "  mayfly cf list --db app.db\n"
    "A column family has its own keys and default TTL. All families share one file, and a\n"
    "transaction can use several. The family 'default' always exists.";

constexpr const char* kFamilyListExamples =
    "Examples:\n"
    "  mayfly cf list --db app.db            one name per line, without 'default'\n"
    "  mayfly cf list --db app.db --json     with entry counts";

constexpr const char* kFamilyCreateExamples =
    "Examples:\n"
    "  mayfly cf create --db app.db sessions\n"
    "Creates the file if it does not exist.";

constexpr const char* kFamilyDropExamples =
    "Examples:\n"
    "  mayfly cf drop --db app.db sessions     also deletes its entries\n"
    "Exit code 2: the column family does not exist.";

constexpr const char* kFamilyTtlExamples =
    "Examples:\n"
    "  mayfly cf ttl --db app.db sessions          print the default TTL\n"
    "  mayfly cf ttl --db app.db sessions 30m      set it, for entries stored later without a TTL\n"
    "  mayfly cf ttl --db app.db sessions none     such entries do not expire\n"
    "  mayfly cf ttl --db app.db default 1d        the family 'default' can have one, too\n"
    "Existing entries keep their expiry time.\n"
    "Exit code 2: the column family does not exist.";

struct FamilyArgs {
  std::string name;
  std::string time;
};

Exit no_such_family(const std::string& name, const StoreFile& file) {
  if (file.is_json()) {
    fmt::print("{{\"name\": {}, \"error\": \"not found\"}}\n", file.bytes().json(name));
  } else {
    fmt::print(stderr, "mayfly: column family '{}' not found in {}\n", file.bytes().line(name),
               file.path());
  }
  return Exit::not_found;
}

Result<Exit> run_family_list(const FamilyArgs&, const StoreFile& file) {
  const Result<Store> store = file.open(Use::read);
  if (!store) return store.error();
  const Result<ReadTxn> txn = store->read();
  if (!txn) return txn.error();
  return exit_of(print_families(*txn, file));
}

Result<Exit> run_family_create(const FamilyArgs& args, const StoreFile& file) {
  Result<Store> store = file.open(Use::write);
  if (!store) return store.error();
  const Result<Family> made = store->create_family(args.name);
  if (!made) return made.error();
  print_family_done(args.name, "created", file);
  return Exit::ok;
}

Result<Exit> run_family_drop(const FamilyArgs& args, const StoreFile& file) {
  Result<Store> store = file.open(Use::change);
  if (!store) return store.error();
  const Status dropped = store->drop_family(args.name);
  if (!dropped && dropped.error().code == Code::not_found) return no_such_family(args.name, file);
  if (!dropped) return dropped.error();
  print_family_done(args.name, "dropped", file);
  return Exit::ok;
}

// Nothing for "none".
Result<std::optional<Millis>> parse_default_ttl(const std::string& text) {
  if (text.empty() || text == "none") return std::optional<Millis>();
  const Result<Millis> duration = parse_duration(text);
  if (duration) return std::optional<Millis>(*duration);
  return Error{Code::invalid,
               fmt::format("invalid TTL '{}' (use 90s, 15m, 2h30m, 7d or none)", text)};
}

Result<Exit> run_family_ttl(const FamilyArgs& args, const StoreFile& file) {
  const Result<std::optional<Millis>> new_ttl = parse_default_ttl(args.time);
  if (!new_ttl) return new_ttl.error();
  Result<Store> store = file.open(Use::change);
  if (!store) return store.error();
  Family family;
  if (args.name != "default") {
    const Result<Family> found = store->family(args.name);
    if (!found && found.error().code == Code::not_found) return no_such_family(args.name, file);
    if (!found) return found.error();
    family = *found;
  }
  if (!args.time.empty()) {
    if (const Status set = store->set_default_ttl(*new_ttl, family); !set) return set.error();
  }
  const Result<std::optional<Millis>> now = store->default_ttl(family);
  if (!now) return now.error();
  if (file.is_json()) {
    fmt::print("{{\"name\": {}, \"default_ttl\": {}}}\n", file.bytes().json(args.name),
               seconds_json(now->value_or(Millis::max())));
  } else if (args.time.empty()) {
    fmt::print("{}\n", *now ? time_left_text(**now) : "no ttl");
  }
  return Exit::ok;
}

}  // namespace

void add_family_commands(Program& program, StoreFile* file) {
  const auto args = program.keep<FamilyArgs>();
  const CliCommand above =
      program.add("cf", "Manage column families (separate key spaces)", kFamilyExamples);
  const auto add = [&](const char* name, const char* what, const char* examples, auto run) {
    CliCommand command = program.add(above, name, what, examples);
    if (run != run_family_list) {
      command.add_option("NAME", args->name, "The column family").required();
    }
    file->add_options(command);
    command.remove_option("--cf");  // NAME replaces it
    program.on(command, [args, file, run] { return run(*args, *file); });
    return command;
  };
  add("list", "List column families", kFamilyListExamples, run_family_list);
  add("create", "Create a column family", kFamilyCreateExamples, run_family_create);
  add("drop", "Delete a column family and its entries", kFamilyDropExamples, run_family_drop);
  add("ttl", "Print or set the default TTL of a column family", kFamilyTtlExamples, run_family_ttl)
      .add_text("TIME", args->time, "", "New default TTL: 90s, 15m, 2h30m, 7d, or none");
}

}  // namespace mayfly
