// SPDX-License-Identifier: Apache-2.0
// A store by commands: one a line on the standard input, one line of answer to each. For tests that
// have to say what several processes do, one after the other: see store_shell.py.
//
// An answer is "ok ..." or "CODE ...", with the code of the error and its message. The clock stands
// still until it is told to move.

#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <string>

#include "mayfly/store.h"

namespace mayfly {
namespace {

const char* name_of(Code code) {
  static constexpr const char* kNames[] = {"invalid", "not_found", "busy",        "full",
                                           "denied",  "corrupt",   "unsupported", "io"};
  return kNames[static_cast<int>(code)];
}

std::string answer(const Error& error) {
  return std::string(name_of(error.code)) + " " + error.message;
}
std::string answer(const Status& status) { return status ? "ok" : answer(status.error()); }

// The value of key number `number` is made of its number, so that it can be told from others.
std::string value_of(std::uint64_t number, std::size_t bytes) {
  std::string value = std::to_string(number) + ":";
  value.resize(std::max(bytes, value.size()), static_cast<char>('a' + number % 26));
  return value;
}

class Shell {
 public:
  using Words = std::istringstream;

  std::string run(const std::string& line) {
    Words words(line);
    std::string name;
    words >> name;
    static const std::map<std::string, std::string (Shell::*)(Words&)> kCommands = {
        {"open", &Shell::open},         {"close", &Shell::close},
        {"clock", &Shell::clock},       {"put", &Shell::put},
        {"get", &Shell::get},           {"begin", &Shell::begin},
        {"tput", &Shell::put_in_txn},   {"commit", &Shell::commit},
        {"walk", &Shell::walk},         {"step", &Shell::step},
        {"purge", &Shell::purge},       {"count", &Shell::count},
        {"family", &Shell::family},     {"drop", &Shell::drop},
        {"fill", &Shell::fill},         {"batch", &Shell::batch},
        {"verify", &Shell::verify},     {"erase", &Shell::erase},
        {"backup", &Shell::backup},     {"compact", &Shell::compact},
        {"sync", &Shell::sync},         {"checkpoint", &Shell::checkpoint},
        {"check", &Shell::check},       {"limit", &Shell::limit},
        {"deadline", &Shell::deadline}, {"increment", &Shell::increment}};
    const auto found = kCommands.find(name);
    if (found == kCommands.end()) return "no such command: " + name;
    if (!store_ && name != "open" && name != "clock" && name != "limit") return "nothing is open";
    return (this->*found->second)(words);
  }

 private:
  // open PATH LEVEL [busy=MS] [map=BYTES] [interval=MS] [segment=BYTES] [read_only]
  std::string open(Words& words) {
    std::string path;
    std::string level;
    words >> path >> level;
    StoreOptions options;
    options.durability = level == "full"  ? Durability::full
                         : level == "off" ? Durability::off
                                          : Durability::normal;
    for (std::string word; words >> word;) {
      const std::string value = word.substr(word.find('=') + 1);
      if (word.starts_with("busy=")) options.busy_timeout = Millis(std::stoll(value));
      if (word.starts_with("map=")) options.map_bytes = std::stoull(value);
      if (word.starts_with("interval=")) options.sync_interval = Millis(std::stoll(value));
      if (word.starts_with("segment=")) options.log_segment_bytes = std::stoull(value);
      if (word == "read_only") options.read_only = true;
    }
    Result<Store> opened = Store::open(path, clock_, options);
    if (!opened) return answer(opened.error());
    store_.emplace(std::move(*opened));
    return "ok";
  }

  std::string close(Words&) {
    cursor_.reset();
    txn_.reset();
    const Status closed = store_->close();
    store_.reset();
    return answer(closed);
  }

  // clock MS: that much after the beginning
  std::string clock(Words& words) {
    std::int64_t ms = 0;
    words >> ms;
    clock_.set(kBegin + Millis(ms));
    return "ok";
  }

  Result<Family> family_named(Words& words) {
    std::string name;
    if (!(words >> name)) return Family();
    return store_->family(name);
  }

  // put KEY VALUE TTL [FAMILY], with a TTL of 0 for none
  std::string put(Words& words) {
    std::string key;
    std::string value;
    std::int64_t ttl = 0;
    words >> key >> value >> ttl;
    const Result<Family> family = family_named(words);
    if (!family) return answer(family.error());
    return answer(store_->put(key, value, ttl == 0 ? Expiry() : Expiry(Millis(ttl)), *family));
  }

  // get KEY [FAMILY]
  std::string get(Words& words) {
    std::string key;
    words >> key;
    const Result<Family> family = family_named(words);
    if (!family) return answer(family.error());
    const auto found = store_->get(key, *family);
    if (!found) return answer(found.error());
    return *found ? "ok " + **found : "ok";
  }

  // deadline KEY: in milliseconds after the beginning, "never", or nothing if there is no such key
  std::string deadline(Words& words) {
    std::string key;
    words >> key;
    const auto found = store_->deadline(key);
    if (!found) return answer(found.error());
    if (!*found) return "ok";
    return **found == kNever ? "ok never" : "ok " + std::to_string((**found - kBegin).count());
  }

  std::string increment(Words& words) {
    std::string key;
    words >> key;
    const auto sum = store_->increment(key);
    return sum ? "ok " + std::to_string(*sum) : answer(sum.error());
  }

