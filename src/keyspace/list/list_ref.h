// SPDX-License-Identifier: Apache-2.0
// ListRef: the elements of a list in a database, in either form.
//
//   ListRef list = database.list(slot);
//   list.push(ListEnd::tail, "a");
//   if (list.finish()) ...                     // the key is gone, it had no element left
//
// A small list is packed into the node of its key (packed_list.h). Beyond list-max-listpack-size it
// becomes a ChunkedList, and a packed one again when it is down to half of that; OBJECT ENCODING
// calls the forms listpack and quicklist. Elements have no deadlines.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "keyspace/list/chunked_list.h"
#include "mayfly/slot.h"

namespace mayfly {

class Database;

class ListRef {
 public:
  // REQUIRES: the key is a list.
  ListRef(Database& database, Slot slot) : database_(database), slot_(slot) {}

  Slot slot() const { return slot_; }

  // ---- Reading; views are valid until the next change, numbers as long as their buffer ----

  std::size_t size() const;
  ListpackValue at(std::size_t index) const;  // REQUIRES: index < size()
  bool is_packed() const;

  // Calls `visit(const ListpackValue&)` for at most `count` elements from `index` on, forward or
  // backward, until it returns false. The list must not be changed meanwhile.
  template <class Visit>
  void each(std::size_t index, std::size_t count, bool is_forward, Visit visit) const;

  // ---- Changes; a text must not be a part of the list ----

  // Announces texts that will be pushed, inserted or set. A list that they make too large gets the
  // other form, before the first one of them. What is not announced is considered alone.
  void prepare_push(std::span<const std::string_view> texts);

  void push(ListEnd end, std::string_view text);
  std::string pop(ListEnd end);               // REQUIRES: size() > 0
  void drop(ListEnd end, std::size_t count);  // pops that many. REQUIRES: count <= size()
  void set(std::size_t index, std::string_view text);
  void insert(std::size_t index, std::string_view text);  // before that element, or at the end
  void erase(std::size_t index, std::size_t count);
  // Removes elements equal to the text: at most `most`, from the head or from the tail. Returns how
  // many.
  std::size_t remove(std::string_view text, std::size_t most, ListEnd from);

  // Packs a list that has become small by what was removed or set. Removes the key if no element is
  // left; returns whether it did, and then the reference is invalid. Call it after all changes of a
  // command.
  bool finish();

 private:
  const ListLimits& limits() const;
  ListEntries packed() const;    // REQUIRES: is_packed()
  ChunkedList& chunked() const;  // REQUIRES: not is_packed()
  bool grow_by(std::string_view text);
  char* replace_packed(std::size_t offset, std::size_t old_bytes, std::size_t new_bytes,
                       std::size_t count);
  void turn_into_chunks();
  void pack();

  Database& database_;
  Slot slot_;
  std::size_t announced_ = 0;  // texts that prepare_push() has considered
  bool may_be_small_ = false;  // something was removed or set
};

template <class Visit>
void ListRef::each(std::size_t index, std::size_t count, bool is_forward, Visit visit) const {
  if (!is_packed()) {
    chunked().each(index, count, is_forward, std::move(visit));
  } else if (const ListEntries entries = packed(); index < entries.count) {
    entries.each(index, count, is_forward, visit);
  }
}

}  // namespace mayfly
