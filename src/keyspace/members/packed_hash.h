// SPDX-License-Identifier: Apache-2.0
// A small hash as one run of bytes, inside an allocation of somebody else's.
//
//   | count 2 | width 1 | 0 | base 8 | entry | entry | entry ...       base only if width is not 0
//
//   | field size 1-5 | value size 1-5 | deadline, `width` bytes | field | value |
//
// Sizes take seven bits a byte, least first: one byte below 128. The width of deadlines is
//
//   0   no field has a deadline
//   4   milliseconds after the base; 0xFFFFFFFF if the field has none
//   8   since some deadline is 2^32 - 1 ms or more after the base: absolute; kNever if none
//
// and the base is the least deadline. The form is always the least wide that holds the deadlines.
// Order is that of arrival; a field that gets a new value keeps its place.
//
//   all functions   O(n): a walk over the bytes; earliest() and count() O(1)
//   memory          28 bytes for a field of 13 and a value of 13, 32 with a deadline; 4 or 12 more
//                   for the hash
//
// The functions that change a hash work in place. Whoever owns the bytes asks first how many they
// will be, and makes room:
//
//   const PackedPut put = packed_plan_put({blob, size}, field, value, deadline);
//   blob = realloc(blob, std::max(size, put.size));     // at least both
//   size = packed_apply(blob, size, put, field, value); // one walk in all
//
// Fields, values and deadlines can be anything, empty and kNever included. Texts given to a
// function must not lie in the hash that it changes. REQUIRES of all: the bytes are sound (see
// packed_check), and there are at most kPackedFieldsMax fields.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keyspace/members/hash_field.h"

namespace mayfly {

inline constexpr std::size_t kPackedEmptySize = 4;
inline constexpr std::size_t kPackedFieldsMax = 65'535;

// How deadlines are written: the part of the header that is about them.
struct PackedForm {
  std::size_t width = 0;
  Time base = kNever;  // the least deadline

  std::size_t header_size() const { return kPackedEmptySize + (width == 0 ? 0 : sizeof(base)); }
  bool operator==(const PackedForm&) const = default;
};

// Reads a packed hash. It does not own the bytes; they must not change while it is in use.
class PackedView {
 public:
  explicit PackedView(std::string_view blob) : blob_(blob) {}

  // How many fields are stored, due ones included.
  std::size_t count() const;
  bool has_deadlines() const { return width() != 0; }
  // The least deadline, or kNever. Exact.
  Time earliest() const { return form().base; }

  // Whatever its deadline: the caller asks is_due().
  std::optional<HashField> find(std::string_view field) const;

  std::size_t count_due(Time now) const;

  // REQUIRES: ordinal < count().
  HashField at(std::size_t ordinal) const;

  // Calls `see(field)` for each until it returns false.
  template <class See>
  void each(See see) const {
    std::size_t offset = form().header_size();
    for (std::size_t i = count(); i > 0; --i) {
      const Entry entry = entry_at(offset);
      if (!see(entry.content)) return;
      offset = entry.end;
    }
  }

  // For the functions below: an entry and where its parts are in the blob.
  struct Entry {
    HashField content;
    std::size_t offset;
    std::size_t deadline_offset;
    std::size_t end;
  };
  PackedForm form() const;
  Entry entry_at(std::size_t offset) const;
  std::optional<Entry> find_entry(std::string_view field) const;

 private:
  std::size_t width() const { return static_cast<unsigned char>(blob_[2]); }

  std::string_view blob_;
};

// A change of one field that was thought through but not made yet.
struct PackedPut {
  std::size_t size = 0;        // of the blob afterwards
  bool is_new = true;          // whether the field was not there
  Time old_deadline = kNever;  // of a field that was there
  Time deadline = kNever;      // what it will have
  std::size_t offset = 0;      // where its entry begins, or will begin
  PackedForm form = {};        // afterwards
};

// Writes an empty hash and returns its size, kPackedEmptySize. REQUIRES: room for it.
std::size_t packed_create(char* out);

// Writes a hash of these fields, in this order, and returns its size, packed_size(fields).
// REQUIRES: room for it, no field twice, and at most kPackedFieldsMax of them.
std::size_t packed_size(std::span<const HashField> fields);
std::size_t packed_build(char* out, std::span<const HashField> fields);

// Sets the field's value and its deadline; kNever means none.
PackedPut packed_plan_put(std::string_view blob, std::string_view field, std::string_view value,
                          Time deadline);

// Makes the change and returns the new size, put.size. REQUIRES: the blob, the field and the value
// are those of the plan, and there is room for the greater of the sizes before and after.
std::size_t packed_apply(char* blob, std::size_t size, const PackedPut& put, std::string_view field,
                         std::string_view value);

// The same in two walks.
std::size_t packed_put_size(std::string_view blob, std::string_view field, std::string_view value,
                            Time deadline);
std::size_t packed_put(char* blob, std::size_t size, std::string_view field, std::string_view value,
                       Time deadline);

// Changes the deadline only. REQUIRES: the field is there; and room, as for packed_put.
std::size_t packed_set_deadline_size(std::string_view blob, std::string_view field, Time deadline);
std::size_t packed_set_deadline(char* blob, std::size_t size, std::string_view field,
                                Time deadline);

// Removes the field and returns the new size, which is less. REQUIRES: the field is there.
std::size_t packed_erase(char* blob, std::size_t size, std::string_view field);

// Removes at most `limit` fields that are due, in the order in which they are stored, and appends
// their names to `fields` and their deadlines to `deadlines`, unless it is null. Returns the new
// size. O(1) if none is due.
std::size_t packed_take_due(char* blob, std::size_t size, Time now, std::size_t limit,
                            std::vector<std::string>& fields, std::vector<Time>* deadlines);

// Empty if the bytes are a sound hash, else what is wrong with them. Safe for any bytes.
std::string packed_check(std::string_view blob);

}  // namespace mayfly
