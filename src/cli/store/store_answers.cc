// SPDX-License-Identifier: Apache-2.0
#include "cli/store/store_answers.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "cli/ttl_words.h"
#include "tools/terminal/terminal.h"

namespace mayfly {
namespace {

Result<std::string> family_json(const ReadTxn& txn, const std::string& name,
                                const StoreFile& file) {
  const Result<Family> family = txn.family(name);
  if (!family) return family.error();
  const Result<FamilyCounts> counts = txn.count(*family);
  if (!counts) return counts.error();
  const Result<std::optional<Millis>> ttl = txn.default_ttl(*family);
  if (!ttl) return ttl.error();
  return fmt::format(
      R"({{"name": {}, "live": {}, "with_ttl": {}, "expired": {}, "default_ttl": {}}})",
      file.bytes().json(name), counts->live, counts->with_ttl, counts->expired,
      seconds_json(ttl->value_or(Millis::max())));
}

}  // namespace

bool Lines::write() {
  if (failure_ != 0) return false;
  errno = 0;
  const bool written = std::fwrite(text_.data(), 1, text_.size(), stdout) == text_.size();
  text_.clear();
  if (!written) failure_ = errno != 0 ? errno : EIO;
  return written;
}

Status Lines::finish() {
  write();
  if (failure_ != 0) throw std::system_error(failure_, std::generic_category());
  flush_output();
  return Done{};
}

std::string seconds_json(Millis duration) {
  if (duration == Millis::max()) return "null";
  return fmt::format("{}.{:03}", duration.count() / 1000, duration.count() % 1000);
}

std::string deadline_json(Time deadline, Time now) {
  if (deadline == kNever) return R"("ttl": null, "deadline_ms": null, "deadline": null)";
  return fmt::format(R"("ttl": {}, "deadline_ms": {}, "deadline": "{}")",
                     seconds_json(remaining(deadline, now)), deadline.time_since_epoch().count(),
                     moment_text(deadline));
}

std::string size_text(std::uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  double size = static_cast<double>(bytes);
  for (const char* const unit : {"KB", "MB", "GB"}) {
    size /= 1000;
    if (size < 999.95) return fmt::format("{:.1f} {}", size, unit);
  }
  return fmt::format("{:.1f} TB", size / 1000);
}

void print_entry(std::string_view key, std::string_view value, Time deadline, Time now,
                 const StoreFile& file) {
  if (file.is_json()) {
    fmt::print("{{\"key\": {}, \"value\": {}, {}}}\n", file.bytes().json(key),
               file.bytes().json(value), deadline_json(deadline, now));
  } else {
    fmt::print("{}\n", file.bytes().text(value));
  }
}

void print_exists(std::string_view key, bool is_found, const StoreFile& file) {
  if (file.is_json()) {
    fmt::print("{{\"key\": {}, \"exists\": {}}}\n", file.bytes().json(key), is_found);
  } else {
    fmt::print("{}\n", is_found);
  }
}

void print_ttl(std::string_view key, Time deadline, Time now, const StoreFile& file) {
  if (file.is_json()) {
    fmt::print("{{\"key\": {}, {}}}\n", file.bytes().json(key), deadline_json(deadline, now));
  } else if (deadline == kNever) {
    fmt::print("no ttl\n");
  } else {
    fmt::print("{}s remaining\n", seconds_json(remaining(deadline, now)));
  }
}

void print_changed(std::string_view key, bool is_changed, Time deadline, Time now,
                   const StoreFile& file) {
  if (file.is_json()) {
    fmt::print("{{\"key\": {}, \"changed\": {}, {}}}\n", file.bytes().json(key), is_changed,
               deadline_json(deadline, now));
  } else {
    fmt::print("{}\n", is_changed ? "changed" : "unchanged");
  }
}

void print_done(std::string_view key, const char* what, const StoreFile& file) {
  if (file.is_json()) fmt::print("{{\"key\": {}, \"{}\": true}}\n", file.bytes().json(key), what);
}

void print_family_done(std::string_view name, const char* what, const StoreFile& file) {
  if (file.is_json()) fmt::print("{{\"name\": {}, \"{}\": true}}\n", file.bytes().json(name), what);
}

void print_sum(std::string_view key, std::int64_t sum, const StoreFile& file) {
  if (file.is_json()) {
    fmt::print("{{\"key\": {}, \"value\": {}}}\n", file.bytes().json(key), sum);
  } else {
    fmt::print("{}\n", sum);
  }
}

void print_inserted(std::string_view key, bool is_inserted, const StoreFile& file) {
  if (file.is_json()) {
    fmt::print("{{\"key\": {}, \"inserted\": {}}}\n", file.bytes().json(key), is_inserted);
  } else {
    fmt::print("{}\n", is_inserted ? "inserted" : "already exists");
  }
}

void print_purged(std::uint64_t removed, bool is_done, const StoreFile& file) {
  if (file.is_json()) {
    fmt::print("{{\"removed\": {}, \"done\": {}}}\n", removed, is_done);
  } else if (is_terminal(STDOUT_FILENO)) {
    fmt::print("{} expired {} removed\n", removed, removed == 1 ? "entry" : "entries");
  } else {
    fmt::print("{}\n", removed);  // for scripts
  }
}

Status print_families(const ReadTxn& txn, const StoreFile& file) {
  for (const std::string& name : txn.families()) {
    if (!file.is_json()) {
      fmt::print("{}\n", file.bytes().line(name));
      continue;
    }
    const Result<std::string> line = family_json(txn, name, file);
    if (!line) return line.error();
    fmt::print("{}\n", *line);
  }
  return Done{};
}

Exit not_found(std::string_view key, const StoreFile& file) {
  if (file.is_json()) {
    fmt::print("{{\"key\": {}, \"error\": \"not found\"}}\n", file.bytes().json(key));
  } else {
    fmt::print(stderr, "mayfly: key '{}' not found in {}\n", file.bytes().text(key), file.path());
  }
  return Exit::not_found;
}

}  // namespace mayfly
