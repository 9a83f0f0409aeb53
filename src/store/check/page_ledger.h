// SPDX-License-Identifier: Apache-2.0
// What a check of the pages has found so far: which tree uses which page, and the problems. Every
// page of a tree is claimed before it is read, which finds cycles, and bounds the work by the file.
// And the check of one tree: its pages, the order of its keys and the counts of its record.

#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/check/page_check.h"
#include "store/lmdb/page_format.h"

namespace mayfly::internal {

// A number that is shown in hexadecimal, as flags are.
struct Hex {
  std::uint64_t value;
};

// Bytes of the file that are shown between quotes: what is not printable as \xNN, cut when long.
struct Quoted {
  std::string_view bytes;
  char quote = '"';
};

void append_text(std::string& text, std::string_view part);
void append_text(std::string& text, std::uint64_t part);
void append_text(std::string& text, Hex part);
void append_text(std::string& text, Quoted part);

template <class... Parts>
std::string join_text(const Parts&... parts) {
  std::string text;
  (append_text(text, parts), ...);
  return text;
}

class PageLedger {
 public:
  // `file` must outlive the ledger. REQUIRES: page_bytes is a valid page size.
  PageLedger(Bytes file, std::uint32_t page_bytes, std::uint64_t last_page);

  std::uint32_t page_bytes() const { return page_bytes_; }

  // `count` pages as bytes. REQUIRES: they are claimed, or within the file.
  Bytes pages_at(std::uint64_t page, std::uint64_t count) const;

  // Notes that a tree uses these pages. Returns whether it may: they are in the file, at most
  // last_page, and nobody else's. Otherwise there is a problem more, which names `user`.
  bool claim(std::uint64_t page, std::uint64_t count, std::string_view user);

  // Notes that `page` is in the free list, in the record `txnid`. All claims come first.
  void release(std::uint64_t page, std::uint64_t txnid);

  // Adds a problem, unless there are enough.
  template <class... Parts>
  void problem(const Parts&... parts) {
    ++problem_count_;
    if (problems_.size() < kPageProblemsMax) problems_.push_back(join_text(parts...));
  }

  // All there were, listed or not.
  std::uint64_t problem_count() const { return problem_count_; }

  // The findings. The ledger is empty afterwards.
  PageCheck take();

 private:
  Bytes file_;
  std::uint32_t page_bytes_;
  std::uint64_t last_page_;
  std::vector<bool> used_;  // of the pages that the file has
  std::vector<bool> free_;
  std::vector<std::uint64_t> free_beyond_;  // the free pages that the file does not have
  std::uint64_t used_count_ = kMetaPages;
  std::uint64_t free_count_ = 0;  // of those in the file
  std::uint64_t problem_count_ = 0;
  std::vector<std::string> problems_;
};

// The free tree has integer keys, ordered by number; the others have keys ordered as bytes. Only
// the main tree may hold the records of other trees.
enum class TreeKind { free, main, named };

// An entry that the check has to look into: all of the free tree, and the trees in the main tree.
// Its views point into the file. `value` is as long as its node says, and within its pages.
struct TreeEntry {
  std::uint64_t page;  // of the leaf
  std::string_view key;
  Bytes value;
};

// Claims the pages of the tree `record` in the ledger and tells it what is wrong. `name` is for
// the messages. Returns the entries to look into that are sound themselves.
// Cost: O(its pages), with a stack of at most kTreeDepthMax frames.
std::vector<TreeEntry> check_tree(PageLedger& ledger, TreeKind kind, std::string_view name,
                                  const TreeRecord& record);

}  // namespace mayfly::internal
