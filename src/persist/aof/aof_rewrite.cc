// SPDX-License-Identifier: Apache-2.0
#include "persist/aof/aof_rewrite.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "persist/disk/disk.h"
#include "resp/encode.h"

namespace mayfly {
namespace {

constexpr std::size_t kFieldsMax = 64;           // in one command
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
                                                  [&](const auto&) { hash(database, slot); }});
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
  using Fields = std::span<const Member>;

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

  // The views into the hash stay valid, since nothing is changed.
  void hash(Database& database, Slot slot) {
    fields_.clear();
    database.members(context_, slot).each([&](const Member& field) {
      fields_.push_back(field);
      return true;
    });
    if (fields_.empty()) return;
    // Those without a deadline last.
    std::ranges::stable_sort(fields_, std::ranges::less{}, &Member::deadline);
    const std::string_view key = database.key(slot);
    for (auto at = fields_.begin(); at != fields_.end();) {
      const auto limit = std::min<std::ptrdiff_t>(fields_.end() - at, kFieldsMax);
      const auto end = std::find_if(
          at, at + limit, [&](const Member& field) { return field.deadline != at->deadline; });
      put_fields(key, Fields(at, end));
      at = end;
      if (buffer_.size() >= kBufferBytes) hand_over();
    }
    const Time deadline = database.deadline(slot);
    if (deadline != kNever) request({"PEXPIREAT", key, Digits(deadline).text()});
  }

  void put_fields(std::string_view key, Fields fields) {
    const Time deadline = fields.front().deadline;
    if (deadline == kNever) {
      append_length(buffer_, '*', 2 + 2 * fields.size());
      append_bulk(buffer_, "HSET");
      append_bulk(buffer_, key);
    } else {
      append_length(buffer_, '*', 6 + 2 * fields.size());
      append_bulk(buffer_, "HSETEX");
      append_bulk(buffer_, key);
      append_bulk(buffer_, "PXAT");
      append_bulk(buffer_, Digits(deadline).text());
      append_bulk(buffer_, "FIELDS");
      append_bulk(buffer_, Digits(static_cast<std::int64_t>(fields.size())).text());
    }
    for (const Member& field : fields) {
      append_bulk(buffer_, field.name);
      append_bulk(buffer_, field.value);
    }
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
  std::vector<Member> fields_;
  Status status_ = Done{};
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
