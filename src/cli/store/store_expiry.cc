// SPDX-License-Identifier: Apache-2.0
// ttl, expire, persist and touch: the TTL of a key. purge: removes expired entries.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "cli/commands.h"
#include "cli/import/imported_keys.h"
#include "cli/store/store_answers.h"
#include "cli/store/store_lines.h"
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
    "  mayfly ttl --db app.db session:42 --json     with the expiry time\n"
    "Exit code 2: the key does not exist or has expired.";

constexpr const char* kExpireExamples =
    "Examples:\n"
    "  mayfly expire --db app.db session:42 30m         half an hour from now\n"
    "  mayfly expire --db app.db offer 2099-12-31T23:59Z    at that time\n"
    "  mayfly expire --db app.db session:42 1h --nx     only if the key has no TTL\n"
    "  mayfly expire --db app.db session:42 1h --gt     only if that is later\n"
    "The value is not changed. Prints 'changed', or 'unchanged' if a condition does not hold.\n"
    "Exit code 2: the key does not exist or has expired.";

constexpr const char* kPersistExamples =
    "Examples:\n"
    "  mayfly persist --db app.db session:42     the key no longer expires\n"
    "Prints 'changed', or 'unchanged' if the key had no TTL.\n"
    "Exit code 2: the key does not exist or has expired.";

constexpr const char* kTouchExamples =
    "Examples:\n"
    "  mayfly touch --db app.db session:42 30m          extend a session when it is used\n"
    "  mayfly touch --db app.db session:42 --ttl 30m    the same\n"
    "Never shortens a TTL, and does not add one to a key without a TTL.\n"
    "Prints 'changed' or 'unchanged'. Exit code 2: the key does not exist or has expired.";

constexpr const char* kPurgeExamples =
    "Examples:\n"
    "  mayfly purge --db app.db                 remove expired entries and print their number\n"
    "  mayfly purge --db app.db --all           in all column families\n"
    "  mayfly purge --db app.db --limit 10000 --seconds 0.5\n"
    "Expired entries are never visible; a purge frees the space they take. Other processes can\n"
    "read and write meanwhile.";

struct ExpiryArgs {
  std::string key;
  std::string time;
  std::string ttl;  // the same, given as --ttl
  bool is_nx = false;
  bool is_xx = false;
  bool is_gt = false;
  bool is_lt = false;
};

