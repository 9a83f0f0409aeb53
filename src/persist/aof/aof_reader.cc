// SPDX-License-Identifier: Apache-2.0
#include "persist/aof/aof_reader.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <memory>

namespace mayfly {
namespace {

constexpr std::size_t kPiece = 64 * 1024;
constexpr std::size_t kAnnotationMax = 1024;
constexpr int kDigitsMax = 18;
constexpr std::uint64_t kWordMax = UINT32_MAX;  // no key or value can be longer

bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

}  // namespace

AofReader::AofReader(ByteSource& source, std::uint64_t offset, std::uint64_t bytes)
    : source_(source), bytes_(bytes), offset_(offset) {}

Result<AofReader::Found> AofReader::next() {
  at_ += length_;
  length_ = 0;
  words_.clear();
  has_found_note_ = false;
  Step step = Step::read;
  while (step == Step::read) {
    std::size_t size = 0;
    if (!has(0, 1)) {
      if (io_error_) return *io_error_;
      return Found::end;
    }
    const bool is_annotation = byte(0) == '#';
    step = is_annotation ? skip_annotation(size) : read_command(size);
    if (step != Step::read) break;
    if (!is_annotation) {
      length_ = size;
      return Found::command;
    }
    if (std::string_view(buffer_).substr(at_, size).starts_with(kNoteMark)) {
      note_ = buffer_.substr(at_ + kNoteMark.size(), size - kNoteMark.size());
      note_.resize(std::min(note_.find_first_of("\r\n"), note_.size()));
      has_found_note_ = true;
    }
    at_ += size;
  }
  if (io_error_) return *io_error_;
  return step == Step::truncated ? Found::truncated : Found::malformed;
}

AofReader::Step AofReader::skip_annotation(std::size_t& at) {
  while (has(at, 1)) {
    if (byte(at++) == '\n') return Step::read;
    if (at > kAnnotationMax) return fail(0, "an annotation without an end");
  }
  return Step::truncated;
}

AofReader::Step AofReader::read_command(std::size_t& at) {
  std::uint64_t count = 0;
  if (const Step step = read_length(at, '*', count); step != Step::read) return step;
  if (count == 0) return fail(0, "a command without words");
  places_.clear();
  for (; count > 0; --count) {
    std::uint64_t size = 0;
    const std::size_t start = at;
    if (const Step step = read_length(at, '$', size); step != Step::read) return step;
    if (!may_have(at, size)) return Step::truncated;
    if (size > kWordMax) return fail(start, "a word of more than 4294967295 bytes");
    if (!has(at, size)) return Step::truncated;
    places_.push_back({at, size});
    at += size;
    if (const Step step = expect(at, "\r\n"); step != Step::read) return step;
  }
  // Only now do the bytes stay where they are.
  words_.reserve(places_.size());
  for (const Place& place : places_) {
    words_.emplace_back(buffer_.data() + at_ + place.offset, place.size);
  }
  return Step::read;
}

AofReader::Step AofReader::read_length(std::size_t& at, char letter, std::uint64_t& length) {
  if (!has(at, 1)) return Step::truncated;
  if (byte(at) != letter) {
    return fail(at, letter == '*' ? "a command must begin with '*'" : "a word must begin with '$'");
  }
  const std::size_t first = ++at;
  length = 0;
  for (int digits = 0; has(at, 1) && is_digit(byte(at)); ++at) {
    if (++digits > kDigitsMax) return fail(first, "a length with too many digits");
    length = length * 10 + static_cast<unsigned>(byte(at) - '0');
  }
  if (!has(at, 1)) return Step::truncated;
  if (at == first) return fail(at, "a length without digits");
  if (byte(first) == '0' && at > first + 1) return fail(first, "a length that begins with 0");
  return expect(at, "\r\n");
}

AofReader::Step AofReader::expect(std::size_t& at, std::string_view bytes) {
  for (const char wanted : bytes) {
    if (!has(at, 1)) return Step::truncated;
    if (byte(at) != wanted) return fail(at, "the end of a line must be here");
    ++at;
  }
  return Step::read;
}

AofReader::Step AofReader::fail(std::size_t at, std::string_view why) {
  error_ = why;
  error_offset_ = begin() + at;
  return Step::malformed;
}

// What the file cannot hold is not even looked for, so that a wrong length needs no memory.
bool AofReader::read_more(std::size_t wanted) {
  if (!may_have(0, wanted)) return false;
  if (at_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + at_, filled_ - at_);
    offset_ += at_;
    filled_ -= at_;
    at_ = 0;
  }
  const std::size_t room = std::max(wanted, kPiece);
  if (buffer_.size() < room) buffer_.resize(std::max(room, buffer_.size() + buffer_.size() / 2));
  while (filled_ < wanted) {
    const Result<std::size_t> count =
        source_.read({buffer_.data() + filled_, buffer_.size() - filled_});
    if (!count) io_error_ = count.error();
    if (!count || *count == 0) return false;
    filled_ += *count;
  }
  return true;
}

Result<bool> is_zero_from(Disk& disk, const std::string& path, std::uint64_t offset) {
  const Result<std::unique_ptr<ByteSource>> source = disk.open(path, offset);
  if (!source) return source.error();
  std::string bytes(kPiece, '\0');
  for (bool has_any = false;; has_any = true) {
    const Result<std::size_t> count = (*source)->read({bytes.data(), bytes.size()});
    if (!count) return count.error();
    if (*count == 0) return has_any;
    const auto end = bytes.begin() + static_cast<std::ptrdiff_t>(*count);
    if (std::any_of(bytes.begin(), end, [](char byte) { return byte != '\0'; })) return false;
  }
}

// ---- AofUnit ----

void AofUnit::add(int database, Words words) {
  commands_.push_back({database, ends_.size()});
  for (const std::string_view word : words) {
    bytes_.append(word);
    ends_.push_back(bytes_.size());
  }
}

void AofUnit::clear() {
  commands_.clear();
  ends_.clear();
  bytes_.clear();
}

Words AofUnit::words(std::size_t command) {
  const bool is_last = command + 1 == commands_.size();
  const std::size_t end = is_last ? ends_.size() : commands_[command + 1].first_word;
  words_.clear();
  for (std::size_t i = commands_[command].first_word; i < end; ++i) {
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    words_.emplace_back(bytes_.data() + begin, ends_[i] - begin);
  }
  return words_;
}

}  // namespace mayfly
