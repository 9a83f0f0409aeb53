// SPDX-License-Identifier: Apache-2.0
#include "keyspace/list/packed_list.h"

namespace mayfly {

const char* ListEntries::find(std::size_t index) const {
  if (index <= count / 2) {
    const char* at = begin();
    for (; index > 0; --index) at = next_entry(at);
    return at;
  }
  const char* at = end();
  for (std::size_t left = count - index; left > 0; --left) at = previous_entry(at);
  return at;
}

std::string ListEntries::check_invariants() const {
  std::size_t found = 0;
  const char* at = begin();
  while (at < end()) {
    ListpackValue value;
    const char* const next = read_entry(at, value);
    if (next > end()) return "an entry of a list ends behind its bytes";
    if (next_entry(at) != next) return "an entry of a list has two ends";
    if (previous_entry(next) != at) return "an entry of a list does not know its size";
    char digits[24];
    const ListpackText text(value.as_text(digits));
    if (text.is_number() != value.is_number) return "a number of a list is kept as a text";
    if (text.bytes() != static_cast<std::size_t>(next - at))
      return "an entry of a list is too long";
    at = next;
    ++found;
  }
  return found == count ? "" : "a list counts its entries wrong";
}

RemovedEntries remove_entries(char* begin, char* end, const ListpackText& text, std::size_t most,
                              ListEnd from) {
  RemovedEntries result{.begin = begin, .end = end};
  ListpackValue value;
  // Entries between two removed ones are moved at once.
  if (from == ListEnd::head) {
    char* kept = begin;       // end of what is in its place
    const char* run = begin;  // begin of what has to be moved there
    const auto keep_run = [&](const char* run_end) {
      const auto size = static_cast<std::size_t>(run_end - run);
      if (kept != run && size > 0) std::memmove(kept, run, size);
      kept += size;
    };
    for (const char* at = begin; at < end && result.removed < most;) {
      const char* const next = read_entry(at, value);
      if (value.equals(text)) {
        keep_run(at);
        run = next;
        ++result.removed;
      }
      at = next;
    }
    keep_run(end);
    result.end = kept;
    return result;
  }
  char* kept = end;
  const char* run = end;
  const auto keep_run = [&](const char* run_begin) {
    const auto size = static_cast<std::size_t>(run - run_begin);
    kept -= size;
    if (kept != run_begin && size > 0) std::memmove(kept, run_begin, size);
  };
  for (const char* at = end; at > begin && result.removed < most;) {
    const char* const next = at;
    at = previous_entry(next);
    read_entry(at, value);
    if (!value.equals(text)) continue;
    keep_run(next);
    run = at;
    ++result.removed;
  }
  keep_run(begin);
  result.begin = kept;
  return result;
}

std::string PackedListView::check_invariants() const {
  if (blob_.size() < kPackedListHeader) return "a packed list is too short";
  return entries().check_invariants();
}

}  // namespace mayfly
