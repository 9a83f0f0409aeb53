// SPDX-License-Identifier: Apache-2.0
// PackedView: reads the members of a small key, which are stored as one run of bytes.
//
//   | count 2 | payload and width 1 | name size 1 | base 8 | entry | entry ...
//
//   | name size 1-5 | payload size 1-5 | deadline, `width` bytes | name | payload |
//
// If all names are equally long, from 1 to 127 bytes, the header has their size and no entry has
// one; else the size in the header is 0. The payload has a size of its own only if it is a value; a
// score takes eight bytes. Sizes take seven bits a byte, least significant first: one byte below
// 128. The base is there only if the width of deadlines is not 0. That width is
//
//   0   no member has a deadline
//   4   milliseconds after the base; 0xFFFFFFFF if the member has none
//   8   absolute, since some deadline is 2^32 - 1 ms or more after the base; kNever if none
//
// and the base is the least deadline. The form is always the narrowest that holds the deadlines.
// The order is that of arrival; a member that gets a new payload keeps its place. But members with
// scores are in the order of their scores, and of their names where scores are equal.
//
//   find, count_due, at   O(n): a walk over the bytes; earliest() and count() O(1)
//   memory                27 bytes for a name of 13 and a value of 13, 31 with a deadline, 1 more
//                         if names differ in size; 4 or 12 more for the key
//
// packed_members.h has the functions that change the bytes.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "keyspace/members/member.h"

namespace mayfly {

inline constexpr std::size_t kPackedEmptySize = 4;
inline constexpr std::size_t kPackedMembersMax = 65'535;

// How sizes of names and deadlines are written: the part of the header that is about them.
struct PackedForm {
  std::size_t width = 0;      // of deadlines
  Time base = kNever;         // the least deadline
  std::size_t name_size = 0;  // of every name; 0: each entry has its own

  std::size_t header_size() const { return kPackedEmptySize + (width == 0 ? 0 : sizeof(base)); }
  Time read_deadline(const char* from) const;
  void write_deadline(char* to, Time deadline) const;  // REQUIRES: it fits the form

  // The size of a name, and how many bytes of an entry say so.
  std::size_t read_name_size(const char*& from) const {
    return name_size != 0 ? name_size : read_varint(from);
  }
  std::size_t name_size_bytes(std::size_t size) const {
    return name_size != 0 ? 0 : varint_size(size);
  }

  // Whether `to` can replace `from` in this form without a look at the other deadlines.
  bool allows_change(Time from, Time to) const;

  bool operator==(const PackedForm&) const = default;
};

// What the header can say of names that are all so long; 0 if it cannot.
inline std::size_t common_name_size(std::size_t size) { return size < 0x80 ? size : 0; }

// Finds the form that some deadlines need.
class PackedFormFinder {
 public:
  void add(Time deadline);
  PackedForm form(std::size_t name_size) const;

 private:
  Time least_ = kNever;
  Time greatest_ = Time::min();
};

// It does not own the bytes; they must not change while it is in use.
class PackedView {
 public:
  explicit PackedView(std::string_view blob) : blob_(blob) {}

  // How many members are stored, due ones included.
  std::size_t count() const {
    std::uint16_t count = 0;
    std::memcpy(&count, blob_.data(), sizeof count);
    return count;
  }
  bool has_deadlines() const { return width() != 0; }
  Payload payload() const { return static_cast<Payload>(blob_[2] & 3); }
  // The least deadline, or kNever. Exact.
  Time earliest() const { return form().base; }

  // The least deadline at or after `from`, or kNever. O(n).
  Time first_deadline(Time from) const;

  // Whatever its deadline: the caller asks is_due().
  std::optional<Member> find(std::string_view name) const;

  std::size_t count_due(Time now) const;
  bool has_alive(Time now) const { return count() > count_due(now); }
  std::size_t bytes() const { return blob_.size(); }

  // REQUIRES: ordinal < count().
  Member at(std::size_t ordinal) const;

  // Calls `visit(member)` for each until it returns false.
  template <class Visit>
  void each(Visit visit) const {
    std::size_t offset = form().header_size();
    for (std::size_t i = count(); i > 0; --i) {
      const Entry entry = entry_at(offset);
      if (!visit(entry.content)) return;
      offset = entry.end;
    }
  }

  // Empty if the bytes are valid, else what is wrong with them. Safe for any bytes.
  std::string check_invariants() const;

  // For packed_members.cc: an entry and where its parts are in the blob.
  struct Entry {
    Member content;
    std::size_t offset;
    std::size_t deadline_offset;
    std::size_t end;
  };
  PackedForm form() const;
  Entry entry_at(std::size_t offset) const;
  std::optional<Entry> find_entry(std::string_view name) const;

 private:
  std::size_t width() const { return static_cast<unsigned char>(blob_[2]) >> 2; }
  std::size_t name_size() const { return static_cast<unsigned char>(blob_[3]); }

  std::string_view blob_;
};

}  // namespace mayfly
