// SPDX-License-Identifier: Apache-2.0
// ListpackWriter: texts as a whole listpack, with header and end.
//
//   ListpackWriter writer;
//   writer.add("name");  writer.add("Ann");
//   sink.write(writer.finish());
//   writer.clear();  ...                                // its memory serves the next one

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "keyspace/listpack/listpack_entry.h"

namespace mayfly {

class ListpackWriter {
 public:
  static constexpr std::size_t kEmptySize = kListpackEmpty;
  static constexpr std::size_t kOverheadMax = kListpackEntryOverhead;

  ListpackWriter() { clear(); }

  void clear() {
    size_ = kListpackHeader;
    count_ = 0;
  }

  // REQUIRES: the listpack stays below 1 GiB; others read no longer one.
  void add(std::string_view text) { add(ListpackText(text)); }
  void add(std::int64_t number) { add(ListpackText(number)); }

  // Entries that are encoded already.
  void add_entries(std::string_view entries, std::size_t count);

  // Good until the next call. Counts of 65,535 and more are written as 65,535, which means unknown.
  std::string_view finish();

 private:
  void add(const ListpackText& text);
  char* room_for(std::size_t bytes);

  std::string bytes_;  // only the first size_ of them count
  std::size_t size_ = kListpackHeader;
  std::size_t count_ = 0;
};

}  // namespace mayfly
