// SPDX-License-Identifier: Apache-2.0
// CallFixture: commands run on a keyspace without a server, for the tests of the commands.
//
//   class HashTest : public CallFixture {};
//
//   TEST_F(HashTest, CountsFields) {
//     run("HSET h a 1 b 2");                        // words are separated by spaces
//     EXPECT_EQ(run({"HLEN", "h"}), "(integer) 2");  // or given one by one
//     EXPECT_EQ(events(), "n:new:h h:hset:h");      // of the last run only, as propagated() is
//   }
//
// A run is one command at the time now(), which stands still but for advance().

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "commands/call.h"
#include "commands/command.h"
#include "commands/events.h"
#include "commands/members/member_words.h"
#include "commands/ttl/ttl_policy.h"
#include "keyspace/keyspace.h"
#include "mayfly/time.h"
#include "resp/reply.h"
#include "resp/reply_parser.h"

namespace mayfly {

inline constexpr std::string_view kNoInteger =
    "(error) ERR value is not an integer or out of range";

class CallFixture : public testing::Test, private Host, private KeyspaceListener {
 protected:
  explicit CallFixture(const KeyspaceOptions& options = {}) : keyspace_(options, *this) {
    for (const std::span<const Command> rows : data_commands()) table_.add(rows);
  }

  // The structure is checked after every test.
  void TearDown() override {
    for (int i = 0; i < keyspace_.count(); ++i) EXPECT_EQ(keyspace_[i].check_invariants(), "");
  }

  // ---- Running ----

  // The reply in one line: OK, (error) ERR no, (integer) 1, "text", (nil), [(integer) 1, "a"].
  std::string run(std::initializer_list<std::string_view> words) {
    return text_of(raw(std::vector<std::string_view>(words)));
  }
  std::string run(std::string_view line) { return text_of(raw(split(line))); }

  // The reply in bytes.
  std::string raw(const std::vector<std::string_view>& words) {
    events_.clear();
    changed_keys_.clear();
    propagated_.clear();
    lookups_.clear();
    std::string out;
    Reply reply(out, protocol_);
    dispatch(words, reply);
    return out;
  }

  // ---- What the last run reported, separated by spaces ----

  // "class:event:key", and "@number" behind it in any database but 0.
  std::string events() const { return joined(events_, " "); }
  std::string changed_keys() const { return joined(changed_keys_, " "); }
  std::string lookups() const { return lookups_; }  // h for each hit, m for each miss
  // Commands as they go to replicas, separated by "; ".
  std::string propagated() const { return joined(propagated_, "; "); }

  // ---- Around it ----

  Time now() const { return context_.now; }
  void advance(Millis step) { context_.now += step; }
  ExecContext& context() { return context_; }
  std::string in_ms(Millis from_now) const {
    return std::to_string((context_.now + from_now).time_since_epoch().count());
  }
  void select(int number) { selected_ = number; }
  void set_protocol(int protocol) { protocol_ = protocol; }
  Keyspace& keyspace() { return keyspace_; }
  Database& database() { return keyspace_[selected_]; }
  TtlPolicy& policy() { return policy_; }
  int violations() const { return violations_; }

 private:
  // ---- Host ----

  void notify(Event event, std::string_view name, std::string_view key, int number) override {
    std::string line = format_events(event);
    line.append(":").append(name).append(":").append(key);
    if (number != 0) line.append("@").append(std::to_string(number));
    events_.push_back(std::move(line));
  }
  void key_changed(const ExecContext&, int number, std::string_view key) override {
    std::string line(key);
    if (number != 0) line.append("@").append(std::to_string(number));
    changed_keys_.push_back(std::move(line));
  }
  void database_changed(const ExecContext&, int number) override {
    changed_keys_.push_back("all@" + std::to_string(number));
  }
  const TtlPolicy* ttl_policy() const override { return policy_.empty() ? nullptr : &policy_; }
  void count_ttl_violation() override { ++violations_; }
  void count_lookup(bool hit) override { lookups_ += hit ? 'h' : 'm'; }

  // ---- KeyspaceListener ----

  void key_expired(Database& database, std::string_view key, FoundBy) override {
    notify(Event::expired, "expired", key, database.number());
  }
  void members_expired(Database& database, const ExpiredMembers& expired) override {
    const MemberWords& words = words_of(expired.type);
    const bool is_swept = expired.by == FoundBy::sweep;
    notify(is_swept ? Event::expired : Event::expired | words.event, words.expired, expired.key,
           database.number());
    if (expired.emptied) notify(Event::generic, "del", expired.key, database.number());
    std::string line(expired.names.empty() ? "UNLINK" : words.remove_command);
    line.append(" ").append(expired.key);
    for (const std::string& name : expired.names) line.append(" ").append(name);
    propagated_.push_back(std::move(line));
  }
  void key_evicted(Database& database, std::string_view key) override {
    notify(Event::evicted, "evicted", key, database.number());
  }

  // ---- What a server would do ----

  void dispatch(const std::vector<std::string_view>& words, Reply& reply) {
    const Command* command = table_.find(words.at(0));
    if (command == nullptr) return reply.error("ERR unknown command");
    command = table_.resolve(*command, words);
    if (command == nullptr) return reply.error("ERR unknown subcommand");
    Call call(*this, keyspace_, context_, selected_, *command, words, reply);
    if (!fits(*command, words.size())) return call.fail_arity();

    command->handler(call);
    const bool is_write = (command->flags & flag::write) != 0;
    if (call.is_replaced()) {
      for (const Propagated& one : call.propagated()) propagated_.push_back(joined(one, " "));
    } else if (is_write && call.changes() > 0) {
      propagated_.push_back(joined(words, " "));
    }
    for (const auto& [number, one] : call.appended()) propagated_.push_back(joined(one, " "));
  }

  template <class Parts>
  static std::string joined(const Parts& parts, std::string_view between) {
    std::string text;
    for (const auto& part : parts) {
      if (!text.empty()) text.append(between);
      text.append(part);
    }
    return text;
  }

  static std::vector<std::string_view> split(std::string_view line) {
    std::vector<std::string_view> words;
    while (!line.empty()) {
      const std::size_t end = std::min(line.find(' '), line.size());
      if (end > 0) words.push_back(line.substr(0, end));
      line.remove_prefix(std::min(end + 1, line.size()));
    }
    return words;
  }

  // Anything but exactly one reply is a failure.
  static std::string text_of(const std::string& bytes) {
    ReplyParser parser;
    if (parser.parse(bytes) != Parsed::request || parser.consumed() != bytes.size()) {
      ADD_FAILURE() << "not one reply: " << bytes;
      return bytes;
    }
    return parser.value().to_text();
  }

  ExecContext context_{.now = Time(Millis(1'800'000'000'000))};
  int selected_ = 0;
  int protocol_ = 2;
  TtlPolicy policy_;
  int violations_ = 0;
  CommandTable table_;
  Keyspace keyspace_;
  std::vector<std::string> events_;
  std::vector<std::string> changed_keys_;
  std::vector<std::string> propagated_;
  std::string lookups_;
};

}  // namespace mayfly
