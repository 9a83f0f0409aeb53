// SPDX-License-Identifier: Apache-2.0
#include "persist/aof/aof_rewrite.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "persist/aof/aof_requests.h"
#include "persist/aof/aof_rewrite_values.h"
#include "persist/disk/disk.h"
#include "resp/encode.h"
#include "resp/numbers.h"

namespace mayfly {
namespace {

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

class Rewriter {
 public:
  Rewriter(Time now, ByteSink& sink, const OnSaveProgress& progress)
      : context_{.now = now, .policy = Policy::hide}, out_(sink, progress) {}

  void library(std::string_view code) { out_.request({"FUNCTION", "LOAD", code}); }

  void database(Database& database) {
    if (database.stored() == 0) return;
    out_.request({"SELECT", Digits(database.number()).text()});
    keys(database, nullptr);
  }

  void keys(Database& database, const KeyFilter& wants) {
    database.each([&](Slot slot) {
      key_ = database.key(slot);
      if (wants && !wants(key_)) return true;
      const Time deadline = database.deadline(slot);
      visit_value(database.node(slot),
                  Overloaded{[&](std::string_view value) {
                               string(value, deadline, database.stale_time(slot));
                             },
                             [&](const MembersValue auto&) { members(database, slot); },
                             [&](const ListValue auto& list) {
                               rewrite_list(out_, key_, list);
                               expire(deadline);
                             },
                             [&](const Stream& stream) {
                               rewrite_stream(out_, key_, stream);
                               expire(deadline);
                             }});
      out_.count_key();
      return !out_.has_failed();
    });
  }

  Result<SaveProgress> finish() { return out_.finish(); }

 private:
  void string(std::string_view value, Time deadline, Millis stale) {
    if (deadline == kNever) return out_.request({"SET", key_, value});
    const Digits fresh_until(deadline - stale);
    if (stale == Millis(0)) return out_.request({"SET", key_, value, "PXAT", fresh_until.text()});
    out_.request(
        {"SET", key_, value, "PXAT", fresh_until.text(), "PSTALE", Digits(stale.count()).text()});
  }

  void expire(Time deadline) {
    if (deadline != kNever) out_.request({"PEXPIREAT", key_, Digits(deadline).text()});
  }

  void members(Database& database, Slot slot) {
    type_ = database.type(slot);
    const bool has_any = database.members(context_, slot).has_deadlines()
                             ? put_by_deadline(database, slot)
                             : put_all(database, slot);
    if (has_any) expire(database.deadline(slot));
  }

  bool put_all(Database& database, Slot slot) {
    bool has_any = false;
    database.members(context_, slot).each([&](const Member& member) {
      put(member);
      has_any = true;
      return !out_.has_failed();
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
    if (batch_count_ == AofRequests::kBatch || member.deadline != batch_deadline_) end_batch();
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
      out_.begin(2 + texts, {commands.plain, key_});
    } else {
      out_.begin(6 + texts, {commands.timed, key_, "PXAT", Digits(batch_deadline_).text(),
                             commands.word, Digits(batch_count_).text()});
    }
    out_.encoded(batch_);
    batch_.clear();
    batch_count_ = 0;
  }

  const ExecContext context_;
  AofRequests out_;
  std::string_view key_;

  // Of a key with members, the command that puts some of them.
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
  for (const std::string& code : options.libraries) rewriter.library(code);
  for (int i = 0; i < keyspace.count(); ++i) rewriter.database(keyspace[i]);
  return rewriter.finish();
}

Result<SaveProgress> write_keys(Database& database, ByteSink& sink, Time now,
                                const KeyFilter& wants, const OnSaveProgress& progress) {
  Rewriter rewriter(now, sink, progress);
  rewriter.keys(database, wants);
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
