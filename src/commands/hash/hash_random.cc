// SPDX-License-Identifier: Apache-2.0
// HRANDFIELD: random fields among those alive.
//
//   HRANDFIELD key                          one
//   HRANDFIELD key count [WITHVALUES]       distinct ones, all of them if there are fewer
//   HRANDFIELD key -count [WITHVALUES]      exactly so many, with repetitions
//
// In RESP3 a field and its value are an array of two; in RESP2 they follow each other.

#include <limits>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "commands/call.h"
#include "commands/command.h"

namespace mayfly {
namespace {

constexpr std::int64_t kCountMost = std::numeric_limits<std::int64_t>::max();

// The longest reply with repetitions, which may be much larger than the hash: twice as long as a
// value may be.
constexpr std::size_t kReplyBytesMax = std::size_t{1} << 30;  // 1 GiB
constexpr std::size_t kFieldBytesMin = 6;                     // $0, and two ends of line

struct RandomCount {
  std::int64_t count = 0;
  bool with_values = false;
};

std::optional<RandomCount> read_count(Call& call) {
  const std::optional<std::int64_t> count = call.integer(2);
  if (!count) return std::nullopt;
  if (*count < -kCountMost) {
    call.fail(
        "ERR value is out of range, value must between -9223372036854775807 and "
        "9223372036854775807");
    return std::nullopt;
  }
  if (call.count() > 4 || (call.count() == 4 && !call.is(3, "withvalues"))) {
    call.fail_syntax();
    return std::nullopt;
  }
  const bool with_values = call.count() == 4;
  if (with_values && (*count < -kCountMost / 2 || *count > kCountMost / 2)) {
    call.fail("ERR value is out of range");
    return std::nullopt;
  }
  return RandomCount{*count, with_values};
}

void reply_count(Reply& reply, std::size_t count, bool with_values) {
  reply.array(with_values && reply.protocol() == 2 ? count * 2 : count);
}

void reply_random_field(Reply& reply, const Member& field, bool with_values) {
  if (with_values && reply.protocol() > 2) reply.array(2);
  reply.bulk(field.name);
  if (with_values) reply.bulk(field.value);
}

// Whether hash.random() is slow: it walks a packed hash, and one of which most fields are due.
bool is_slow_to_draw_from(const MembersRef& hash) {
  return hash.is_packed() || hash.size() < hash.stored() / 8;
}

// Draws with repetition. If one draw is slow, many of them read the hash only once.
class Draw {
 public:
  Draw(const MembersRef& hash, Random& random, std::uint64_t draws) : hash_(hash), random_(random) {
    if (draws < 2 || !is_slow_to_draw_from(hash)) return;
    hash.each([this](const Member& field) {
      fields_.push_back(field);
      return true;
    });
  }

  Member next() const {
    return fields_.empty() ? hash_.random(random_) : fields_[random_.below(fields_.size())];
  }

 private:
  const MembersRef& hash_;
  Random& random_;
  std::vector<Member> fields_;
};

// With repetitions.
void reply_repeated(Call& call, const MembersRef& hash, std::uint64_t count, bool with_values) {
  std::string& out = call.reply().out();
  const std::size_t begin = out.size();
  if (count > kReplyBytesMax / kFieldBytesMin) return call.fail("ERR value is out of range");

  reply_count(call.reply(), count, with_values);
  const Draw draw(hash, call.keyspace().random(), count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const Member field = draw.next();
    const std::size_t bytes = field.name.size() + (with_values ? field.value.size() : 0);
    if (out.size() - begin + bytes > kReplyBytesMax) {
      out.resize(begin);
      return call.fail("ERR value is out of range");
    }
    reply_random_field(call.reply(), field, with_values);
  }
}

// Visits the whole hash once, and takes each field with the probability that makes all choices
// equally likely (Knuth's Algorithm S). REQUIRES: count <= hash.size().
void reply_some_of_all(Call& call, const MembersRef& hash, std::size_t count, bool with_values) {
  std::size_t left = hash.size();
  std::size_t missing = count;
  reply_count(call.reply(), count, with_values);
  hash.each([&](const Member& field) {
    if (call.keyspace().random().below(left--) < missing) {
      reply_random_field(call.reply(), field, with_values);
      --missing;
    }
    return missing > 0;
  });
}

// Draws until there are enough distinct ones: for few out of many. REQUIRES: count < hash.size().
void reply_drawn(Call& call, const MembersRef& hash, std::size_t count, bool with_values) {
  std::unordered_set<std::string_view> drawn;
  reply_count(call.reply(), count, with_values);
  while (drawn.size() < count) {
    const Member field = hash.random(call.keyspace().random());
    if (drawn.insert(field.name).second) reply_random_field(call.reply(), field, with_values);
  }
}

void reply_distinct(Call& call, const MembersRef& hash, std::uint64_t count, bool with_values) {
  const std::size_t size = hash.size();
  if (count < size / 3 && !is_slow_to_draw_from(hash)) {
    return reply_drawn(call, hash, count, with_values);
  }
  reply_some_of_all(call, hash, count < size ? count : size, with_values);
}

void hrandfield(Call& call) {
  std::optional<RandomCount> request;
  if (call.count() > 2) {
    request = read_count(call);
    if (!request) return;
  }
  const Slot slot = call.find_to_read(call.word(1), ValueType::hash);
  if (call.has_failed()) return;
  if (!request && slot == kNoSlot) return call.reply().null();
  if (slot == kNoSlot || (request && request->count == 0)) return call.reply().array(0);

  const MembersRef hash = call.members(slot);
  if (!request) return call.reply().bulk(hash.random(call.keyspace().random()).name);
  if (request->count < 0) {
    return reply_repeated(call, hash, static_cast<std::uint64_t>(-request->count),
                          request->with_values);
  }
  reply_distinct(call, hash, static_cast<std::uint64_t>(request->count), request->with_values);
}

}  // namespace

std::span<const Command> hash_random_commands() {
  static constexpr Command kRows[] = {
      {"hrandfield", hrandfield, -2, flag::readonly, one_key(access::ro | access::access), "hash",
       "6.2.0", "key [count:int [WITHVALUES]]", "Returns random fields of a hash."},
  };
  return kRows;
}

}  // namespace mayfly
