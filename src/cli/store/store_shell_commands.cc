// SPDX-License-Identifier: Apache-2.0
// The commands of the shell, besides the changes of store_lines.h.

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "cli/advice.h"
#include "cli/import/imported_keys.h"
#include "cli/store/store_answers.h"
#include "cli/store/store_shell.h"
#include "cli/ttl_words.h"
#include "tools/option_words.h"

namespace mayfly {
namespace {

// Whether Ctrl-C was pressed since the command started. The shell blocks that signal.
bool is_interrupted() {
  sigset_t waiting;
  sigemptyset(&waiting);
  return sigpending(&waiting) == 0 && sigismember(&waiting, SIGINT) == 1;
}

Result<std::string> next_bytes(LineWords& words, std::string_view what, const ByteWords& bytes) {
  const Result<std::string> word = words.next(what);
  if (!word) return word.error();
  return bytes.decode(*word);
}

Result<std::uint64_t> limit_value(LineWords& words, const LineOption& option) {
  const Result<std::string> word = words.value_of(option, "a number");
  if (!word) return word.error();
  return parse_number<std::uint64_t>("--limit", *word, 0, INT64_MAX);
}

constexpr std::string_view kWalkOptions[] = {"--prefix", "--seek", "--limit", "--reverse", "--ttl"};
constexpr std::string_view kCountOptions[] = {"--prefix"};
constexpr std::string_view kExpiringOptions[] = {"--within", "--limit"};

Status read_walk_option(LineWords& words, const LineOption& option, const ByteWords& bytes,
                        Walk& walk) {
  if (option.name == "--reverse" || option.name == "--ttl") {
    if (option.value) {
      return Error{Code::invalid, fmt::format("{} takes no value", option.name)};
    }
    (option.name == "--ttl" ? walk.has_ttl : walk.is_reverse) = true;
    return Done{};
  }
  if (option.name == "--limit") {
    const Result<std::uint64_t> limit = limit_value(words, option);
    if (!limit) return limit.error();
    walk.limit = *limit;
    return Done{};
  }
  const Result<std::string> word = words.value_of(option, "a key");
  if (!word) return word.error();
  Result<std::string> key = bytes.decode(*word);
  if (!key) return key.error();
  (option.name == "--seek" ? walk.seek : walk.prefix) = std::move(*key);
  return Done{};
}

// [PREFIX] [--prefix PREFIX] [--seek KEY] [--limit N] [--reverse] [--ttl]
Result<Walk> parse_walk(LineWords& words, const ByteWords& bytes,
                        std::span<const std::string_view> options) {
  Walk walk;
  words.set_options(options);
  while (!words.at_end()) {
    const Result<std::optional<LineOption>> option = words.next_option();
    if (!option) return option.error();
    if (*option) {
      const Status status = read_walk_option(words, **option, bytes, walk);
      if (!status) return status.error();
      continue;
    }
    if (!walk.prefix.empty()) return words.finish().error();
    Result<std::string> prefix = next_bytes(words, "PREFIX", bytes);
    if (!prefix) return prefix.error();
    walk.prefix = std::move(*prefix);
  }
  return walk;
}

}  // namespace

std::span<const Shell::Row> Shell::rows() {
  static constexpr Row kRows[] = {
      {"get", "get KEY", "print a value", &Shell::get},
      {"exists", "exists KEY", "print true or false", &Shell::exists},
      {"ttl", "ttl KEY", "print its remaining TTL", &Shell::ttl},
      {"list", "list [PREFIX] [OPTIONS]", "list keys; --limit N, --seek KEY, --reverse, --ttl",
       &Shell::list},
      {"scan", "scan [PREFIX] [OPTIONS]", "list keys and values; options as for list",
       &Shell::scan},
      {"count", "count [PREFIX]", "count keys", &Shell::count},
      {"expiring", "expiring [TIME] [--limit N]", "list keys that expire within TIME (default 1h)",
       &Shell::expiring},
      {"purge", "purge", "remove expired entries", &Shell::purge},
      {"cf", "cf [list|use|create|drop] [NAME]", "manage column families", &Shell::families},
      {"stat", "stat", "show statistics of the file", &Shell::stat},
      {"begin", "begin", "start a transaction; other writers wait until it ends", &Shell::begin},
      {"commit", "commit", "commit the transaction", &Shell::commit},
      {"rollback", "rollback", "roll the transaction back", &Shell::rollback},
      {"help", "help [COMMAND]", "show this list", &Shell::help},
      {"quit", "quit", "leave the shell (or Ctrl-D)", &Shell::quit},
      {"exit", "exit", "same as quit", &Shell::quit},
  };
  return kRows;
}

std::vector<std::string_view> Shell::names() {
  std::vector<std::string_view> all;
  for (const VerbForm& form : verb_forms()) all.push_back(form.name);
  for (const Row& row : rows()) all.push_back(row.name);
  return all;
}

Result<std::string> Shell::key_of(LineWords& words) const {
  Result<std::string> key = next_bytes(words, "KEY", file_.bytes());
  if (!key) return key.error();
  if (const Status status = words.finish(); !status) return status.error();
  return key;
}

Result<Exit> Shell::get(LineWords& words) {
  const Result<std::string> key = key_of(words);
  if (!key) return key.error();
  return reading([&](const ReadTxn& txn) -> Result<Exit> {
    const Result<std::optional<Entry>> entry = txn.get_entry(*key, family_);
    if (!entry) return entry.error();
    if (!*entry) return print_imported(txn, *key, family_name_, file_);
    print_entry(*key, (*entry)->value, (*entry)->deadline, txn.now(), file_);
    return Exit::ok;
  });
}

Result<Exit> Shell::exists(LineWords& words) {
  const Result<std::string> key = key_of(words);
  if (!key) return key.error();
  return reading([&](const ReadTxn& txn) -> Result<Exit> {
    const Result<bool> found = contains_key(txn, *key, family_, family_name_);
    if (!found) return found.error();
    print_exists(*key, *found, file_);
    return Exit::ok;
  });
}

Result<Exit> Shell::ttl(LineWords& words) {
  const Result<std::string> key = key_of(words);
  if (!key) return key.error();
  return reading([&](const ReadTxn& txn) -> Result<Exit> {
    const Result<std::optional<Time>> deadline = txn.deadline(*key, family_);
    if (!deadline) return deadline.error();
    if (!*deadline) return refuse_imported(txn, *key, family_name_, file_);
    print_ttl(*key, **deadline, txn.now(), file_);
    return Exit::ok;
  });
}

Result<Exit> Shell::walk(LineWords& words, bool has_values) {
  Result<Walk> walk = parse_walk(words, file_.bytes(), kWalkOptions);
  if (!walk) return walk.error();
  walk->has_values = has_values;
  return reading([&](const ReadTxn& txn) -> Result<Exit> {
    const auto printed = print_walk(*walk, txn, family_, family_name_, file_, is_interrupted);
    if (!printed) return printed.error();
    return Exit::ok;
  });
}

Result<Exit> Shell::count(LineWords& words) {
  const Result<Walk> walk = parse_walk(words, file_.bytes(), kCountOptions);
  if (!walk) return walk.error();
  return reading(
      [&](const ReadTxn& txn) { return exit_of(print_count(walk->prefix, txn, family_, file_)); });
}

Result<Exit> Shell::expiring(LineWords& words) {
  std::string time;
  std::uint64_t limit = SIZE_MAX;
  words.set_options(kExpiringOptions);
  while (!words.at_end()) {
    const Result<std::optional<LineOption>> option = words.next_option();
    if (!option) return option.error();
    if (*option && (*option)->name == "--limit") {
      const Result<std::uint64_t> number = limit_value(words, **option);
      if (!number) return number.error();
      limit = *number;
      continue;
    }
    if (!time.empty()) return Error{Code::invalid, "give only one TIME"};
    const Result<std::string> word =
        *option ? words.value_of(**option, "a time") : words.next_text("TIME");
    if (!word) return word.error();
    time = *word;
  }
  if (time.empty()) time = "1h";
  return reading([&](const ReadTxn& txn) -> Result<Exit> {
    const Time now = txn.now();
    const Result<Time> until = parse_moment(time, now);
    if (!until) return until.error();
    const auto found = txn.expiring(now, *until, limit, family_);
    if (!found) return found.error();
    return exit_of(print_expiring(*found, now, family_name_, file_, is_interrupted));
  });
}

Result<Exit> Shell::purge(LineWords& words) {
  if (const Status status = words.finish(); !status) return status.error();
  if (txn_) {
    const std::uint64_t removed = txn_->purge_expired(UINT64_MAX, family_);
    if (!txn_->status()) return in_open_transaction(Exit::ok);
    print_purged(removed, true, file_);
    return Exit::ok;
  }
  if (const Status opened = open(StoreFile::Use::read); !opened) return opened.error();
  const Purged purged = store_->purge_expired({}, family_);  // in steps, so that others can write
  if (!purged.status) return purged.status.error();
  print_purged(purged.removed, purged.done, file_);
  return Exit::ok;
}

Status Shell::use_family(const std::string& name) {
  if (const Status opened = open(StoreFile::Use::read); !opened) return opened;
  const Result<Family> found = name == "default" ? Result(Family())
                               : txn_            ? txn_->family(name)
                                                 : store_->family(name);
  if (!found) return found.error();
  family_ = *found;
  family_name_ = name;
  return Done{};
}

// Uses the default family if the current one was dropped or rolled back.
void Shell::refresh_family() {
  if (!use_family(family_name_)) (void)use_family("default");
}

Result<Exit> Shell::families(LineWords& words) {
  const Result<std::string> verb = words.at_end() ? Result<std::string>("list") : words.next("");
  if (!verb) return verb.error();
  if (*verb == "list" && words.at_end()) {
    return reading([&](const ReadTxn& txn) { return exit_of(print_families(txn, file_)); });
  }
  const bool is_verb = *verb == "use" || *verb == "create" || *verb == "drop";
  const Result<std::string> name = is_verb ? words.next("NAME") : verb;
  if (!name) return name.error();
  if (const Status status = words.finish(); !status) return status.error();
  if (*verb == "create") {
    return writing([&](WriteTxn& txn) -> Result<Exit> {
      const Result<Family> made = txn.create_family(*name);
      if (!made) return made.error();
      print_family_done(*name, "created", file_);
      return Exit::ok;
    });
  }
  if (*verb != "drop") return exit_of(use_family(*name));  // also 'cf NAME', as in txn
  const Result<Exit> dropped =
      writing([&](WriteTxn& txn) { return exit_of(txn.drop_family(*name)); });
  refresh_family();
  if (dropped) print_family_done(*name, "dropped", file_);
  return dropped;
}

Result<Exit> Shell::stat(LineWords& words) {
  if (const Status status = words.finish(); !status) return status.error();
  if (const Status opened = open(StoreFile::Use::read); !opened) return opened.error();
  return exit_of(print_stat(*store_, file_));
}

Result<Exit> Shell::begin(LineWords& words) {
  if (const Status status = words.finish(); !status) return status.error();
  if (txn_) return Error{Code::busy, "a transaction is already open (use 'commit' or 'rollback')"};
  if (const Status opened = open(StoreFile::Use::write); !opened) return opened.error();
  Result<WriteTxn> txn = store_->write();
  if (!txn) return txn.error();
  txn_.emplace(std::move(*txn));
  return Exit::ok;
}

Result<Exit> Shell::commit(LineWords& words) {
  if (const Status status = words.finish(); !status) return status.error();
  if (!txn_) return Error{Code::not_found, "no transaction is open (use 'begin')"};
  const Status status = txn_->commit();
  txn_.reset();
  refresh_family();
  return exit_of(status);
}

Result<Exit> Shell::rollback(LineWords& words) {
  if (const Status status = words.finish(); !status) return status.error();
  if (!txn_) return Error{Code::not_found, "no transaction is open (use 'begin')"};
  txn_.reset();
  refresh_family();
  return Exit::ok;
}

Result<Exit> Shell::help(LineWords& words) {
  const std::string name_given = command_meant(words.rest());
  bool is_found = false;
  const auto show = [&](std::string_view name, std::string_view usage, std::string_view what) {
    if (!name_given.empty() && name_given != name) return;
    is_found = true;
    const std::string gap(usage.size() < 38 ? 38 - usage.size() : 2, ' ');
    fmt::print("  {}{}{}\n", usage, gap, what);
  };
  for (const VerbForm& form : verb_forms()) show(form.name, form.usage, form.what);
  for (const Row& row : rows()) show(row.name, row.usage, row.what);
  if (!is_found) return unknown_verb(name_given, names());
  if (!name_given.empty()) return Exit::ok;
  fmt::print(
      "Quote a key that contains spaces or other bytes: get \"a key\\x00\". A value without "
      "quotes\n"
      "is the rest of the line: put greeting hello world --ttl 15m\n"
      "After -- nothing is an option: put note -- use --force\n");
  return Exit::ok;
}

Result<Exit> Shell::quit(LineWords& words) {
  if (const Status status = words.finish(); !status) return status.error();
  is_done_ = true;
  return Exit::ok;
}

}  // namespace mayfly
