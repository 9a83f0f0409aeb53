// SPDX-License-Identifier: Apache-2.0
// AofReader: reads the commands of a log file. Unlike a client's requests, a command has only one
// valid form; anything else is damage.
//
//   *2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n       a command: words with their lengths, at least one
//   #TS:1700000000\r\n                      a annotation, which is skipped
//
// AofUnit: the commands of a transaction, kept until it is complete.
//
// Cost: lengths are looked at once, and words not at all. Memory: 64 KiB,
// or as much as the longest command needs; a length that the file is too short for needs none.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/result.h"
#include "persist/disk/byte_sink.h"
#include "persist/disk/disk.h"
#include "resp/request.h"

namespace mayfly {

class AofReader {
 public:
  enum class Found {
    command,
    end,        // after the last command
    truncated,  // the file ends within a command or a annotation
    malformed,  // see error()
  };

  // `offset` is where in the file the source begins, and `bytes` how long the file is. The source
  // must outlive it.
  AofReader(ByteSource& source, std::uint64_t offset, std::uint64_t bytes);

  // An Error if the source cannot be read.
  Result<Found> next();

  // Of the command; good until the next call.
  Words words() const { return words_; }

  // Where the command begins, or what is no command, and where it ends. If there is none, both are
  // the end of the last whole command or annotation.
  std::uint64_t begin() const { return offset_ + at_; }
  std::uint64_t end() const { return offset_ + at_ + length_; }

  // An annotation that begins with this mark is a note about what the log has up to there. The last
  // one so far, without the mark; empty: there was none.
  static constexpr std::string_view kNoteMark = "#cluster ";
  const std::string& note() const { return note_; }
  // Whether the last call of next() has found a note, before what it returned.
  bool has_found_note() const { return has_found_note_; }

  // What is wrong, and where.
  const std::string& error() const { return error_; }
  std::uint64_t error_offset() const { return error_offset_; }

 private:
  enum class Step { read, truncated, malformed };
  struct Place {
    std::size_t offset;
    std::size_t size;
  };

  // Each reads what is at `at`, and moves it behind. All such places are relative to at_, since the
  // buffer's bytes may move whenever more are read.
  Step skip_annotation(std::size_t& at);
  Step read_command(std::size_t& at);
  Step read_length(std::size_t& at, char letter, std::uint64_t& length);
  Step expect(std::size_t& at, std::string_view bytes);
  Step fail(std::size_t at, std::string_view why);

  // Whether there are `size` bytes at `at`; they are in the buffer then. No, too, if they could not
  // be read: see io_error_.
  bool has(std::size_t at, std::size_t size) {
    return filled_ - at_ >= at + size || read_more(at + size);
  }
  bool may_have(std::size_t at, std::size_t size) const {  // as far as the file's length tells
    return at + size <= bytes_ - std::min(bytes_, begin());
  }
  bool read_more(std::size_t wanted);
  char byte(std::size_t at) const { return buffer_[at_ + at]; }

  ByteSource& source_;
  const std::uint64_t bytes_;  // of the file
  std::uint64_t offset_;       // of the buffer's begin
  std::string buffer_;         // its first filled_ bytes count
  std::size_t filled_ = 0;
  std::size_t at_ = 0;      // where the command begins
  std::size_t length_ = 0;  // of the command
  std::vector<Place> places_;
  std::vector<std::string_view> words_;
  std::string note_;
  bool has_found_note_ = false;
  std::string error_;
  std::uint64_t error_offset_ = 0;
  std::optional<Error> io_error_;
};

// Whether a file has bytes from there on, and all of them are 0.
Result<bool> is_zero_from(Disk& disk, const std::string& path, std::uint64_t offset);

class AofUnit {
 public:
  void add(int database, Words words);
  void clear();

  std::size_t size() const { return commands_.size(); }

  // The words are good until the next call.
  int database(std::size_t command) const { return commands_[command].database; }
  Words words(std::size_t command);

 private:
  struct Command {
    int database;
    std::size_t first_word;
  };

  std::vector<Command> commands_;
  std::vector<std::size_t> ends_;  // of each word, in bytes_
  std::string bytes_;
  std::vector<std::string_view> words_;
};

}  // namespace mayfly
