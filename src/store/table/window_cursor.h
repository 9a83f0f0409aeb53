// SPDX-License-Identifier: Apache-2.0
// The entries of a window in order: by key, and by deadline.
//
// Both are made of the runs of its tables, which they keep alive. They show the state as of their
// construction: a write transaction makes new ones after a write.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/ref.h"
#include "mayfly/time.h"
#include "store/table/window.h"

namespace mayfly::internal {

// A place in the part of a run that belongs to one family.
struct RunPlace {
  Ref<const Run> run;
  std::size_t begin, end;
  std::size_t at;

  const Version* operator[](std::size_t index) const { return (*run)[index]; }
};

// The keys of one family of which the tables tell something, in the order of bytes, each once:
// what().state is `there` or `absent`, never `unknown`.
class WindowKeys {
 public:
  WindowKeys() = default;  // of an empty window
  WindowKeys(const Window& window, std::uint32_t family);

  // Each moves and returns whether there is a key. next() and prev() of one that is nowhere: false.
  bool first();
  bool last();
  bool seek(std::string_view key);         // the least that is not less
  bool seek_before(std::string_view key);  // the greatest that is not greater
  bool next();
  bool prev();

  bool empty() const { return runs_.empty(); }
  bool valid() const { return valid_; }
  std::string_view key() const { return key_; }
  const InTables& what() const { return what_; }

 private:
  bool settle_forward();   // at the least key that a place is at
  bool settle_backward();  // at the greatest key that lies before a place
  void pass_key();         // moves the places that are at key_ on

  Window window_;
  std::uint32_t family_ = 0;
  std::vector<RunPlace> runs_;  // each at its first key that is not less than key_
  bool valid_ = false;
  std::string_view key_;
  InTables what_;
};

// The entries of one family that are there and have a deadline, by deadline, then key (as bytes).
// An entry whose deadline has passed is shown, too, until it is erased or cut.
class WindowDeadlines {
 public:
  WindowDeadlines() = default;
  WindowDeadlines(const Window& window, std::uint32_t family);

  bool seek(Time from);  // the first whose deadline is not before
  bool next();

  // The same for a merge, which need not know of each version whether its entry is there: place()
  // and step() go to the next version, is_there() looks.
  void place(Time from, std::string_view key);  // the first that is not before
  void step();
  bool is_there();

  bool valid() const { return least_ < runs_.size(); }
  Time deadline() const { return version().deadline; }
  std::string_view key() const { return version().key(); }
  const InTables& what() const { return what_; }  // of an entry that is there

 private:
  const Version& version() const { return *runs_[least_][runs_[least_].at]; }
  void choose();
  bool settle();

  Window window_;
  std::uint32_t family_ = 0;
  std::vector<RunPlace> runs_;
  std::size_t least_ = 0;  // the run with the next version
  InTables what_;
};

}  // namespace mayfly::internal
