// SPDX-License-Identifier: Apache-2.0
#include "persist/aof/aof_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "resp/numbers.h"

namespace mayfly {
namespace {

constexpr std::size_t kMagicBytes = 9;  // REDIS0010, VALKEY080

// `word` is given in capitals.
bool is_word(std::string_view text, std::string_view word) {
  return std::ranges::equal(text, word, [](char a, char b) {
    return (a >= 'a' && a <= 'z' ? static_cast<char>(a - 'a' + 'A') : a) == b;
  });
}

// At most `size` bytes.
Result<std::string> read_begin(ByteSource& source, std::size_t size) {
  std::string bytes(size, '\0');
  std::size_t filled = 0;
  while (filled < size) {
    const Result<std::size_t> count = source.read({bytes.data() + filled, size - filled});
    if (!count) return count.error();
    if (*count == 0) break;
    filled += *count;
  }
  bytes.resize(filled);
  return bytes;
}

}  // namespace

AofLoader::AofLoader(Disk& disk, const AofOptions& files, Keyspace& keyspace, AofApply& applier,
                     const AofLoadOptions& options)
    : disk_(disk), names_(files), keyspace_(keyspace), applier_(applier), options_(options) {}

AofLoader::~AofLoader() = default;

Result<bool> AofLoader::step(std::size_t commands) {
  if (!has_begun_) {
    has_begun_ = true;
    if (Status status = find_files(); !status) return status.error();
  }
  if (at_ == files_.size()) return true;
  if (!is_open_) {
    if (Status status = begin_file(); !status) return status.error();
    is_open_ = true;
  }
  const Result<bool> is_done = rdb_ ? step_base(commands) : step_commands(commands);
  if (!is_done) return is_done;
  if (*is_done) {
    bytes_before_ += file().bytes;
    if (reader_ && !reader_->note().empty()) report_.note = reader_->note();
    reader_.reset();
    rdb_.reset();
    source_.reset();
    is_open_ = false;
    ++at_;
  }
  return at_ == files_.size();
}

std::uint64_t AofLoader::offset() const {
  if (rdb_) return bytes_before_ + rdb_->offset();
  return bytes_before_ + (reader_ ? reader_->end() : 0);
}

// All of them must be there before anything is loaded.
Status AofLoader::find_files() {
  const Result<AofFiles> found = find_aof(disk_, names_);
  if (!found) return found.error();
  if (!found->manifest) return Done{};
  report_.found = true;
  const auto add = [&](const AofPart& part) -> Status {
    const std::string path = found->path(names_, part);
    const Result<std::unique_ptr<ByteSource>> source = disk_.open(path);
    if (!source) return source.error();
    files_.push_back({part.name, path, (*source)->size(), part.type == 'b'});
    total_bytes_ += (*source)->size();
    return Done{};
  };
  if (found->manifest->base) {
    if (Status status = add(*found->manifest->base); !status) return status;
  }
  for (const AofPart& part : found->manifest->increments) {
    if (Status status = add(part); !status) return status;
  }
  return Done{};
}

Status AofLoader::begin_file() {
  database_ = 0;
  Result<std::unique_ptr<ByteSource>> source = disk_.open(file().path);
  if (!source) return source.error();
  const Result<std::string> magic = read_begin(**source, file().is_base ? kMagicBytes : 0);
  if (!magic) return magic.error();
  if (!magic->starts_with("REDIS") && !magic->starts_with("VALKEY")) {
    if (file().is_base && file().name.ends_with(".rdb")) return bad_format(0, "not an RDB file");
    return begin_commands(0);
  }
  source = disk_.open(file().path);
  if (!source) return source.error();
  source_ = std::move(*source);
  // Due keys stay: the log removes them, or the sweep after loading.
  rdb_ = std::make_unique<RdbLoader>(*source_, keyspace_,
                                     RdbLoadOptions{.now = options_.now,
                                                    .keeps_due = true,
                                                    .checks = options_.checks,
                                                    .load_function = options_.load_function});
  return Done{};
}

Result<bool> AofLoader::step_base(std::size_t keys) {
  const Result<bool> is_done = rdb_->step(keys);
  if (!is_done) return bad_format(rdb_->offset(), is_done.error().message);
  if (!*is_done) return false;
  report_.base = rdb_->report();
  const std::uint64_t end = rdb_->report().bytes;
  rdb_.reset();
  if (Status status = begin_commands(end); !status) return status.error();
  return false;
}

Status AofLoader::begin_commands(std::uint64_t offset) {
  Result<std::unique_ptr<ByteSource>> source = disk_.open(file().path, offset);
  if (!source) return source.error();
  source_ = std::move(*source);
  reader_ = std::make_unique<AofReader>(*source_, offset, file().bytes);
  return Done{};
}

Result<bool> AofLoader::step_commands(std::size_t commands) {
  for (; commands > 0; --commands) {
    const Result<AofReader::Found> found = reader_->next();
    if (!found) return found.error();
    switch (*found) {
      case AofReader::Found::command:
        report_.ends_with_note = false;
        if (Status status = take(reader_->words()); !status) return status.error();
        break;
      case AofReader::Found::end:
        if (reader_->has_found_note()) report_.ends_with_note = true;
        return unit_at_ ? truncated() : true;
      case AofReader::Found::truncated:
        return truncated();
      case AofReader::Found::malformed:
        return malformed();
    }
  }
  return false;
}

Status AofLoader::take(Words words) {
  const std::string_view name = words.front();
  if (is_word(name, "SELECT")) return select(words);
  if (is_word(name, "MULTI")) {
    if (unit_at_) return bad_format(reader_->begin(), "MULTI within a transaction");
    unit_at_ = reader_->begin();
    unit_database_ = database_;
    return Done{};
  }
  if (is_word(name, "EXEC")) {
    if (!unit_at_) return bad_format(reader_->begin(), "EXEC without MULTI");
    return apply_unit();
  }
  if (!unit_at_) return apply(database_, words);
  unit_.add(unit_database_, words);
  return Done{};
}

Status AofLoader::select(Words words) {
  const auto number = words.size() == 2 ? parse_integer(words[1]) : std::nullopt;
  if (!number || *number < 0 || *number >= keyspace_.count()) {
    const std::string_view which = words.size() == 2 ? words[1] : "";
    return bad_format(reader_->begin(), fmt::format("SELECT of database \"{}\", and there are {}",
                                                    which, keyspace_.count()));
  }
  (unit_at_ ? unit_database_ : database_) = static_cast<int>(*number);
  return Done{};
}

Status AofLoader::apply(int database, Words words) {
  Status status = applier_.apply(database, words);
  if (!status) return bad_format(reader_->begin(), status.error().message);
  ++report_.commands;
  return status;
}

Status AofLoader::apply_unit() {
  for (std::size_t i = 0; i < unit_.size(); ++i) {
    if (Status status = apply(unit_.database(i), unit_.words(i)); !status) return status;
  }
  ++report_.transactions;
  database_ = unit_database_;
  unit_.clear();
  unit_at_.reset();
  return Done{};
}

// A file that grew before its last bytes were on disk has zeros there after a power cut.
Result<bool> AofLoader::malformed() {
  const std::uint64_t at = reader_->error_offset();
  const Result<bool> is_zero = is_zero_from(disk_, file().path, at);
  if (!is_zero) return is_zero.error();
  return *is_zero ? truncated() : Result<bool>(bad_format(at, reader_->error()));
}

// The file ends too early. Files after it that are empty do not make it less the last one.
Result<bool> AofLoader::truncated() {
  const std::uint64_t whole = unit_at_ ? *unit_at_ : reader_->end();
  const bool is_last =
      std::all_of(files_.begin() + static_cast<std::ptrdiff_t>(at_) + 1, files_.end(),
                  [](const File& later) { return later.bytes == 0; });
  const std::string_view what = unit_at_ ? "a transaction" : "a command";
  if (!is_last || !options_.truncates_tail) {
    return Error{Code::corrupt,
                 fmt::format("Unexpected end of the append only file {} at offset {}: {} that "
                             "began there is not whole{}",
                             file().name, whole, what, is_last ? "" : ", and more files follow")};
  }
  Result<std::unique_ptr<DiskFile>> cut = disk_.append(file().path);
  if (!cut) return cut.error();
  if (Status status = (*cut)->truncate(whole); !status) return status.error();
  if (Status status = (*cut)->sync(); !status) return status.error();
  report_.ends_with_note = false;
  report_.truncated_bytes = file().bytes - whole;
  report_.truncated_file = file().name;
  report_.truncated_at = whole;
  unit_.clear();
  unit_at_.reset();
  return true;
}

Error AofLoader::bad_format(std::uint64_t offset, std::string_view why) const {
  return {Code::corrupt,
          fmt::format("Bad file format reading the append only file {} at offset {}: {}",
                      file().name, offset, why)};
}

}  // namespace mayfly
