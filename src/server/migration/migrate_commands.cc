// SPDX-License-Identifier: Apache-2.0
// MIGRATE: moves keys to another server. The server waits for it, as in Valkey, so that nobody can
// change a key between its copy and its removal. A key is removed only after the other server has
// confirmed that it has it.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "commands/ttl/expire_time.h"
#include "persist/rdb/rdb_save.h"
#include "resp/encode.h"
#include "resp/numbers.h"
#include "server/core/server_call.h"
#include "server/migration/migration_targets.h"

namespace mayfly {
namespace {

constexpr std::size_t kFirstOption = 6;
constexpr std::size_t kWriteBytes = 64 * 1024;  // requests are collected up to this size

struct Migration {
  std::string host;
  int port = 0;  // 0: not a port
  std::int64_t database = 0;
  Millis timeout{1000};  // for each step, as long as there is progress
  bool copies = false;
  bool replaces = false;
  std::vector<std::string_view> login;  // user and password, or a password, or nothing
  std::vector<std::string_view> keys;   // those that exist
};

// The words of a MIGRATE after the timeout; false after an error reply.
bool read_migrate_options(Call& call, Migration& migration) {
  migration.keys = {call.word(3)};
  for (std::size_t i = kFirstOption; i < call.count(); ++i) {
    const std::size_t left = call.count() - 1 - i;
    if (call.is(i, "copy")) {
      migration.copies = true;
    } else if (call.is(i, "replace")) {
      migration.replaces = true;
    } else if (call.is(i, "auth") && left >= 1) {
      migration.login = {call.word(i + 1)};
      i += 1;
    } else if (call.is(i, "auth2") && left >= 2) {
      migration.login = {call.word(i + 1), call.word(i + 2)};
      i += 2;
    } else if (call.is(i, "keys")) {
      if (!call.word(3).empty()) {
        call.fail(
            "ERR When using MIGRATE KEYS option, the key argument must be set to the empty string");
        return false;
      }
      const Words keys = call.words().subspan(i + 1);
      migration.keys.assign(keys.begin(), keys.end());
      break;
    } else {
      call.fail_syntax();
      return false;
    }
  }
  return true;
}

std::optional<Migration> read_migration(Call& call) {
  Migration migration;
  if (!read_migrate_options(call, migration)) return std::nullopt;
  const std::optional<std::int64_t> timeout = call.integer(5);
  if (!timeout) return std::nullopt;
  const std::optional<std::int64_t> database = call.integer(4);
  if (!database) return std::nullopt;
  migration.host = call.word(1);
  const std::optional<std::int64_t> port = parse_integer(call.word(2));
  if (port && *port > 0 && *port < 65'536) migration.port = static_cast<int>(*port);
  migration.database = *database;
  if (*timeout > 0) migration.timeout = Millis(*timeout);
  std::erase_if(migration.keys,
                [&](std::string_view key) { return call.find_to_read(key) == kNoSlot; });
  return migration;
}

// One try to move the keys by a connection.
class Transfer {
 public:
  Transfer(Call& call, const Migration& migration, MigrationTargets::Target& target)
      : call_(call), migration_(migration), target_(target) {}

  void run() {
    if (!send() || !flush()) {
      is_writing_ = true;
      return;
    }
    receive();
  }

  const std::optional<Error>& broken() const { return broken_; }
  bool is_writing() const { return is_writing_; }  // when it broke
  bool has_begun() const { return has_begun_; }    // a key was answered
  const std::string& refusal() const { return refusal_; }
  const std::vector<std::string_view>& moved() const { return moved_; }

 private:
  bool send() {
    if (!migration_.login.empty()) {
      std::vector<std::string_view> words = {"AUTH"};
      words.insert(words.end(), migration_.login.begin(), migration_.login.end());
      append_request(output_, words);
    }
    selects_ = target_.database != migration_.database;
    if (selects_) {
      append_request(output_,
                     std::vector<std::string>{"SELECT", std::to_string(migration_.database)});
    }
    return std::ranges::all_of(migration_.keys,
                               [&](std::string_view key) { return send_key(key); });
  }

  // A key that is due is left where it is: only the source of an import can see it.
  bool send_key(std::string_view key) {
    const Slot slot = call_.find(key);
    const Time deadline = call_.database().deadline(slot);
    if (is_due(deadline, call_.now())) return true;
    const Millis ttl = deadline == kNever ? Millis(0) : remaining(deadline, call_.now());
    const RdbOptions options = {.compresses = parts_of(call_).config.rdbcompression,
                                .checksums = true};
    append_length(output_, '*', migration_.replaces ? 5 : 4);
    append_bulk(output_, "RESTORE");
    append_bulk(output_, key);
    append_bulk(output_, std::to_string(ttl.count()));
    append_bulk(output_, dump_value(call_.database(), slot, options));
    if (migration_.replaces) append_bulk(output_, "REPLACE");
    sent_.push_back(key);
    return output_.size() < kWriteBytes || flush();
  }

  bool flush() {
    if (const Status status = target_.stream->write(output_, migration_.timeout); !status) {
      broken_ = status.error();
    }
    output_.clear();
    return !broken_;
  }

  // The next reply; nothing if the connection broke. An error is remembered, the first one only.
  std::optional<std::string> next_reply() {
    Result<std::string> line = target_.stream->read_line(migration_.timeout);
    if (!line) {
      broken_ = line.error();
      return std::nullopt;
    }
    if (line->starts_with('-') && refusal_.empty()) refusal_ = line->substr(1);
    return std::move(*line);
  }

  void receive() {
    if (!migration_.login.empty() && !next_reply()) return;
    if (selects_ && !next_reply()) return;
    const bool is_ready = refusal_.empty();  // else the keys may have gone to another database
    for (const std::string_view key : sent_) {
      const std::optional<std::string> reply = next_reply();
      if (!reply) return;
      has_begun_ = true;
      if (is_ready && !reply->starts_with('-')) moved_.push_back(key);
    }
    target_.database = refusal_.empty() ? migration_.database : -1;
  }

  Call& call_;
  const Migration& migration_;
  MigrationTargets::Target& target_;
  std::string output_;
  bool selects_ = false;
  bool is_writing_ = false;
  bool has_begun_ = false;
  std::optional<Error> broken_;
  std::string refusal_;                  // what the other server replied first that was an error
  std::vector<std::string_view> sent_;   // keys
  std::vector<std::string_view> moved_;  // those that are there
};

// Replicas and the log get one DEL. A key may have been named twice.
void remove_moved(Call& call, const std::vector<std::string_view>& keys) {
  Propagated removal = {"DEL"};
  for (const std::string_view key : keys) {
    const Slot slot = call.find(key);
    if (slot == kNoSlot) continue;
    call.database().erase(slot);
    call.changed(key);
    call.notify(Event::generic, "del", key);
    removal.emplace_back(key);
  }
  if (removal.size() > 1) call.propagate_list(std::move(removal));
}

void reply_transfer(Call& call, const Transfer& transfer) {
  if (!transfer.refusal().empty()) {
    return call.fail(fmt::format("ERR Target instance replied with error: {}", transfer.refusal()));
  }
  if (!transfer.broken()) return call.reply().ok();
  call.fail(fmt::format("IOERR error or timeout {} to target instance",
                        transfer.is_writing() ? "writing" : "reading"));
}

// One connection for one try; true if a new connection may do better: the other server has closed
// a kept one and has done nothing.
bool try_transfer(Call& call, const Migration& migration) {
  MigrationTargets& targets = parts_of(call).migration_targets;
  Result<MigrationTargets::Target> target =
      migration.port == 0 ? Error{Code::invalid, "not a port"}
                          : targets.take(migration.host, migration.port, migration.timeout);
  if (!target) {
    // Valkey notices a refused connection when it writes.
    const bool is_refused = target.error().code == Code::io;
    call.fail(is_refused ? "IOERR error or timeout writing to target instance"
                         : "IOERR error or timeout connecting to the client");
    return false;
  }
  Transfer transfer(call, migration, *target);
  transfer.run();
  if (transfer.broken() && transfer.broken()->code != Code::busy && target->was_kept &&
      !transfer.has_begun()) {
    return true;
  }
  if (!migration.copies) remove_moved(call, transfer.moved());
  reply_transfer(call, transfer);
  if (!transfer.broken() && migration.login.empty()) {
    targets.keep(migration.host, migration.port, std::move(*target), call.now());
  }
  return false;
}

// MIGRATE host port key|"" database timeout [COPY] [REPLACE] [AUTH password | AUTH2 user password]
//         [KEYS key ...]
void migrate(Call& call) {
  const std::optional<Migration> migration = read_migration(call);
  if (!migration) return;
  if (migration->keys.empty()) return call.reply().simple("NOKEY");
  if (try_transfer(call, *migration)) try_transfer(call, *migration);
}

// clang-format off
constexpr Command kMigrateCommands[] = {
    {"migrate", migrate, -6,
     flag::write | flag::movablekeys | flag::dangerous | flag::keys_option |
         flag::reaches_out,
     {3, 3, 1, access::rw | access::access | access::remove}, "generic", "2.6.0",
     "host port:int key-selector:(key | '\"\"') destination-db:int timeout:int [COPY] [REPLACE] "
     "[authentication:"
     "(AUTH password | (AUTH2 username password))] [KEYS keys:key...]",
     "Moves keys to another server."},
};
// clang-format on

}  // namespace

std::span<const Command> migrate_commands() { return kMigrateCommands; }

}  // namespace mayfly
