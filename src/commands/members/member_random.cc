// SPDX-License-Identifier: Apache-2.0
// HRANDFIELD, SRANDMEMBER and ZRANDMEMBER: random members among those alive.
//
//   HRANDFIELD key                          one
//   HRANDFIELD key count [WITHVALUES]       distinct ones, all of them if there are fewer
//   HRANDFIELD key -count [WITHVALUES]      exactly so many, with repetitions
//
// ZRANDMEMBER has WITHSCORES; SRANDMEMBER has no such option. In RESP3 a member and its value or
// score are an array of two; in RESP2 they follow each other.

#include <limits>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "commands/call.h"
#include "commands/command.h"

namespace mayfly {
namespace {

constexpr std::int64_t kCountMost = std::numeric_limits<std::int64_t>::max();

// The longest reply with repetitions, which may be much larger than the key: twice as long as a
// value may be.
constexpr std::size_t kReplyBytesMax = std::size_t{1} << 30;  // 1 GiB
constexpr char kReplyTooLong[] =
    "ERR the reply would be larger than 1 GiB (ask for fewer members at a time)";
constexpr std::size_t kMemberBytesMin = 6;  // $0, and two ends of line

// What is replied with each member.
enum class With { name_only, value, score };

struct RandomCount {
  std::int64_t count = 0;
  With with = With::name_only;
};

// SRANDMEMBER checks how many words there are before it reads the count, the others after it.
std::optional<RandomCount> read_count(Call& call, With option) {
  if (option == With::name_only && call.count() > 3) {
    call.fail_syntax();
    return std::nullopt;
  }
  const std::optional<std::int64_t> count = call.integer(2);
  if (!count) return std::nullopt;
  if (*count < -kCountMost) {
    call.fail(
        "ERR value is out of range, value must between -9223372036854775807 and "
        "9223372036854775807");
    return std::nullopt;
  }
  if (call.count() == 3) return RandomCount{*count, With::name_only};
  if (call.count() > 4 || !call.is(3, option == With::value ? "withvalues" : "withscores")) {
    call.fail_syntax();
    return std::nullopt;
  }
  if (*count < -kCountMost / 2 || *count > kCountMost / 2) {
    call.fail("ERR value is out of range");
    return std::nullopt;
  }
  return RandomCount{*count, option};
}

void reply_count(Reply& reply, std::size_t count, With with) {
  reply.array(with != With::name_only && reply.protocol() == 2 ? count * 2 : count);
}

void reply_random(Reply& reply, const Member& member, With with) {
  if (with != With::name_only && reply.protocol() > 2) reply.array(2);
  reply.bulk(member.name);
  if (with == With::value) reply.bulk(member.value);
  if (with == With::score) reply.number(member.score());
}

// Whether members.random() is slow: it walks a packed key, and one of which most members are due;
// and it makes a name each time for an int set.
bool is_slow_to_draw_from(const MembersRef& members) {
  return !members.is_table() || members.size() < members.stored() / 4;
}

// Draws with repetition. If one draw is slow, many of them read the key only once.
class Draw {
 public:
  Draw(const MembersRef& members, Random& random, std::uint64_t draws)
      : members_(members), random_(random) {
    if (draws < 2 || !is_slow_to_draw_from(members)) return;
    members.each([this](const Member& member) {
      drawn_from_.push_back(member);
      return true;
    });
  }

  Member next() const {
    return drawn_from_.empty() ? members_.random(random_)
                               : drawn_from_[random_.below(drawn_from_.size())];
  }

 private:
  const MembersRef& members_;
  Random& random_;
  std::vector<Member> drawn_from_;
};

// With repetitions.
void reply_repeated(Call& call, const MembersRef& members, std::uint64_t count, With with) {
  std::string& out = call.reply().out();
  const std::size_t begin = out.size();
  if (count > kReplyBytesMax / kMemberBytesMin) return call.fail(kReplyTooLong);

  reply_count(call.reply(), count, with);
  const Draw draw(members, call.keyspace().random(), count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const Member member = draw.next();
    const std::size_t bytes = member.name.size() + (with == With::value ? member.value.size() : 0);
    if (out.size() - begin + bytes > kReplyBytesMax) {
      out.resize(begin);
      return call.fail(kReplyTooLong);
    }
    reply_random(call.reply(), member, with);
  }
}

// Visits all members once, and takes each with the probability that makes all choices equally
// likely (Knuth's Algorithm S). REQUIRES: count <= members.size().
void reply_some_of_all(Call& call, const MembersRef& members, std::size_t count, With with) {
  std::size_t left = members.size();
  std::size_t missing = count;
  reply_count(call.reply(), count, with);
  members.each([&](const Member& member) {
    if (call.keyspace().random().below(left--) < missing) {
      reply_random(call.reply(), member, with);
      --missing;
    }
    return missing > 0;
  });
}

// Draws until there are enough distinct ones: for few out of many. REQUIRES: count is less than
// members.size().
void reply_drawn(Call& call, const MembersRef& members, std::size_t count, With with) {
  std::unordered_set<std::string_view> drawn;
  reply_count(call.reply(), count, with);
  while (drawn.size() < count) {
    const Member member = members.random(call.keyspace().random());
    if (drawn.insert(member.name).second) reply_random(call.reply(), member, with);
  }
}

void reply_distinct(Call& call, const MembersRef& members, std::uint64_t count, With with) {
  const std::size_t size = members.size();
  if (count < size / 3 && !is_slow_to_draw_from(members)) {
    return reply_drawn(call, members, count, with);
  }
  reply_some_of_all(call, members, count < size ? count : size, with);
}

// HRANDFIELD key [count [WITHVALUES]]
template <ValueType type, With option>
void random_members(Call& call) {
  std::optional<RandomCount> request;
  if (call.count() > 2) {
    request = read_count(call, option);
    if (!request) return;
  }
  const Slot slot = call.find_to_read(call.word(1), type);
  if (call.has_failed()) return;
  if (!request && slot == kNoSlot) return call.reply().null();
  if (slot == kNoSlot || (request && request->count == 0)) return call.reply().array(0);

  const MembersRef members = call.members(slot);
  if (!request) return call.reply().bulk(members.random(call.keyspace().random()).name);
  if (request->count < 0) {
    return reply_repeated(call, members, static_cast<std::uint64_t>(-request->count),
                          request->with);
  }
  reply_distinct(call, members, static_cast<std::uint64_t>(request->count), request->with);
}

}  // namespace

std::span<const Command> member_random_commands() {
  static constexpr KeyRange kGet = one_key(access::ro | access::access);
  // clang-format off
  static constexpr Command kRows[] = {
      {"hrandfield", random_members<ValueType::hash, With::value>, -2, flag::readonly, kGet,
       "hash", "6.2.0", "key [count:int [WITHVALUES]]", "Returns random fields of a hash."},
      {"srandmember", random_members<ValueType::set, With::name_only>, -2, flag::readonly, kGet,
       "set", "1.0.0", "key [count:int]", "Returns random members of a set."},
      {"zrandmember", random_members<ValueType::zset, With::score>, -2, flag::readonly, kGet,
       "sorted-set", "6.2.0", "key [count:int [WITHSCORES]]",
       "Returns random members of a sorted set."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
