// SPDX-License-Identifier: Apache-2.0
// What the commands on members share, for hashes, sets and sorted sets: their key is word 1, they
// name members and times in the same way, and they report and propagate changes in the same way.
//
//   SEXPIRE key 60 NX MEMBERS 2 ann bob
//                  |          '-------'
//                  |          counted_words()
//                  list_position()
//
// FIELDS and MEMBERS mean the same, for every type.
//
// Clients see events in this order: members found expired (`sexpired`), what the command did, and
// `del` if no member is left. So a handler changes first, and then calls finish_write().

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "commands/call.h"
#include "commands/members/member_words.h"
#include "commands/ttl/expire_time.h"
#include "commands/ttl/jitter.h"

namespace mayfly {

// Names of members, as the request has them.
using MemberNames = std::vector<std::string_view>;

// The same of texts, which must outlive them.
MemberNames views_of(const std::vector<std::string>& names);

inline constexpr std::int64_t kNoMember = -2;  // the reply about a member that does not exist

// ---- Reading requests ----

// Where the word FIELDS or MEMBERS is, searched from word `first` on. An error reply and nothing if
// it is missing, or the last word.
std::optional<std::size_t> list_position(Call& call, const MemberWords& words, std::size_t first);

// The words after FIELDS, which is word `at`, and its count; each member takes `width` of them. An
// error reply and nothing if the count is no integer or, with the text `error`, wrong.
std::optional<Words> counted_words(Call& call, std::size_t at, std::size_t width,
                                   std::string_view error);

// The members of a command without options: FIELDS must be word 2. `error` is for a wrong count.
std::optional<Words> only_members(Call& call, std::string_view error);

// ---- Reporting and propagating ----

// The words for the type of the key.
const MemberWords& words_of(Call& call, const MembersRef& members);

// The names of members that a command has changed, if anybody wants to know them.
class ChangedMembers {
 public:
  ChangedMembers(const Call& call, Event event) : is_wanted_(call.wants_members(event)) {}

  void add(std::string_view name) {
    ++count_;
    if (is_wanted_) names_.push_back(name);
  }
  std::size_t count() const { return count_; }
  const MemberNames& names() const { return names_; }

 private:
  bool is_wanted_;
  std::size_t count_ = 0;
  MemberNames names_;
};

// Ends a command that changed `times` members: reports expired members, `event` with the names, and
// `del` if no member is left. Without a key, it is the one at word 1.
void finish_write(Call& call, MembersRef& members, std::string_view key, std::string_view event,
                  std::size_t times, const MemberView& names);
void finish_write(Call& call, MembersRef& members, std::string_view event, std::size_t times,
                  const MemberView& names);

// What a command did to the members that it named. The comments are about a hash.
enum class MemberChange {
  set_deadline,     // `hexpire`, HPEXPIREAT
  remove_deadline,  // `hpersist`, HPERSIST
  expire,           // `hexpired`, HDEL: the deadline was in the past
  remove,           // `hdel`, HDEL
};

// Ends a command: reports and propagates the change of members, of which there may be none. Only
// members that were changed are propagated, without conditions: a replica may still hold a member
// that has expired here, and must not give it a new deadline. `deadlines`, kept in the order of the
// names, are for set_deadline.
void finish_members(Call& call, MembersRef& members, const MemberNames& names, MemberChange change,
                    const MemberDeadlines& deadlines = {});

// HDEL, SREM or ZREM of members of the key at word 1.
void propagate_removal(Call& call, const MemberWords& words, const MemberNames& names);

// ---- Whole commands ----

// HLEN, SCARD, ZCARD key
void count_members(Call& call, ValueType type);

// HDEL, SREM, ZREM key member [member ...]
void remove_named(Call& call, const MemberWords& words);

}  // namespace mayfly
