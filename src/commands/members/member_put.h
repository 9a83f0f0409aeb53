// SPDX-License-Identifier: Apache-2.0
// What HSETEX, SADDEX and ZADDEX share: members that are set together with a deadline.
//
//   HSETEX key [NX | XX] [FNX | FXX] [EX s | PX ms | EXAT s | PXAT ms | KEEPTTL]
//          [JITTER percent] FIELDS count ITEM...
//
// An item is a field and a value, a member, or a score and a member. All members are set or none:
// NX and XX are about the key, FNX and FXX about each of the members.
//
//   void saddex(Call& call) {
//     const auto request = read_put_request(call, kSetWords);
//     if (!request) return;
//     std::optional<PutTarget> target = find_put_target(call, kSetWords, *request);
//     if (call.has_failed()) return;
//     if (!target) return call.reply().integer(0);              // a condition does not hold
//     if (target->is_past) {
//       remove_items(call, target->members, request->items, target->deadlines.base());
//       return call.reply().integer(0);
//     }
//     ... target->members.put(...) for each of request->items
//     const PutItems& items = request->items;
//     finish_put(call, target->members, *request, target->deadlines, items.names(), items.words());
//   }

#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>

#include "commands/call.h"
#include "commands/members/member_steps.h"
#include "commands/ttl/expire_time.h"
#include "commands/ttl/jitter.h"

namespace mayfly {

// The members of a request, each with its payload.
class PutItems {
 public:
  PutItems() = default;
  PutItems(const MemberWords& type, Words words) : type_(&type), words_(words) {}

  std::size_t size() const { return words_.size() / type_->item_words; }
  std::string_view name(std::size_t i) const { return item(i)[type_->name_at]; }
  // The value or the score, as the request has it; of a set nothing.
  std::string_view payload(std::size_t i) const {
    return type_->item_words == 1 ? std::string_view() : item(i)[1 - type_->name_at];
  }
  Words item(std::size_t i) const {
    return words_.subspan(i * type_->item_words, type_->item_words);
  }
  Words words() const { return words_; }
  MemberView names() const { return {words_.subspan(type_->name_at), type_->item_words}; }

 private:
  const MemberWords* type_ = &kHashWords;
  Words words_;
};

enum class Only { any, absent, present };

struct PutRequest {
  Only key = Only::any;
  Only members = Only::any;
  ExpiryOption expiry;  // is_instead: KEEPTTL
  PutItems items;

  bool keeps_deadlines() const { return expiry.is_instead; }
  // Whether the words mean the same at any time and on any server.
  bool is_plain() const { return key == Only::any && members == Only::any && !expiry.form; }
};

// An option of one command only, at word `i`; all options are before word `end`. Returns how many
// words it takes, or 0 if it is none or contradicts another.
using ReadPutOption = std::function<std::size_t(std::size_t i, std::size_t end)>;

// Reads the words from 2 on. An error reply and nothing if they are wrong.
std::optional<PutRequest> read_put_request(Call& call, const MemberWords& words,
                                           const ReadPutOption& read_other = {});

struct PutTarget {
  MembersRef members;
  MemberDeadlines deadlines;  // kNever: none was given
  bool is_past;               // the members are to be removed at once
};

// Finds the key or makes it. Nothing if a condition does not hold, or after an error reply: check
// has_failed(). A condition on the key is checked before the time is read, one on members after it.
std::optional<PutTarget> find_put_target(Call& call, const MemberWords& words,
                                         const PutRequest& request);

// Ends a command whose deadline is in the past: reports and propagates that. The members are
// removed, and each of them counts as expired, even one that did not exist. Clients see the events
// of setting the members and of their expiry.
void remove_items(Call& call, MembersRef& members, const PutItems& items, Time deadline);

// Ends a command that set members, those with these names: reports them, and propagates `items`.
void finish_put(Call& call, MembersRef& members, const PutRequest& request,
                const MemberDeadlines& deadlines, const MemberView& names, Words items);

// HSETEX key [PXAT deadline | KEEPTTL] FIELDS count ITEM..., once for each run of items that have
// one deadline.
void propagate_put(Call& call, const MemberWords& words, const MemberDeadlines& deadlines,
                   bool keeps_deadlines, Words items);

// JITTER percent before the time of a short form, at word `at`, which then becomes that of the
// time. False after an error reply.
bool read_short_jitter(Call& call, std::size_t& at, Jitter& jitter);

// Whether a word is the time of a short form of Dragonfly: HSETEX key seconds field value ...
bool looks_like_number(std::string_view word);

}  // namespace mayfly
