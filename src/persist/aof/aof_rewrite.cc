// SPDX-License-Identifier: Apache-2.0
#include "persist/aof/aof_rewrite.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <string_view>
#include <vector>

#include "persist/disk/disk.h"
#include "resp/encode.h"
#include "resp/numbers.h"

namespace mayfly {
namespace {

constexpr std::size_t kMembersMax = 64;          // in one command
constexpr std::size_t kBufferBytes = 64 * 1024;  // handed to the sink at once

class Digits {
 public:
  explicit Digits(std::int64_t number)
      : end_(std::to_chars(text_.data(), text_.data() + text_.size(), number).ptr) {}
  explicit Digits(Time moment) : Digits(std::int64_t{moment.time_since_epoch().count()}) {}

  std::string_view text() const {
    return {text_.data(), static_cast<std::size_t>(end_ - text_.data())};
  }

 private:
  std::array<char, 24> text_;
  const char* end_;
};

// The commands that put members of a type.
struct PutCommands {
  std::string_view plain;  // key, then members
  std::string_view timed;  // key PXAT ms, a word and the number of members, then members
  std::string_view word;
  std::size_t texts;  // of a member
};

const PutCommands& put_commands(ValueType type) {
  static constexpr PutCommands kHash = {"HSET", "HSETEX", "FIELDS", 2};
  static constexpr PutCommands kSet = {"SADD", "SADDEX", "MEMBERS", 1};
  static constexpr PutCommands kZset = {"ZADD", "ZADDEX", "MEMBERS", 2};
  if (type == ValueType::set) return kSet;
  return type == ValueType::zset ? kZset : kHash;
}

// Writes commands. After the first error it writes nothing more; finish() returns the error.
class Rewriter {
 public:
  Rewriter(Time now, ByteSink& sink, const OnSaveProgress& progress)
      : context_{.now = now, .policy = Policy::hide}, sink_(sink, progress) {}

  void database(Database& database) {
    if (database.stored() == 0) return;
    request({"SELECT", Digits(std::int64_t{database.number()}).text()});
    database.each([&](Slot slot) {
      visit_value(database.node(slot), Overloaded{[&](std::string_view) { string(database, slot); },
                                                  [&](const auto&) { members(database, slot); }});
      count_key();
      return status_.ok();
    });
  }

  Result<SaveProgress> finish() {
    hand_over();
    if (!status_) return status_.error();
    return sink_.done;
  }

 private:
  void request(std::initializer_list<std::string_view> words) { append_request(buffer_, words); }

  void string(Database& database, Slot slot) {
    const std::string_view key = database.key(slot);
    const std::string_view value = database.string(slot);
    const Time deadline = database.deadline(slot);
    if (deadline == kNever) {
      request({"SET", key, value});
    } else {
      request({"SET", key, value, "PXAT", Digits(deadline).text()});
    }
  }

  void members(Database& database, Slot slot) {
    key_ = database.key(slot);
    type_ = database.type(slot);
    const bool has_any = database.members(context_, slot).has_deadlines()
                             ? put_by_deadline(database, slot)
                             : put_all(database, slot);
    if (!has_any) return;
    const Time deadline = database.deadline(slot);
    if (deadline != kNever) request({"PEXPIREAT", key_, Digits(deadline).text()});
  }

  bool put_all(Database& database, Slot slot) {
    bool has_any = false;
    database.members(context_, slot).each([&](const Member& member) {
      put(member);
      has_any = true;
      return status_.ok();
    });
    end_batch();
    return has_any;
  }

  // Those that share a deadline together, those without one last. The views stay valid, since
  // nothing is changed.
  bool put_by_deadline(Database& database, Slot slot) {
    MembersRef members = database.members(context_, slot);
    members_.clear();
    members.each([&](const Member& member) {
      members_.push_back(member);
      return true;
    });
    std::ranges::stable_sort(members_, std::ranges::less{}, &Member::deadline);
    for (const Member& member : members_) put(member);
    end_batch();
    return !members_.empty();
  }

  // Adds the member to the command under way, or begins another one.
  void put(const Member& member) {
    if (batch_count_ == kMembersMax || member.deadline != batch_deadline_) end_batch();
    batch_deadline_ = member.deadline;
    ++batch_count_;
    if (type_ == ValueType::zset) append_bulk(batch_, format_double(member.score()));
    append_bulk(batch_, member.name);
    if (type_ == ValueType::hash) append_bulk(batch_, member.value);
  }

  void end_batch() {
    if (batch_count_ == 0) return;
    const PutCommands& commands = put_commands(type_);
    const std::size_t texts = batch_count_ * commands.texts;
    if (batch_deadline_ == kNever) {
      append_length(buffer_, '*', 2 + texts);
      append_bulk(buffer_, commands.plain);
      append_bulk(buffer_, key_);
    } else {
      append_length(buffer_, '*', 6 + texts);
      append_bulk(buffer_, commands.timed);
      append_bulk(buffer_, key_);
      append_bulk(buffer_, "PXAT");
      append_bulk(buffer_, Digits(batch_deadline_).text());
      append_bulk(buffer_, commands.word);
      append_bulk(buffer_, Digits(static_cast<std::int64_t>(batch_count_)).text());
    }
    buffer_ += batch_;
    batch_.clear();
    batch_count_ = 0;
    if (buffer_.size() >= kBufferBytes) hand_over();
  }

  void count_key() {
    if (buffer_.size() >= kBufferBytes) hand_over();
    sink_.count_key();
  }

  void hand_over() {
    if (status_) status_ = sink_.write(buffer_);
    buffer_.clear();
  }

  const ExecContext context_;
  ReportingSink sink_;
  std::string buffer_;
  Status status_ = Done{};

  // The key with members under way, and the command that puts some of them.
  std::string_view key_;
  ValueType type_ = ValueType::hash;
  std::vector<Member> members_;
  std::string batch_;
  std::size_t batch_count_ = 0;
  Time batch_deadline_ = kNever;
};

}  // namespace

Result<SaveProgress> write_aof_base(Keyspace& keyspace, ByteSink& sink, const SaveOptions& options,
                                    bool rdb_preamble, const OnSaveProgress& progress) {
  if (rdb_preamble) {
    SaveOptions marked = options;
    marked.aux.emplace_back("aof-base", "1");
    return save_rdb(keyspace, sink, marked, progress);
  }
  Rewriter rewriter(options.format.now, sink, progress);
  for (int i = 0; i < keyspace.count(); ++i) rewriter.database(keyspace[i]);
  return rewriter.finish();
}

Result<SaveProgress> write_aof_base_file(Disk& disk, const std::string& path, Keyspace& keyspace,
                                         const SaveOptions& options, bool rdb_preamble,
                                         const OnSaveProgress& progress) {
  Result<std::unique_ptr<DiskFile>> file = disk.create(path);
  if (!file) return file.error();
  SyncingSink sink(**file, options.sync_every_bytes);
  Result<SaveProgress> done = write_aof_base(keyspace, sink, options, rdb_preamble, progress);
  if (!done) return done;
  if (Status status = (*file)->sync(); !status) return status.error();
  return done;
}

}  // namespace mayfly
