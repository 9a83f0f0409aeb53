// SPDX-License-Identifier: Apache-2.0
// Records as lines of text.

#include "cluster/records.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>

namespace mayfly {
namespace {

constexpr int kFormat = 1;
constexpr std::size_t kNodeIdDigits = 40;
constexpr std::size_t kIncarnationDigits = 16;

// ---- Writing ----

class RecordWriter {
 public:
  RecordWriter() { line("format", kFormat); }

  // A line ends at its end: what a value holds of these characters is lost.
  void line(std::string_view word, std::string_view value) {
    text_.append(word).append(" ");
    for (const char c : value) text_ += c == '\n' || c == '\r' ? ' ' : c;
    text_ += '\n';
  }
  void line(std::string_view word, std::int64_t number) { line(word, std::to_string(number)); }
  void line(std::string_view word, std::uint64_t number) { line(word, std::to_string(number)); }
  void line(std::string_view word, int number) { line(word, std::int64_t{number}); }
  void line(std::string_view word, Time time) { line(word, time.time_since_epoch().count()); }
  void line(std::string_view word, const NodeMemory& memory) {
    std::string value = memory.node;
    line(word, value.append(" ").append(memory.incarnation));
  }
  void line_unless_empty(std::string_view word, std::string_view value) {
    if (!value.empty()) line(word, value);
  }

  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// ---- Reading ----

// Splits a record into lines. The first error is kept.
class RecordReader {
 public:
  RecordReader(std::string_view what, std::string_view text) : what_(what), rest_(text) {}

  // Goes to the next line. False at the end, or after an error.
  bool next() {
    if (error_) return false;
    if (rest_.empty()) {
      if (line_ == 0) fail("is empty");
      return false;
    }
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    const std::size_t space = std::min(line.find(' '), line.size());
    word_ = line.substr(0, space);
    value_ = line.substr(std::min(space + 1, line.size()));
    return ++line_ == 1 ? check_format() && next() : true;
  }

  bool is(std::string_view word) const { return word_ == word; }
  std::string_view value() const { return value_; }
  std::string text() const { return std::string(value_); }

  template <class Number>
  Number number(Number least = 0) {
    Number number{};
    const auto [end, code] = std::from_chars(value_.data(), value_.data() + value_.size(), number);
    if (code != std::errc() || end != value_.data() + value_.size() || number < least) {
      fail("has a wrong number");
      return {};
    }
    return number;
  }

  Time time() { return Time(Millis(number<std::int64_t>())); }

  NodeMemory memory() {
    const std::size_t space = std::min(value_.find(' '), value_.size());
    NodeMemory memory{std::string(value_.substr(0, space)),
                      std::string(value_.substr(std::min(space + 1, value_.size())))};
    check_hex(memory.node, kNodeIdDigits);
    check_hex(memory.incarnation, kIncarnationDigits);
    return memory;
  }

  std::string hex(std::size_t digits) {
    check_hex(value_, digits);
    return text();
  }

  SlotSet slots() {
    Result<SlotSet> slots = parse_slots(value_);
    if (slots) return *slots;
    fail("has wrong slots");
    return {};
  }

  template <class Enum>
  Enum choice(std::span<const std::string_view> names) {
    const auto found = std::ranges::find(names, value_);
    if (found == names.end()) fail("has a state that is not known");
    return static_cast<Enum>(found - names.begin());
  }

  void require(bool has, std::string_view word) {
    if (has || error_) return;
    word_ = word;
    fail("lacks a line");
  }

  template <class Record>
  Result<Record> result(Record record) {
    if (error_) return *error_;
    return record;
  }

 private:
  bool check_format() {
    if (word_ != "format") {
      fail("does not begin with its format");
      return false;
    }
    const int format = number<int>(1);
    if (error_ || format <= kFormat) return !error_;
    std::string message(what_);
    message.append(" has format ").append(value_);
    message += ", which this version does not know (upgrade this node first)";
    error_ = Error{Code::unsupported, std::move(message)};
    return false;
  }

