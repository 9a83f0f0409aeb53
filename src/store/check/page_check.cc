// SPDX-License-Identifier: Apache-2.0
#include "store/check/page_check.h"

#include <cassert>
#include <optional>
#include <string_view>

#include "store/check/page_check_ledger.h"
#include "store/check/page_check_meta.h"
#include "store/check/page_check_tree.h"
#include "store/lmdb/page_format.h"

namespace mayfly {
namespace {

// What the meta page at `number` says, apart from its trees.
void check_meta(PageLedger& ledger, const MetaRecord& meta, std::uint64_t number) {
  if (meta.txnid != 0 && meta.txnid % kMetaPages != number) {
    ledger.problem("meta page ", number, ": expected an ", number == 0 ? "even" : "odd",
                   " transaction, found ", meta.txnid);
  }
  if (meta.last_page < kMetaPages - 1) {
    ledger.problem("meta page ", number, ": expected a last page of at least ", kMetaPages - 1,
                   ", found ", meta.last_page);
  }
  if (meta.last_page >= meta.map_bytes / ledger.page_bytes()) {
    ledger.problem("meta page ", number, ": expected a last page within the map of ",
                   meta.map_bytes, " bytes, found ", meta.last_page);
  }
}

// One record of the free tree: which pages the transaction `key` gave up. LMDB reserves room for
// more than it then needs, so that the value may be longer than its count says.
void check_free_record(PageLedger& ledger, const TreeEntry& entry, std::uint64_t newest) {
  assert(entry.key.size() == sizeof(std::uint64_t));
  std::uint64_t txnid = 0;
  std::memcpy(&txnid, entry.key.data(), sizeof txnid);
  if (txnid == 0 || txnid > newest) {
    ledger.problem("page ", entry.page, " of the free tree: expected a transaction from 1 to ",
                   newest, ", found ", txnid);
  }
  const std::size_t words = entry.value.size() / sizeof(std::uint64_t);
  if (words == 0 || entry.value.size() % sizeof(std::uint64_t) != 0) {
    ledger.problem("free list of transaction ", txnid,
                   ": expected a count and numbers of 8 bytes, ", "found ", entry.value.size(),
                   " bytes");
    return;
  }
  const auto count = load<std::uint64_t>(entry.value, 0);
  if (count > words - 1) {
    ledger.problem("free list of transaction ", txnid, ": expected at most the ", words - 1,
                   " pages it has room for, found ", count);
    return;
  }
  std::uint64_t above = UINT64_MAX;
  bool descending = true;
  for (std::size_t i = 1; i <= count; ++i) {
    const auto page = load<std::uint64_t>(entry.value, i * sizeof(std::uint64_t));
    if (descending && page >= above) {
      ledger.problem("free list of transaction ", txnid, ": expected pages below ", above,
                     ", as they descend; found ", page);
      descending = false;
    }
    above = page;
    ledger.release(page, txnid);
  }
}

void check_snapshot(PageLedger& ledger, const MetaRecord& meta) {
  const auto records = check_tree(ledger, TreeKind::free, "the free tree", meta.free_tree);
  const auto named = check_tree(ledger, TreeKind::main, "the main tree", meta.main_tree);
  for (const TreeEntry& entry : named) {
    const std::string name = join_text("the tree ", Quoted{entry.key});
    check_tree(ledger, TreeKind::named, name, read_tree_record(entry.value, 0));
  }
  for (const TreeEntry& entry : records) check_free_record(ledger, entry, meta.txnid);
}

// Which meta page has the snapshot `txnid`; 0 is the newest.
std::optional<std::uint64_t> choose_meta(const MetaPages& metas, std::uint64_t txnid) {
  const std::uint64_t wanted = txnid != 0 ? txnid : metas.newest().txnid;
  for (std::uint64_t number = 0; number < kMetaPages; ++number) {
    if (metas.valid[number] && metas.valid[number]->txnid == wanted) return number;
  }
  return {};
}

// LMDB checks less of a meta page than we do, and takes the one with the greater number.
void report_invalid_metas(PageLedger& ledger, const MetaPages& metas) {
  for (const std::string& problem : metas.problems) {
    if (!problem.empty()) ledger.problem(problem);
  }
}

}  // namespace

PageCheck check_main_tree(std::span<const std::byte> file) {
  const MetaPages metas = find_meta_pages(file);
  if (metas.page_bytes == 0) return {.problems = {metas.problems[0], metas.problems[1]}};
  const MetaRecord& meta = metas.newest();
  PageLedger ledger(file, metas.page_bytes, meta.last_page);
  report_invalid_metas(ledger, metas);
  for (std::uint64_t number = 0; number < kMetaPages; ++number) {
    if (metas.valid[number]) check_meta(ledger, *metas.valid[number], number);
  }
  if (meta.txnid == 0 && (meta.main_tree.root != kNoPage || meta.free_tree.root != kNoPage)) {
    ledger.problem("meta pages: expected empty trees before the first transaction, found some");
  }
  check_tree(ledger, TreeKind::main, "the main tree", meta.main_tree);
  return ledger.take();
}

PageCheck check_pages(std::span<const std::byte> file, std::uint64_t txnid) {
  const MetaPages metas = find_meta_pages(file);
  if (metas.page_bytes == 0) {
    return {.problems = {metas.problems[0], metas.problems[1]}};
  }
  const auto number = choose_meta(metas, txnid);
  if (!number) {
    std::string problem = join_text("meta pages: expected transaction ", txnid, ", found");
    for (const auto& meta : metas.valid) {
      append_text(problem, meta ? join_text(" ", meta->txnid) : " a page that is not valid");
    }
    return {.problems = {problem}};
  }
  const MetaRecord& meta = *metas.valid[*number];
  PageLedger ledger(file, metas.page_bytes, meta.last_page);
  report_invalid_metas(ledger, metas);
  check_meta(ledger, meta, *number);
  check_snapshot(ledger, meta);
  return ledger.take();
}

}  // namespace mayfly
