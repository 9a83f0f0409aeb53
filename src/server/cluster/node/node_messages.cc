// SPDX-License-Identifier: Apache-2.0
#include "server/cluster/node/node_messages.h"

#include "resp/numbers.h"

namespace mayfly {
namespace {

constexpr std::size_t kNodeIdDigits = 40;
constexpr std::size_t kHistoryIdDigits = 40;
constexpr std::size_t kProcessIdDigits = 16;
constexpr std::int64_t kTimeMost = std::int64_t{1} << 53;  // sums of such times do not overflow

bool is_hex_id(std::string_view text, std::size_t digits) {
  return text.size() == digits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_time(std::int64_t number) { return number >= 0 && number <= kTimeMost; }

std::string text_of(Time time) { return std::to_string(time.time_since_epoch().count()); }
std::int64_t count_of(Time time) { return time.time_since_epoch().count(); }

// Reads words one after the other. The first that is wrong makes all wrong, as does one too many.
class WordReader {
 public:
  explicit WordReader(Words words) : words_(words) {}

  std::string text() { return at_ < words_.size() ? std::string(words_[at_++]) : wrong(); }
  std::string name() {
    std::string word = text();
    if (word.empty()) is_wrong_ = true;
    return word;
  }
  std::int64_t number() {
    const auto number = parse_integer(text());
    if (!number) is_wrong_ = true;
    return number.value_or(0);
  }
  std::uint64_t count() {
    const std::int64_t number = this->number();
    if (number < 0) is_wrong_ = true;
    return static_cast<std::uint64_t>(number);
  }
  Time time() {
    const std::int64_t number = this->number();
    if (!is_time(number)) is_wrong_ = true;
    return Time(Millis(is_wrong_ ? 0 : number));
  }
  bool yes_or_no() {
    const std::string word = text();
    if (word != "0" && word != "1") is_wrong_ = true;
    return word == "1";
  }
  std::string hex(std::size_t digits) {
    std::string word = text();
    if (!is_hex_id(word, digits)) is_wrong_ = true;
    return word;
  }
  std::string history() {
    std::string word = text();
    if (!word.empty() && !is_hex_id(word, kHistoryIdDigits)) is_wrong_ = true;
    return word;
  }
  NodeMemory memory() {
    std::string node = hex(kNodeIdDigits);
    return {std::move(node), hex(kProcessIdDigits)};
  }
  bool is_right() const { return !is_wrong_ && at_ == words_.size(); }

 private:
  std::string wrong() {
    is_wrong_ = true;
    return {};
  }

  Words words_;
  std::size_t at_ = 2;
  bool is_wrong_ = false;
};

// The same for a reply: an array of integers, and texts where they are expected.
class ReplyReader {
 public:
  explicit ReplyReader(const ReplyValue& reply)
      : items_(reply.items), is_wrong_(reply.kind != ReplyValue::Kind::array) {}

  std::int64_t number() {
    if (at_ >= items_.size() || items_[at_].kind != ReplyValue::Kind::integer) return wrong();
    return items_[at_++].integer;
  }
  std::uint64_t count() {
    const std::int64_t number = this->number();
    return static_cast<std::uint64_t>(number < 0 ? wrong() : number);
  }
  Time time() {
    const std::int64_t number = this->number();
    return Time(Millis(is_time(number) ? number : wrong()));
  }
  bool yes_or_no() {
    const std::int64_t number = this->number();
    return (number == 0 || number == 1 ? number : wrong()) == 1;
  }
  std::string hex(std::size_t digits) {
    if (at_ >= items_.size() || items_[at_].kind != ReplyValue::Kind::bulk ||
        !is_hex_id(items_[at_].text, digits)) {
      wrong();
      return {};
    }
    return items_[at_++].text;
  }
  NodeMemory memory() {
    std::string node = hex(kNodeIdDigits);
    return {std::move(node), hex(kProcessIdDigits)};
  }
  bool is_right() const { return !is_wrong_; }

 private:
  std::int64_t wrong() {
    is_wrong_ = true;
    return 0;
  }

  const std::vector<ReplyValue>& items_;
  std::size_t at_ = 0;
  bool is_wrong_;
};

}  // namespace

std::vector<std::string> to_request(const std::string& shard, const Pulse& pulse) {
  return {"CLUSTER",
          "PULSE",
          shard,
          std::to_string(pulse.epoch),
          pulse.from.node,
          pulse.from.incarnation,
          pulse.history,
          std::to_string(pulse.offset),
          text_of(pulse.token),
          text_of(pulse.own),
          text_of(pulse.wall),
          pulse.leaves ? "1" : "0"};
}

std::optional<ForShard<Pulse>> read_pulse(Words words) {
  WordReader reader(words);
  ForShard<Pulse> read;
  read.shard = reader.name();
  read.message.epoch = reader.count();
  read.message.from = reader.memory();
  read.message.history = reader.history();
  read.message.offset = reader.count();
  read.message.token = reader.time();
  read.message.own = reader.time();
  read.message.wall = reader.time();
  read.message.leaves = reader.yes_or_no();
  if (!reader.is_right()) return std::nullopt;
  return read;
}

std::vector<std::string> to_request(const std::string& shard, const Canvass& canvass) {
  return {"CLUSTER",
          "CANVASS",
          shard,
          std::to_string(canvass.version),
          std::to_string(canvass.epoch),
          canvass.from.node,
          canvass.from.incarnation,
          std::to_string(canvass.offset),
          text_of(canvass.token)};
}

std::optional<ForShard<Canvass>> read_canvass(Words words) {
  WordReader reader(words);
  ForShard<Canvass> read;
  read.shard = reader.name();
  read.message.version = reader.count();
  read.message.epoch = reader.count();
  read.message.from = reader.memory();
  read.message.offset = reader.count();
  read.message.token = reader.time();
  if (!reader.is_right()) return std::nullopt;
  return read;
}

void write_reply(Reply& reply, const PulseReply& answer) {
  reply.array(7);
  reply.integer(static_cast<std::int64_t>(answer.epoch));
  reply.integer(static_cast<std::int64_t>(answer.version));
  reply.integer(count_of(answer.token));
  reply.integer(count_of(answer.echo));
  reply.integer(count_of(answer.wall));
  reply.integer(answer.is_serving ? 1 : 0);
  reply.integer(answer.is_in_sync ? 1 : 0);
}

std::optional<PulseReply> read_pulse_reply(const ReplyValue& reply) {
  ReplyReader reader(reply);
  PulseReply answer;
  answer.epoch = reader.count();
  answer.version = reader.count();
  answer.token = reader.time();
  answer.echo = reader.time();
  answer.wall = reader.time();
  answer.is_serving = reader.yes_or_no();
  answer.is_in_sync = reader.yes_or_no();
  if (!reader.is_right()) return std::nullopt;
  return answer;
}

void write_reply(Reply& reply, const CanvassReply& answer) {
  reply.array(6);
  reply.integer(static_cast<std::int64_t>(answer.version));
  reply.bulk(answer.from.node);
  reply.bulk(answer.from.incarnation);
  reply.integer(answer.is_granted ? 1 : 0);
  reply.integer(static_cast<std::int64_t>(answer.offset));
  reply.integer(count_of(answer.token));
}

std::optional<CanvassReply> read_canvass_reply(const ReplyValue& reply) {
  ReplyReader reader(reply);
  CanvassReply answer;
  answer.version = reader.count();
  answer.from = reader.memory();
  answer.is_granted = reader.yes_or_no();
  answer.offset = reader.count();
  answer.token = reader.time();
  if (!reader.is_right()) return std::nullopt;
  return answer;
}

}  // namespace mayfly
