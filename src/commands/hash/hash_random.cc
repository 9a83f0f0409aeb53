// SPDX-License-Identifier: Apache-2.0
// HRANDFIELD: fields that chance chooses, among those alive.
//
//   HRANDFIELD key                          one
//   HRANDFIELD key count [WITHVALUES]       different ones, all of them if there are fewer
//   HRANDFIELD key -count [WITHVALUES]      exactly so many, and the same may come again
//
// In RESP3 a field and its value are an array of two; in RESP2 they follow each other.

#include <limits>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "commands/call.h"
#include "commands/hash/hash_handlers.h"

namespace mayfly {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// A reply with repetitions is as long as a client likes, whatever the hash holds; this is where we
// refuse. Twice as large as a value may be.
constexpr std::size_t kReplyBytesMost = std::size_t{1} << 30;  // 1 GiB
constexpr std::size_t kFieldBytesLeast = 6;                    // $0, and two ends of line

struct Wanted {
  std::int64_t count = 0;
  bool with_values = false;
};

std::optional<Wanted> read_wanted(Call& call) {
  const std::optional<std::int64_t> count = call.integer(2);
  if (!count) return std::nullopt;
  if (*count < -kMost) {
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
  if (with_values && (*count < -kMost / 2 || *count > kMost / 2)) {
    call.fail("ERR value is out of range");
    return std::nullopt;
  }
  return Wanted{*count, with_values};
}

void reply_head(Reply& reply, std::size_t count, bool with_values) {
  reply.array(with_values && reply.protocol() == 2 ? count * 2 : count);
}

void reply_field(Reply& reply, const HashField& field, bool with_values) {
  if (with_values && reply.protocol() > 2) reply.array(2);
  reply.bulk(field.field);
  if (with_values) reply.bulk(field.value);
}

// Whether hash.random() is slow: it counts off a packed hash, and one of which most is due.
bool is_slow_to_draw_from(const HashRef& hash) {
  return hash.is_packed() || hash.size() < hash.stored() / 8;
}

// Draws with repetition. Where one draw is slow, many of them go through the hash only once.
class Draw {
 public:
  Draw(const HashRef& hash, Random& random, std::uint64_t draws) : hash_(hash), random_(random) {
    if (draws < 2 || !is_slow_to_draw_from(hash)) return;
    hash.each([this](const HashField& field) {
      fields_.push_back(field);
      return true;
    });
  }

  HashField next() const {
    return fields_.empty() ? hash_.random(random_) : fields_[random_.below(fields_.size())];
  }

 private:
  const HashRef& hash_;
  Random& random_;
  std::vector<HashField> fields_;
};

// The same field may come again.
void reply_any(Call& call, const HashRef& hash, std::uint64_t count, bool with_values) {
  std::string& out = call.reply().out();
  const std::size_t begin = out.size();
  if (count > kReplyBytesMost / kFieldBytesLeast) return call.fail("ERR value is out of range");

  reply_head(call.reply(), count, with_values);
  const Draw draw(hash, call.keyspace().random(), count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const HashField field = draw.next();
    const std::size_t bytes = field.field.size() + (with_values ? field.value.size() : 0);
    if (out.size() - begin + bytes > kReplyBytesMost) {
      out.resize(begin);
      return call.fail("ERR value is out of range");
    }
    reply_field(call.reply(), field, with_values);
  }
}

// Goes through the whole hash once, and takes each field with the chance that makes all choices
// equally likely (Knuth's Algorithm S). REQUIRES: count <= hash.size().
void reply_some_of_all(Call& call, const HashRef& hash, std::size_t count, bool with_values) {
  std::size_t left = hash.size();
  std::size_t missing = count;
  reply_head(call.reply(), count, with_values);
  hash.each([&](const HashField& field) {
    if (call.keyspace().random().below(left--) < missing) {
      reply_field(call.reply(), field, with_values);
      --missing;
    }
    return missing > 0;
  });
}

// Draws until there are enough different ones: for few out of many. REQUIRES: count < hash.size().
void reply_drawn(Call& call, const HashRef& hash, std::size_t count, bool with_values) {
  std::unordered_set<std::string_view> drawn;
  reply_head(call.reply(), count, with_values);
  while (drawn.size() < count) {
    const HashField field = hash.random(call.keyspace().random());
    if (drawn.insert(field.field).second) reply_field(call.reply(), field, with_values);
  }
}

void reply_different(Call& call, const HashRef& hash, std::uint64_t count, bool with_values) {
  const std::size_t size = hash.size();
  if (count < size / 3 && !is_slow_to_draw_from(hash)) {
    return reply_drawn(call, hash, count, with_values);
  }
  reply_some_of_all(call, hash, count < size ? count : size, with_values);
}

}  // namespace

void hrandfield(Call& call) {
  std::optional<Wanted> wanted;
  if (call.count() > 2) {
    wanted = read_wanted(call);
    if (!wanted) return;
  }
  const Slot slot = call.hash_to_read(call.word(1));
  if (call.has_failed()) return;
  if (!wanted && slot == kNoSlot) return call.reply().null();
  if (slot == kNoSlot || (wanted && wanted->count == 0)) return call.reply().array(0);

  const HashRef hash = call.database().hash(slot);
  if (!wanted) return call.reply().bulk(hash.random(call.keyspace().random()).field);
  if (wanted->count < 0) {
    return reply_any(call, hash, static_cast<std::uint64_t>(-wanted->count), wanted->with_values);
  }
  reply_different(call, hash, static_cast<std::uint64_t>(wanted->count), wanted->with_values);
}

}  // namespace mayfly