  // begin BUSY_TIMEOUT
  std::string begin(Words& words) {
    std::int64_t timeout = 0;
    words >> timeout;
    auto begun = store_->write(Millis(timeout));
    if (!begun) return answer(begun.error());
    txn_.emplace(std::move(*begun));
    return "ok";
  }

  std::string put_in_txn(Words& words) {
    std::string key;
    std::string value;
    words >> key >> value;
    txn_->put(key, value);
    return answer(txn_->status());
  }

  std::string commit(Words&) {
    const Status committed = txn_->commit();
    txn_.reset();
    return answer(committed);
  }

  // walk, then step COUNT: the keys that a cursor passes
  std::string walk(Words&) {
    auto cursor = store_->cursor();
    if (!cursor) return answer(cursor.error());
    cursor_.emplace(std::move(*cursor));
    return cursor_->first() ? "ok" : answer(cursor_->status());
  }

  std::string step(Words& words) {
    int count = 0;
    words >> count;
    std::string keys = "ok";
    for (; count > 0 && cursor_->valid(); --count, cursor_->next()) {
      keys.append(" ").append(cursor_->key()).append("=").append(cursor_->value());
    }
    return cursor_->status() ? keys : answer(cursor_->status());
  }

  std::string purge(Words&) {
    const Purged purged = store_->purge_expired_all();
    return purged.status ? "ok " + std::to_string(purged.removed) : answer(purged.status);
  }

  // count [FAMILY]: live, with a TTL, expired
  std::string count(Words& words) {
    const Result<Family> family = family_named(words);
    if (!family) return answer(family.error());
    const auto counts = store_->count(*family);
    if (!counts) return answer(counts.error());
    return "ok " + std::to_string(counts->live) + " " + std::to_string(counts->with_ttl) + " " +
           std::to_string(counts->expired);
  }

  std::string family(Words& words) {
    std::string name;
    words >> name;
    const auto made = store_->create_family(name);
    return made ? "ok" : answer(made.error());
  }

  std::string drop(Words& words) {
    std::string name;
    words >> name;
    return answer(store_->drop_family(name));
  }

  // fill FIRST COUNT BYTES TTL: puts one after the other, until one fails; tells how many went well
  std::string fill(Words& words) {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    std::size_t bytes = 0;
    std::int64_t ttl = 0;
    words >> first >> count >> bytes >> ttl;
    const Expiry expires = ttl == 0 ? Expiry() : Expiry(Millis(ttl));
    for (std::uint64_t number = first; number < first + count; ++number) {
      const Status put = store_->put(std::to_string(number), value_of(number, bytes), expires);
      if (put) continue;
      std::string text = name_of(put.error().code);
      text.append(" ").append(std::to_string(number - first)).append(" ");
      return text + put.error().message;
    }
    return "ok " + std::to_string(count);
  }

  // batch FIRST COUNT BYTES: the same in one transaction
  std::string batch(Words& words) {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    std::size_t bytes = 0;
    words >> first >> count >> bytes;
    auto txn = store_->write();
    if (!txn) return answer(txn.error());
    for (std::uint64_t number = first; number < first + count; ++number) {
      txn->put(std::to_string(number), value_of(number, bytes));
    }
    return answer(txn->commit());
  }

  // verify FIRST COUNT BYTES: tells how many of them are there as they were put
  std::string verify(Words& words) {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    std::size_t bytes = 0;
    words >> first >> count >> bytes;
    const auto txn = store_->read();
    if (!txn) return answer(txn.error());
    std::uint64_t good = 0;
    for (std::uint64_t number = first; number < first + count; ++number) {
      const auto found = txn->get(std::to_string(number));
      if (!found) return answer(found.error());
      if (*found && **found == value_of(number, bytes)) ++good;
    }
    return "ok " + std::to_string(good);
  }

  // erase FIRST COUNT: in one transaction
  std::string erase(Words& words) {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    words >> first >> count;
    auto txn = store_->write();
    if (!txn) return answer(txn.error());
    for (std::uint64_t number = first; number < first + count; ++number) {
      txn->erase(std::to_string(number));
    }
    return answer(txn->commit());
  }

  std::string backup(Words& words) {
    std::string path;
    words >> path;
    return answer(store_->backup(path));
  }

  std::string compact(Words&) { return answer(store_->compact()); }
  std::string sync(Words&) { return answer(store_->sync()); }

  // checkpoint [truncate]
  std::string checkpoint(Words& words) {
    std::string mode;
    words >> mode;
    if (mode != "truncate") return answer(store_->checkpoint());
    const auto done = store_->checkpoint(CheckpointMode::truncate);
    return done ? "ok" : answer(done.error());
  }

  std::string check(Words&) {
    const auto report = store_->check();
    if (!report) return answer(report.error());
    return report->ok() ? "ok" : "corrupt " + report->problems.front();
  }

  // limit BYTES: no file may grow beyond that; 0: any may
  std::string limit(Words& words) {
    rlim_t bytes = 0;
    words >> bytes;
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limits{bytes == 0 ? RLIM_INFINITY : bytes, RLIM_INFINITY};
    return ::setrlimit(RLIMIT_FSIZE, &limits) == 0 ? "ok" : "cannot";
  }

  static constexpr Time kBegin{Millis(1'700'000'000'000)};

  ManualClock clock_{kBegin};
  std::optional<Store> store_;
  std::optional<WriteTxn> txn_;
  std::optional<Cursor> cursor_;
};

}  // namespace
}  // namespace mayfly

int main() {
  mayfly::Shell shell;
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << shell.run(line) << std::endl;
  }
}
