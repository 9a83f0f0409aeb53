// SPDX-License-Identifier: Apache-2.0
// Notifying transactions, waiting clients, subscribers and replicas of changes of keys.

#include "server/core/key_events.h"

#include <fmt/format.h>

#include <utility>

#include "commands/members/member_words.h"
#include "server/blocking/key_waiters.h"
#include "server/core/reclaimer.h"
#include "server/expiry/expiry_log.h"
#include "server/persistence/loading.h"
#include "server/pubsub/pubsub.h"
#include "server/replication/replication_stream.h"
#include "server/tracking/tracking.h"

namespace mayfly {

void KeyEvents::notify(Event event, std::string_view name, std::string_view key, int database) {
  if (loading_.is_active()) return;  // it happened before the server started
  if (database == keyspace_.options().staging) return;  // nobody sees those keys
  const Event wanted = config_.notify_keyspace_events;
  if (!any(wanted & event) || !pubsub_.has_listeners()) return;
  if (config_.expiry_log && key == kExpiryLogKey) return;  // those who want entries read them
  if (any(wanted & Event::keyspace)) {
    pubsub_.publish(fmt::format("__keyspace@{}__:{}", database, key), name);
  }
  if (any(wanted & Event::keyevent)) {
    pubsub_.publish(fmt::format("__keyevent@{}__:{}", database, name), key);
  }
}

// ---- Events that name members ----

bool KeyEvents::wants_members(Event event) const {
  const Event wanted = config_.notify_keyspace_events;
  return any(wanted & Event::subkeys) && any(wanted & event) && pubsub_.has_listeners() &&
         !loading_.is_active();
}

void KeyEvents::notify_members(Event, std::string_view name, std::string_view key, int database,
                               const MemberView& members) {
  const Event wanted = config_.notify_keyspace_events;
  std::string list;  // 3:ann,3:bob
  for (std::size_t i = 0; i < members.size(); ++i) {
    fmt::format_to(std::back_inserter(list), "{}{}:{}", i == 0 ? "" : ",", members[i].size(),
                   members[i]);
  }
  if (any(wanted & Event::subkeyspace)) {
    pubsub_.publish(fmt::format("__subkeyspace@{}__:{}", database, key),
                    fmt::format("{}|{}", name, list));
  }
  if (any(wanted & Event::subkeyevent)) {
    pubsub_.publish(fmt::format("__subkeyevent@{}__:{}", database, name),
                    fmt::format("{}:{}|{}", key.size(), key, list));
  }
  // A line feed ends the key in the name of the channel.
  if (any(wanted & Event::subkeyspaceitem) && key.find('\n') == key.npos) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      pubsub_.publish(fmt::format("__subkeyspaceitem@{}__:{}\n{}", database, key, members[i]),
                      name);
    }
  }
  if (any(wanted & Event::subkeyspaceevent)) {
    pubsub_.publish(fmt::format("__subkeyspaceevent@{}__:{}|{}", database, name, key), list);
  }
}

void KeyEvents::key_changed(const ExecContext& context, int database, std::string_view key) {
  if (!watches_.is_empty()) watches_.key_changed(database, key);
  if (!key_waiters_.is_empty()) key_waiters_.key_changed(database, key);
  if (tracking_.any()) tracking_.key_changed(key);
  // A change by a client of a replica, not by its primary.
  if (stream_.is_replica() && context.policy == Policy::hide) {
    local_expiries_.record(database, key);
  }
}

void KeyEvents::database_changed(const ExecContext& context, int database) {
  if (!watches_.is_empty()) watches_.database_changed(context, database, keyspace_);
  if (!key_waiters_.is_empty()) key_waiters_.database_changed(database);
  if (tracking_.any()) tracking_.invalidate_all();
}

bool KeyEvents::wait_for(Call& call, const KeyWait& wait) { return key_waiters_.add(call, wait); }

// Watches come first: they check whether the keys that they watch exist.
void KeyEvents::clear_all() {
  const ExecContext context{.now = now_, .policy = Policy::hide};
  for (int number = 0; number < keyspace_.count(); ++number) {
    database_changed(context, number);
    keyspace_.leases().database_changed(number);
    keyspace_[number].clear();
  }
}

void KeyEvents::key_expired(Database& database, std::string_view key, FoundBy by) {
  watches_.key_expired(database.number(), key);
  if (tracking_.any()) tracking_.key_expired(key);
  notify(Event::expired, "expired", key, database.number());
  propagate_removal(database, key, by);
}

void KeyEvents::members_expired(Database& database, const ExpiredMembers& expired) {
  const std::string_view key = expired.key;
  const MemberWords& words = words_of(expired.type);
  const bool is_swept = expired.by == FoundBy::sweep;
  removed(database, key);
  // What a command finds due is of interest to subscribers of expiries and of this type.
  const Event event = is_swept ? Event::expired : Event::expired | words.event;
  notify(event, words.expired, key, database.number());
  if (wants_members(event)) {
    const std::vector<std::string_view> names(expired.names.begin(), expired.names.end());
    notify_members(event, words.expired, key, database.number(), names);
  }
  if (expired.emptied) notify(Event::generic, "del", key, database.number());
  if (expired.is_whole) return propagate_removal(database, key, expired.by);
  if (!propagation_.is_wanted() || is_logged(expired.by)) return;
  propagation_.add(database.number(), removal_request(expired.type, key, expired.names));
  end_removal(expired.by);
}

void KeyEvents::key_evicted(Database& database, std::string_view key) {
  watches_.key_changed(database.number(), key);
  if (tracking_.any()) tracking_.key_evicted(key);
  notify(Event::evicted, "evicted", key, database.number());
  propagate_removal(database, key, FoundBy::access);
  propagation_.flush();
}

// Members of the key, or the key with its members.
void KeyEvents::removed(const Database& database, std::string_view key) {
  watches_.key_changed(database.number(), key);
  if (tracking_.any()) tracking_.key_expired(key);
}

void KeyEvents::propagate_removal(Database& database, std::string_view key, FoundBy by) {
  if (!propagation_.is_wanted() || is_logged(by)) return;
  propagation_.add(database.number(), Propagated{std::string(removal_name()), std::string(key)});
  end_removal(by);
}

// Whether the request that adds entries to the expiry log removes what they are about, too.
bool KeyEvents::is_logged(FoundBy by) { return by == FoundBy::sweep && expiry_log_.take_removal(); }

// A batch of a sweep is one unit with its entries in the expiry log: see ExpiryLog::end_sweep().
void KeyEvents::end_removal(FoundBy by) {
  if (by == FoundBy::sweep && !expiry_log_.is_active()) propagation_.flush();
}

}  // namespace mayfly
