// SPDX-License-Identifier: Apache-2.0
// Checks the pages of an LMDB file without LMDB, which trusts its file and crashes on damage.
//
//   const PageCheck check = check_pages(mapped_file, 0);
//   for (const std::string& problem : check.problems) show(problem);
//
// Whatever the bytes are, these functions end and read nothing outside of them. The file needs no
// lock if nobody writes to it. Otherwise ask for the snapshot of a read transaction that is open
// meanwhile: its pages do not change, but the second commit after it overwrites its meta page.
//
// Not judged: the contents of values, which have no checksum, and snapshots other than the one
// asked for. The format is in page_format.h.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mayfly/result.h"

namespace mayfly::internal {

inline constexpr std::size_t kPageProblemsMax = 20;

struct PageCheck {
  // Which page, what was expected and what is there. Empty: the file is sound. At most
  // kPageProblemsMax; a tree is not followed below a problem, and its counts are not compared.
  std::vector<std::string> problems;

  // Of the pages 0 to the last one of the snapshot; together these are all of them, if it is sound.
  std::uint64_t pages = 0;         // looked at: the meta pages and those of the trees
  std::uint64_t free_pages = 0;    // in the free list; the file may end before them
  std::uint64_t unreferenced = 0;  // neither; LMDB leaks some, and damage hides some
};

// Checks the snapshot `txnid`, which one of the two meta pages must have; 0 is the newest.
// Cost: O(file), one look at each page of a tree; memory for 2 bits a page and for the free list.
PageCheck check_pages(std::span<const std::byte> file, std::uint64_t txnid);

// Checks only what LMDB trusts when it opens the file and its tables: the two meta pages and the
// main tree. Cost: O(pages of the main tree), of which a store has few, and memory as above.
PageCheck check_main_tree(std::span<const std::byte> file);

struct MetaFacts {
  std::uint32_t page_bytes = 0;
  std::uint64_t txnid = 0;      // the newest
  std::uint64_t last_page = 0;  // of that snapshot; unused or free ones may be missing in the file
};

// What the newest valid meta page says. `first_two_pages` is the start of the file: 64 KiB of it
// are enough for any page size, and all there is if it is shorter. LMDB wants both meta pages to be
// valid; this is content with one. Fails with Code::unsupported if the file is of another version
// or layout of LMDB, and with Code::corrupt if neither meta page is valid.
Result<MetaFacts> read_meta(std::span<const std::byte> first_two_pages);

// Whether LMDB can open the file at all: it is empty, or it begins as a file of LMDB does, is as
// long as it says, and has a sound main tree, which names the tables. Damage further down is what
// Store::check() finds. Cost: a few pages; all pages, if the file seems cut off.
Status check_before_open(const std::string& path);

// check_pages() of the file, of the snapshot `txnid`.
Result<PageCheck> check_file(const std::string& path, std::uint64_t txnid);

}  // namespace mayfly::internal
