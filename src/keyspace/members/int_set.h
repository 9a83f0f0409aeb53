// SPDX-License-Identifier: Apache-2.0
// IntSet: a small set of integers without deadlines, in ascending order in one run of bytes.
//
//   | width 1 | value | value ... |          2, 4 or 8 bytes each, as the widest one needs
//
// It has the functions for reading that PackedView and MemberTable have. The names of members are
// made when they are asked for.
//
//   find   O(log n); changes O(n), a move of bytes

#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "keyspace/members/member.h"

namespace mayfly {

// The number that this text is the shortest form of, or nothing. "7" is one; "07" and "+7" are not.
std::optional<std::int64_t> parse_exact_integer(std::string_view text);

// A number as text.
class IntText {
 public:
  explicit IntText(std::int64_t value)
      : size_(static_cast<std::size_t>(std::to_chars(digits_, digits_ + sizeof digits_, value).ptr -
                                       digits_)) {}
  std::string_view view() const { return {digits_, size_}; }

 private:
  char digits_[20];
  std::size_t size_;
};

// It does not own the bytes; they must not change while it is in use.
class IntSetView {
 public:
  explicit IntSetView(std::string_view blob) : blob_(blob) {}

  std::size_t width() const { return static_cast<unsigned char>(blob_[0]); }
  std::size_t count() const { return (blob_.size() - 1) / width(); }

  // REQUIRES: i < count().
  std::int64_t at(std::size_t i) const;
  bool contains(std::int64_t value) const;

  // The name of the result is the one that was given.
  std::optional<Member> find(std::string_view name) const;

  // Calls `visit(member)` for each until it returns false. A name is valid during its visit.
  template <class Visit>
  void each(Visit visit) const {
    for (std::size_t i = 0; i < count(); ++i) {
      const IntText name(at(i));
      if (!visit(Member{.name = name.view()})) return;
    }
  }

  // No member has a deadline.
  Time earliest() const { return kNever; }
  Time first_deadline(Time) const { return kNever; }
  std::size_t count_due(Time) const { return 0; }
  bool has_alive(Time) const { return count() > 0; }

  std::size_t bytes() const { return blob_.size(); }

  // Empty if the bytes are valid, else what is wrong with them. Safe for any bytes.
  std::string check_invariants() const;

  // For changes: how many values are less.
  std::size_t position_of(std::int64_t value) const;

 private:
  std::string_view blob_;
};

inline constexpr std::size_t kIntSetEmptySize = 1;

// Writes a set without values and returns its size.
std::size_t int_set_create(char* out);

// How large the set will be with this value, and adding it. REQUIRES: it is not in the set, and
// there is room for that size.
std::size_t int_set_size_with(std::string_view blob, std::int64_t value);
std::size_t int_set_insert(char* blob, std::size_t size, std::int64_t value);

// Removes a value and returns the new size. REQUIRES: it is in the set.
std::size_t int_set_erase(char* blob, std::size_t size, std::int64_t value);

}  // namespace mayfly