  void check_hex(std::string_view text, std::size_t digits) {
    const bool is_hex = text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
    if (!is_hex || text.size() != digits) fail("has a wrong id");
  }

  void fail(std::string_view why) {
    if (error_) return;
    std::string message(what_);
    message.append(" ").append(why).append(": line ").append(std::to_string(line_));
    message.append(", '").append(word_).append("'");
    error_ = Error{Code::corrupt, std::move(message)};
  }

  std::string_view what_;
  std::string_view rest_;
  std::string_view word_;
  std::string_view value_;
  int line_ = 0;
  std::optional<Error> error_;
};

constexpr std::string_view kNodeStates[] = {"fresh", "in", "leaving"};
constexpr std::string_view kMoveStates[] = {"waiting", "snapshot", "stream", "pause",    "commit",
                                            "clean",   "done",     "failed", "cancelled"};

}  // namespace

bool ShardRecord::has(const NodeMemory& memory) const {
  return std::ranges::find(insync, memory) != insync.end();
}

std::string_view name_of(NodeState state) { return kNodeStates[static_cast<std::size_t>(state)]; }
std::string_view name_of(MoveState state) { return kMoveStates[static_cast<std::size_t>(state)]; }

std::string to_text(const ClusterRecord& record) {
  RecordWriter writer;
  writer.line("id", record.id);
  writer.line("lease", record.lease.count());
  writer.line("replicas", record.replicas);
  writer.line("created", record.created);
  if (record.shards > 0) writer.line("shards", record.shards);
  return writer.take();
}

Result<ClusterRecord> parse_cluster_record(std::string_view text) {
  ClusterRecord record;
  RecordReader reader("the record of the cluster", text);
  while (reader.next()) {
    if (reader.is("id")) record.id = reader.hex(kNodeIdDigits);
    if (reader.is("lease")) record.lease = Millis(reader.number<std::int64_t>(1));
    if (reader.is("replicas")) record.replicas = reader.number<int>();
    if (reader.is("created")) record.created = reader.time();
    if (reader.is("shards")) record.shards = reader.number<std::size_t>();
  }
  reader.require(!record.id.empty(), "id");
  return reader.result(std::move(record));
}

std::string to_text(const NodeRecord& record) {
  RecordWriter writer;
  writer.line("host", record.host);
  writer.line("port", record.port);
  writer.line_unless_empty("hostname", record.hostname);
  writer.line_unless_empty("zone", record.zone);
  writer.line_unless_empty("shard", record.shard);
  writer.line("state", name_of(record.state));
  return writer.take();
}

Result<NodeRecord> parse_node_record(std::string_view text) {
  NodeRecord record;
  RecordReader reader("the record of a node", text);
  while (reader.next()) {
    if (reader.is("host")) record.host = reader.text();
    if (reader.is("port")) record.port = reader.number<int>(1);
    if (reader.is("hostname")) record.hostname = reader.text();
    if (reader.is("zone")) record.zone = reader.text();
    if (reader.is("shard")) record.shard = reader.text();
    if (reader.is("state")) record.state = reader.choice<NodeState>(kNodeStates);
  }
  reader.require(!record.host.empty(), "host");
  reader.require(record.port > 0, "port");
  return reader.result(std::move(record));
}

std::string to_text(const LiveRecord& record) {
  RecordWriter writer;
  writer.line("incarnation", record.incarnation);
  writer.line("version", record.version);
  writer.line("role", record.role);
  writer.line_unless_empty("history", record.history);
  writer.line("epoch", record.epoch);
  writer.line("offset", record.offset);
  writer.line("durable", record.is_durable ? "yes" : "no");
  if (record.held > 0) writer.line("held", record.held);
  if (record.settled > 0) {
    writer.line("settled", record.settled);
    writer.line("end", record.end);
  }
  return writer.take();
}

Result<LiveRecord> parse_live_record(std::string_view text) {
  LiveRecord record;
  RecordReader reader("the record of a live node", text);
  while (reader.next()) {
    if (reader.is("incarnation")) record.incarnation = reader.hex(kIncarnationDigits);
    if (reader.is("version")) record.version = reader.text();
    if (reader.is("role")) record.role = reader.text();
    if (reader.is("history")) record.history = reader.text();
    if (reader.is("epoch")) record.epoch = reader.number<std::uint64_t>();
    if (reader.is("offset")) record.offset = reader.number<std::uint64_t>();
    if (reader.is("durable")) record.is_durable = reader.value() == "yes";
    if (reader.is("held")) record.held = reader.number<std::uint64_t>();
    if (reader.is("settled")) record.settled = reader.number<std::uint64_t>();
    if (reader.is("end")) record.end = reader.number<std::uint64_t>();
  }
  reader.require(!record.incarnation.empty(), "incarnation");
  return reader.result(std::move(record));
}

std::string to_text(const ShardRecord& record) {
  RecordWriter writer;
  writer.line("epoch", record.epoch);
  writer.line("primary", record.primary);
  for (const NodeMemory& member : record.insync) writer.line("insync", member);
  writer.line("slots", record.slots.text());
  writer.line("since", record.since);
  return writer.take();
}

Result<ShardRecord> parse_shard_record(std::string_view text) {
  ShardRecord record;
  RecordReader reader("the record of a shard", text);
  while (reader.next()) {
    if (reader.is("epoch")) record.epoch = reader.number<std::uint64_t>(1);
    if (reader.is("primary")) record.primary = reader.memory();
    if (reader.is("insync")) record.insync.push_back(reader.memory());
    if (reader.is("slots")) record.slots = reader.slots();
    if (reader.is("since")) record.since = reader.time();
  }
  std::ranges::sort(record.insync);
  reader.require(record.epoch > 0, "epoch");
  reader.require(!record.primary.node.empty(), "primary");
  return reader.result(std::move(record));
}

std::string to_text(const MoveRecord& record) {
  RecordWriter writer;
  writer.line("source", record.source);
  writer.line("target", record.target);
  writer.line("slots", record.slots.text());
  writer.line("state", name_of(record.state));
  writer.line_unless_empty("error", record.error);
  writer.line("attempts", record.attempts);
  writer.line("created", record.created);
  if (record.busy_since != Time{}) writer.line("busy-since", record.busy_since);
  return writer.take();
}

Result<MoveRecord> parse_move_record(std::string_view text) {
  MoveRecord record;
  RecordReader reader("the record of a move", text);
  while (reader.next()) {
    if (reader.is("source")) record.source = reader.text();
    if (reader.is("target")) record.target = reader.text();
    if (reader.is("slots")) record.slots = reader.slots();
    if (reader.is("state")) record.state = reader.choice<MoveState>(kMoveStates);
    if (reader.is("error")) record.error = reader.text();
    if (reader.is("attempts")) record.attempts = reader.number<int>();
    if (reader.is("created")) record.created = reader.time();
    if (reader.is("busy-since")) record.busy_since = reader.time();
  }
  reader.require(!record.source.empty(), "source");
  reader.require(!record.target.empty(), "target");
  return reader.result(std::move(record));
}

std::string to_text(const RegisterRecord& record) {
  RecordWriter writer;
  writer.line("id", record.id);
  writer.line("version", record.version);
  writer.line("accepted", record.accepted);
  return writer.take();
}

Result<RegisterRecord> parse_register_record(std::string_view text) {
  RegisterRecord record;
  RecordReader reader("the record of the register", text);
  while (reader.next()) {
    if (reader.is("id")) record.id = reader.number<std::uint64_t>(1);
    if (reader.is("version")) record.version = reader.number<std::uint64_t>(1);
    if (reader.is("accepted")) record.accepted = reader.time();
  }
  reader.require(record.id != 0, "id");
  reader.require(record.version != 0, "version");
  return reader.result(record);
}

}  // namespace mayfly
