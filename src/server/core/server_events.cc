// SPDX-License-Identifier: Apache-2.0
// What happens to keys, told to those who want to know: watchers, subscribers, monitors, replicas.

#include <fmt/format.h>

#include <algorithm>

#include "server/core/server.h"
#include "server/replication/replication.h"

namespace mayfly {
namespace {

// A word as MONITOR shows it.
void append_quoted(std::string& line, std::string_view word) {
  line += '"';
  for (const char c : word) {
    switch (c) {
      case '\\':
      case '"':
        line += {'\\', c};
        break;
      case '\n':
        line += "\\n";
        break;
      case '\r':
        line += "\\r";
        break;
      case '\t':
        line += "\\t";
        break;
      case '\a':
        line += "\\a";
        break;
      case '\b':
        line += "\\b";
        break;
      default:
        if (c >= ' ' && c <= '~') {
          line += c;
        } else {
          line += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        }
    }
  }
  line += '"';
}

}  // namespace

void Server::notify(Event event, std::string_view name, std::string_view key, int database) {
  if (loading_.is_active()) return;  // it happened long ago
  const Event wanted = config_.notify_keyspace_events;
  if (!any(wanted & event) || !pubsub_.has_listeners()) return;
  if (any(wanted & Event::keyspace)) {
    pubsub_.publish(fmt::format("__keyspace@{}__:{}", database, key), name);
  }
  if (any(wanted & Event::keyevent)) {
    pubsub_.publish(fmt::format("__keyevent@{}__:{}", database, name), key);
  }
}

void Server::key_changed(const ExecContext& context, int database, std::string_view key) {
  if (!watches_.is_empty()) watches_.key_changed(database, key);
  // A change by a client of a replica, not by its primary.
  if (is_replica() && context.policy == Policy::hide) {
    replication_->local_expiries().note(database, key);
  }
}

void Server::database_changed(const ExecContext& context, int database) {
  if (!watches_.is_empty()) watches_.database_changed(context, database, keyspace_);
}

// Watches are told before: whether a key that they watch is there makes a difference to them.
void Server::clear_all() {
  for (int number = 0; number < keyspace_.count(); ++number) {
    database_changed(context(), number);
    keyspace_[number].clear();
  }
}

void Server::key_expired(Database& database, std::string_view key, FoundBy by) {
  watches_.key_changed(database.number(), key);
  notify(Event::expired, "expired", key, database.number());
  propagate_removal(database, key, by);
}

void Server::members_expired(Database& database, std::string_view key,
                             std::span<const std::string> names, bool emptied, FoundBy by) {
  watches_.key_changed(database.number(), key);
  // Whoever listens to expiries or to hashes wants to know what a command found due.
  const Event event = by == FoundBy::sweep ? Event::expired : Event::expired | Event::hash;
  notify(event, "hexpired", key, database.number());
  if (emptied) notify(Event::generic, "del", key, database.number());
  if (names.empty()) return propagate_removal(database, key, by);
  if (!propagation_.is_wanted()) return;
  Propagated words = {"HDEL", std::string(key)};
  words.insert(words.end(), names.begin(), names.end());
  propagation_.add(database.number(), std::move(words));
  if (by == FoundBy::sweep) propagation_.flush();
}

void Server::key_evicted(Database& database, std::string_view key) {
  watches_.key_changed(database.number(), key);
  notify(Event::evicted, "evicted", key, database.number());
  propagate_removal(database, key, FoundBy::sweep);
}

void Server::propagate_removal(Database& database, std::string_view key, FoundBy by) {
  if (!propagation_.is_wanted()) return;
  propagation_.add(database.number(), Propagated{std::string(removal_name()), std::string(key)});
  if (by == FoundBy::sweep) propagation_.flush();
}

void Server::feed_monitors(const Client& client, Words words) {
  const std::int64_t ms = now_.time_since_epoch().count();
  std::string line = fmt::format("+{}.{:06} [{} {}]", ms / 1000, ms % 1000 * 1000,
                                 client.database(), client.link().address());
  for (const std::string_view word : words) {
    line += ' ';
    append_quoted(line, word);
  }
  line += "\r\n";
  for (Client* const monitor : monitors_) {
    monitor->messages() += line;
    check_output(*monitor);
  }
}

}  // namespace mayfly