Result<Exit> run_ttl(const ExpiryArgs& args, const StoreFile& file) {
  const Result<std::string> key = file.bytes().read(args.key);
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

Result<When> condition_of(const ExpiryArgs& args) {
  When when = When::always;
  if (args.is_nx) when = when | When::unset;
  if (args.is_xx) when = when | When::set;
  if (args.is_gt) when = when | When::later;
  if (args.is_lt) when = when | When::sooner;
  if (compatible(when)) return when;
  return Error{Code::invalid,
               "these conditions cannot be combined: --nx with any other, or --gt with --lt"};
}

Result<Exit> change_expiry(Verb verb, const ExpiryArgs& args, const StoreFile& file) {
  Operation operation;
  operation.verb = verb;
  const Result<When> when = condition_of(args);
  if (!when) return when.error();
  operation.when = *when;
  if (verb != Verb::persist) {
    if (args.time.empty() == args.ttl.empty()) {
      return Error{Code::invalid, "give either TIME or --ttl TIME"};
    }
    const Result<Expiry> expires =
        parse_expires(args.time.empty() ? args.ttl : args.time, file.now());
    if (!expires) return expires.error();
    operation.expires = *expires;
  }
  Result<std::string> key = file.bytes().read(args.key);
  if (!key) return key.error();
  operation.key = std::move(*key);
  return run_operation(operation, Use::change, file);
}

Result<Exit> run_expire(const ExpiryArgs& args, const StoreFile& file) {
  return change_expiry(Verb::expire, args, file);
}

Result<Exit> run_touch(const ExpiryArgs& args, const StoreFile& file) {
  return change_expiry(Verb::touch, args, file);
}

Result<Exit> run_persist(const ExpiryArgs& args, const StoreFile& file) {
  return change_expiry(Verb::persist, args, file);
}

struct PurgeArgs {
  std::string limit;
  std::string seconds;
  bool is_all = false;
};

Result<PurgeLimits> limits_of(const PurgeArgs& args, const StoreFile& file) {
  if (args.is_all && file.has_family()) {
    return Error{Code::invalid, "give either --all or --cf NAME"};
  }
  PurgeLimits limits;
  if (!args.limit.empty()) {
    const auto limit = parse_number<std::uint64_t>("--limit", args.limit, 0, INT64_MAX);
    if (!limit) return limit.error();
    limits.entries = *limit;
  }
  if (!args.seconds.empty()) {
    const Result<Millis> time = parse_duration(args.seconds);
    if (!time) return Error{Code::invalid, "--seconds: " + time.error().message};
    limits.time = *time;
  }
  return limits;
}

// The number of entries to remove, for the progress bar.
std::uint64_t expired_entries(const Store& store, const std::vector<Family>& families) {
  std::uint64_t expired = 0;
  const Result<ReadTxn> txn = store.read();
  if (!txn) return 0;
  for (const Family family : families) {
    if (const auto counts = txn->count(family)) expired += counts->expired;
  }
  return expired;
}

// Purges in steps and draws the progress bar after each.
Purged purge_with_progress(Store& store, const std::vector<Family>& families, PurgeLimits limits) {
  constexpr std::uint64_t kStep = 20'000;
  const bool is_visible = is_terminal(STDERR_FILENO);
  const std::uint64_t expired = is_visible ? expired_entries(store, families) : 0;
  Progress progress(stderr, is_visible && expired > kStep,
                    static_cast<double>(std::min(expired, limits.entries)));
  progress.begin("removing expired entries");
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

Result<Exit> run_purge(const PurgeArgs& args, const StoreFile& file) {
  const Result<PurgeLimits> limits = limits_of(args, file);
  if (!limits) return limits.error();
  Result<StoreFile::Opened> opened = file.open_family(Use::change);
  if (!opened) return opened.error();
  std::vector<Family> families = {opened->family};
  if (args.is_all) {
    const Result<ReadTxn> txn = opened->store.read();
    if (!txn) return txn.error();
    families = txn->all_families();
  }
  const Purged purged = purge_with_progress(opened->store, families, *limits);
  if (!purged.status) return purged.status.error();
  print_purged(purged.removed, purged.done, file);
  return Exit::ok;
}

}  // namespace

void add_expiry_commands(Program& program, StoreFile* file) {
  const auto args = program.keep<ExpiryArgs>();
  const auto add = [&](const char* name, const char* what, const char* examples, auto run) {
    CliCommand command = file->add_command(program, name, what, examples, args, run);
    command.add_option("KEY", args->key, "The key").required();
    if (run == run_expire || run == run_touch) {
      command.add_text("TIME", args->time, "", "Time from now: 90s, 15m, 2h30m, 7d; or a date");
      command.add_text("--ttl", args->ttl, "TIME", "Same as TIME");
    }
    file->add_byte_options(command);
    return command;
  };
  add("ttl", "Print the remaining TTL of a key", kTtlExamples, run_ttl);
  const CliCommand expire =
      add("expire", "Set the TTL or expiry time of a key", kExpireExamples, run_expire);
  expire.add_flag("--nx", args->is_nx, "Only if the key has no TTL");
  expire.add_flag("--xx", args->is_xx, "Only if the key has a TTL");
  expire.add_flag("--gt", args->is_gt, "Only if the new expiry time is later");
  expire.add_flag("--lt", args->is_lt, "Only if the new expiry time is earlier");
  add("persist", "Remove a key's TTL", kPersistExamples, run_persist);
  add("touch", "Extend a key's TTL", kTouchExamples, run_touch);

  const auto purge = program.keep<PurgeArgs>();
  const CliCommand purging = file->add_command(program, "purge", "Remove expired entries",
                                               kPurgeExamples, purge, run_purge);
  purging.add_text("--limit", purge->limit, "N", "Maximum number of entries to remove");
  purging.add_text("--seconds", purge->seconds, "S", "Maximum time to spend");
  purging.add_flag("--all", purge->is_all, "Purge all column families");
}

}  // namespace mayfly
