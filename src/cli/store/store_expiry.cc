// SPDX-License-Identifier: Apache-2.0
// ttl, expire, persist and touch: the deadline of a key. expiring (store_expiring.cc) and purge:
// those of many.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "cli/store/store_answers.h"
#include "cli/store/store_commands.h"
#include "cli/ttl_words.h"
#include "tools/option_words.h"
#include "tools/terminal/progress.h"
#include "tools/terminal/terminal.h"

namespace mayfly {
namespace {

using Use = StoreFile::Use;

constexpr const char* kTtlExamples =
    "Examples:\n"
    "  mayfly ttl --db app.db session:42            '1799.998s remaining', or 'no ttl'\n"
    "  mayfly ttl --db app.db session:42 --json     with the moment at which it ends\n"
    "Exit code 2: there is no such key, or it has expired.";

constexpr const char* kExpireExamples =
    "Examples:\n"
    "  mayfly expire --db app.db session:42 30m         half an hour from now\n"
    "  mayfly expire --db app.db offer 2099-12-31T23:59Z    at that moment\n"
    "  mayfly expire --db app.db session:42 1h --nx     only if it has no deadline yet\n"
    "  mayfly expire --db app.db session:42 1h --gt     only if that puts it off\n"
    "The value stays as it is. It prints 'changed', or 'unchanged' if a condition did not hold.\n"
    "Exit code 2: there is no such key, or it has expired.";

constexpr const char* kPersistExamples =
    "Examples:\n"
    "  mayfly persist --db app.db session:42     it will not expire any more\n"
    "It prints 'changed', or 'unchanged' if the key had no deadline.\n"
    "Exit code 2: there is no such key, or it has expired.";

constexpr const char* kTouchExamples =
    "Examples:\n"
    "  mayfly touch --db app.db session:42 30m          as a session does when it is used\n"
    "  mayfly touch --db app.db session:42 --ttl 30m    the same\n"
    "A deadline is only put off: an earlier one, or a key that has none, stays as it is.\n"
    "It prints 'changed' or 'unchanged'. Exit code 2: there is no such key, or it has expired.";

constexpr const char* kPurgeExamples =
    "Examples:\n"
    "  mayfly purge --db app.db                 remove what has expired, and say how much\n"
    "  mayfly purge --db app.db --all           in all column families\n"
    "  mayfly purge --db app.db --limit 10000 --seconds 0.5\n"
    "Nobody sees what has expired anyway; a purge gives back the room that it takes. Others can\n"
    "read and write meanwhile.";

struct Words {
  std::string key;
  std::string time;
  std::string ttl;  // the same, said as --ttl
  bool is_nx = false;
  bool is_xx = false;
  bool is_gt = false;
  bool is_lt = false;
};

Result<Exit> ttl(const Words& words, const StoreFile& file) {
  const Result<std::string> key = file.bytes().read(words.key);
  if (!key) return key.error();
  const Result<StoreFile::Opened> opened = file.open_family(Use::read);
  if (!opened) return opened.error();
  const Result<ReadTxn> txn = opened->store.read();
  if (!txn) return txn.error();
  const Result<std::optional<Time>> deadline = txn->deadline(*key, opened->family);
  if (!deadline) return deadline.error();
  if (!*deadline) return refuse_imported(*txn, *key, file.family_name(), file);
  print_ttl(*key, **deadline, txn->now(), file);
  return Exit::ok;
}

// Lets `change` do something to the deadline of a key, and says whether it is another one now.
template <class Change>
Result<Exit> change_deadline(const std::string& word, const StoreFile& file, Change change) {
  const Result<std::string> key = file.bytes().read(word);
  if (!key) return key.error();
  Result<StoreFile::Opened> opened = file.open_family(Use::change);
  if (!opened) return opened.error();
  Result<WriteTxn> txn = opened->store.write();
  if (!txn) return txn.error();
  const Result<std::optional<Time>> before = txn->deadline(*key, opened->family);
  if (!before) return before.error();
  if (!*before) return refuse_imported(*txn, *key, file.family_name(), file);
  change(*txn, *key, opened->family);
  const Result<std::optional<Time>> after = txn->deadline(*key, opened->family);
  if (!after) return after.error();
  const Time now = txn->now();
  if (const Status status = txn->commit(); !status) return status.error();
  print_changed(*key, *before != *after, after->value_or(now), now, file);
  return Exit::ok;
}

Result<When> condition_of(const Words& words) {
  When when = When::always;
  if (words.is_nx) when = when | When::unset;
  if (words.is_xx) when = when | When::set;
  if (words.is_gt) when = when | When::later;
  if (words.is_lt) when = when | When::sooner;
  if (compatible(when)) return when;
  return Error{Code::invalid,
               "these conditions contradict each other: --nx goes with no other, and --gt not with "
               "--lt"};
}

Result<Expiry> expires_of(const Words& words, const StoreFile& file) {
  if (words.time.empty() == words.ttl.empty()) {
    return Error{Code::invalid, "until when? Say TIME or --ttl TIME, one of them"};
  }
  return parse_expires(words.time.empty() ? words.ttl : words.time, file.now());
}

Result<Exit> expire(const Words& words, const StoreFile& file) {
  const Result<When> when = condition_of(words);
  if (!when) return when.error();
  const Result<Expiry> expires = expires_of(words, file);
  if (!expires) return expires.error();
  return change_deadline(words.key, file,
                         [&](WriteTxn& txn, const std::string& key, Family family) {
                           txn.expire(key, *expires, *when, family);
                         });
}

Result<Exit> touch(const Words& words, const StoreFile& file) {
  const Result<Expiry> expires = expires_of(words, file);
  if (!expires) return expires.error();
  return change_deadline(words.key, file,
                         [&](WriteTxn& txn, const std::string& key, Family family) {
                           txn.touch(key, *expires, family);
                         });
}

Result<Exit> persist(const Words& words, const StoreFile& file) {
  return change_deadline(words.key, file, [](WriteTxn& txn, const std::string& key, Family family) {
    txn.persist(key, family);
  });
}

struct PurgeWords {
  std::string limit;
  std::string seconds;
  bool is_all = false;
};

Result<PurgeLimits> limits_of(const PurgeWords& words, const StoreFile& file) {
  if (words.is_all && file.has_family()) {
    return Error{Code::invalid, "say either --all or --cf NAME"};
  }
  PurgeLimits limits;
  if (!words.limit.empty()) {
    const auto limit = parse_number<std::uint64_t>("--limit", words.limit, 0, INT64_MAX);
    if (!limit) return limit.error();
    limits.entries = *limit;
  }
  if (!words.seconds.empty()) {
    const Result<Millis> time = parse_duration(words.seconds);
    if (!time) return Error{Code::invalid, "--seconds: " + time.error().message};
    limits.time = *time;
  }
  return limits;
}

// How many entries there are to remove, for whoever watches.
std::uint64_t expired_entries(const Store& store, const std::vector<Family>& families) {
  std::uint64_t expired = 0;
  const Result<ReadTxn> txn = store.read();
  if (!txn) return 0;
  for (const Family family : families) {
    if (const auto counts = txn->count(family)) expired += counts->expired;
  }
  return expired;
}

// In steps, after each of which the bar is drawn anew.
Purged purge_watched(Store& store, const std::vector<Family>& families, PurgeLimits limits) {
  constexpr std::uint64_t kStep = 20'000;
  const bool is_watched = is_terminal(STDERR_FILENO);
  const std::uint64_t expired = is_watched ? expired_entries(store, families) : 0;
  Progress progress(stderr, is_watched && expired > kStep,
                    static_cast<double>(std::min(expired, limits.entries)));
  progress.begin("removing what has expired");
  Purged all;
  for (const Family family : families) {
    Purged step;
    do {
      const Millis spent = to_millis(std::chrono::duration<double>(progress.seconds()));
      const Millis left = limits.time == Millis::max() ? limits.time : limits.time - spent;
      step = store.purge_expired({std::min(kStep, limits.entries - all.removed), left}, family);
      all.removed += step.removed;
      progress.add(static_cast<double>(step.removed));
    } while (step.status && !step.done && step.removed > 0);
    all.done = all.done && step.done;
    all.status = step.status;
    if (!all.status) break;
  }
  return all;
}

Result<Exit> purge(const PurgeWords& words, const StoreFile& file) {
  const Result<PurgeLimits> limits = limits_of(words, file);
  if (!limits) return limits.error();
  Result<StoreFile::Opened> opened = file.open_family(Use::change);
  if (!opened) return opened.error();
  std::vector<Family> families = {opened->family};
  if (words.is_all) {
    const Result<ReadTxn> txn = opened->store.read();
    if (!txn) return txn.error();
    families = txn->all_families();
  }
  const Purged purged = purge_watched(opened->store, families, *limits);
  if (!purged.status) return purged.status.error();
  print_purged(purged.removed, purged.done, file);
  return Exit::ok;
}

using Work = Result<Exit> (*)(const Words&, const StoreFile&);

CliCommand add(Program& program, StoreFile* file, Words* words, const char* name, const char* what,
               const char* examples, Work work) {
  CliCommand command = program.add(name, what, examples);
  command.add_option("KEY", words->key, "The key").required();
  if (work == expire || work == touch) {
    command.add_option("TIME", words->time, "How long from now: 90s, 15m, 2h30m, 7d; or a date")
        .check([](const std::string& text) { return text.empty() ? "'' is not a time" : ""; });
    add_word(command, "--ttl", words->ttl, "TIME", "The same");
  }
  file->add_options(command);
  file->add_byte_options(command);
  program.on(command, [words, file, work] { return work(*words, *file); });
  return command;
}

void add_purge(Program& program, StoreFile* file) {
  const auto words = program.keep<PurgeWords>();
  CliCommand command = program.add("purge", "Remove what has expired", kPurgeExamples);
  add_word(command, "--limit", words->limit, "N", "The most entries to remove");
  add_word(command, "--seconds", words->seconds, "S", "The most time to take");
  command.add_flag("--all", words->is_all, "In all column families");
  file->add_options(command);
  program.on(command, [words, file] { return purge(*words, *file); });
}

}  // namespace

void add_expiry_commands(Program& program, StoreFile* file) {
  const auto words = program.keep<Words>();
  add(program, file, words, "ttl", "Say how long a key has still to live", kTtlExamples, ttl);
  CliCommand expiring =
      add(program, file, words, "expire", "Say when a key is to expire", kExpireExamples, expire);
  expiring.add_flag("--nx", words->is_nx, "Only if it has no deadline");
  expiring.add_flag("--xx", words->is_xx, "Only if it has one");
  expiring.add_flag("--gt", words->is_gt, "Only if the new one is later");
  expiring.add_flag("--lt", words->is_lt, "Only if the new one is sooner");
  add(program, file, words, "persist", "Let a key live for ever", kPersistExamples, persist);
  add(program, file, words, "touch", "Put the deadline of a key off", kTouchExamples, touch);
  add_expiring_command(program, file);
  add_purge(program, file);
}

}  // namespace mayfly
