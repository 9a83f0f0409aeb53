// SPDX-License-Identifier: Apache-2.0
#include "store/check/page_check.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <optional>
#include <string>
#include <string_view>

#include "store/check/page_ledger.h"
#include "store/lmdb/page_format.h"

namespace mayfly::internal {
namespace {

// The two meta pages of a file, even if one of them is damaged.
struct MetaPages {
  std::uint32_t page_bytes = 0;  // 0: neither is valid
  std::array<std::optional<MetaRecord>, kMetaPages> valid;
  std::array<std::string, kMetaPages> problems;  // of those that are not

  // REQUIRES: page_bytes != 0. The one that LMDB would choose.
  const MetaRecord& newest() const {
    if (!valid[0]) return *valid[1];
    if (!valid[1]) return *valid[0];
    return valid[0]->txnid < valid[1]->txnid ? *valid[1] : *valid[0];
  }
};

// What is wrong with meta page `number`, which begins with `page`; nothing if it is valid.
std::string meta_problem(Bytes page, std::uint64_t number) {
  const std::string expected = join_text("meta page ", number, ": expected ");
  if (page.size() < kMetaBytes) {
    return join_text(expected, kMetaBytes, " bytes, found ", page.size());
  }
  const MetaRecord meta = read_meta_record(page);
  const PageHeader header = read_page_header(page);
  if (meta.magic != kLmdbMagic) {
    return join_text(expected, "the magic number ", Hex{kLmdbMagic}, ", found ", Hex{meta.magic});
  }
  if (meta.version != kLmdbVersion) {
    return join_text(expected, "version ", std::uint64_t{kLmdbVersion}, ", found ",
                     std::uint64_t{meta.version});
  }
  if (header.flags != kMetaPage) {
    return join_text(expected, "the flags ", Hex{kMetaPage}, ", found ", Hex{header.flags});
  }
  if (header.number != number) {
    return join_text(expected, "its own number, found ", header.number);
  }
  if (!is_page_size(meta.page_bytes())) {
    return join_text(expected, "a power of two from ", std::uint64_t{kPageBytesMin}, " to ",
                     std::uint64_t{kPageBytesMax}, " as page size, found ",
                     std::uint64_t{meta.page_bytes()});
  }
  return {};
}

Bytes from(Bytes file, std::size_t offset) { return file.subspan(std::min(offset, file.size())); }

std::optional<MetaRecord> second_meta_at(Bytes file, std::uint32_t page_bytes) {
  const Bytes page = from(file, page_bytes);
  if (!meta_problem(page, 1).empty()) return {};
  const MetaRecord meta = read_meta_record(page);
  if (meta.page_bytes() != page_bytes) return {};
  return meta;
}

// The second meta page, preferably where the first one says.
std::optional<MetaRecord> find_second_meta(Bytes file, std::uint32_t page_bytes) {
  std::optional<MetaRecord> found;
  if (page_bytes != 0) found = second_meta_at(file, page_bytes);
  for (std::uint32_t size = kPageBytesMin; !found && size <= kPageBytesMax; size *= 2) {
    found = second_meta_at(file, size);
  }
  return found;
}

// A meta page is valid if its number, flags, magic number, version and page size are. The second
// one lies where its own page size says; so it is found, and believed, without the first.
MetaPages find_meta_pages(Bytes file) {
  MetaPages metas;
  metas.problems[0] = meta_problem(file, 0);
  if (metas.problems[0].empty()) {
    metas.valid[0] = read_meta_record(file);
    metas.page_bytes = metas.valid[0]->page_bytes();
  }
  metas.valid[1] = find_second_meta(file, metas.page_bytes);
  if (!metas.valid[1]) {
    if (metas.page_bytes == 0) {
      metas.problems[1] = "meta page 1: expected after a page of 512 to 32768 bytes, found none";
      return metas;
    }
    const Bytes page = from(file, metas.page_bytes);
    metas.problems[1] = meta_problem(page, 1);
    if (metas.problems[1].empty()) {  // all is well but for its page size
      metas.problems[1] =
          join_text("meta page 1: expected the page size ", std::uint64_t{metas.page_bytes},
                    " of meta page 0, found ", std::uint64_t{read_meta_record(page).page_bytes()});
    }
    return metas;
  }
  const std::uint32_t page_bytes = metas.valid[1]->page_bytes();
  if (metas.valid[0] && metas.page_bytes != page_bytes) {
    metas.problems[0] =
        join_text("meta page 0: expected the page size ", std::uint64_t{page_bytes},
                  " at which meta page 1 is, found ", std::uint64_t{metas.page_bytes});
    metas.valid[0].reset();
  }
  metas.page_bytes = page_bytes;
  return metas;
}

// Why a file without a valid meta page is not one of ours.
Error not_ours(Bytes file, const MetaPages& metas) {
  if (file.size() < kMetaBytes) {
    return {Code::corrupt, join_text("not an LMDB file: expected at least ", kMetaBytes,
                                     " bytes, found ", file.size())};
  }
  const auto magic_at = [file](std::size_t offset) { return load<std::uint32_t>(file, offset); };
  const MetaRecord meta = read_meta_record(file);
  if (meta.magic == kLmdbMagic && meta.version != kLmdbVersion) {
    return {Code::unsupported,
            join_text("an LMDB file of data version ", std::uint64_t{meta.version},
                      "; only version ", std::uint64_t{kLmdbVersion}, " (LMDB 0.9) is supported")};
  }
  if (meta.magic == __builtin_bswap32(kLmdbMagic)) {
    return {Code::unsupported, "an LMDB file of a big-endian machine; ours are little-endian"};
  }
  if (magic_at(12) == kLmdbMagic) {
    return {Code::unsupported, "an LMDB file of a 32-bit machine; ours are of 64 bits"};
  }
  if (magic_at(24) == kLmdbMagic) {
    return {Code::unsupported,
            "an LMDB file with the longer page header of LMDB 1.0; only LMDB 0.9 "
            "is supported"};
  }
  if (meta.magic == kLmdbMagic) return {Code::corrupt, metas.problems[0]};
  return {Code::corrupt, join_text("not an LMDB file: expected the magic number ", Hex{kLmdbMagic},
                                   " at byte 16, found ", Hex{meta.magic}, "; it begins with ",
                                   Quoted{text_at(file, 0, kPageHeaderBytes)})};
}

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

// One record of the free tree: which pages the transaction `key` gave up.
void check_free_record(PageLedger& ledger, const TreeEntry& entry, std::uint64_t newest) {
  assert(entry.key.size() == sizeof(std::uint64_t));
  std::uint64_t txnid = 0;
  std::memcpy(&txnid, entry.key.data(), sizeof txnid);
  if (txnid == 0 || txnid > newest) {
    ledger.problem("page ", entry.page, " of the free tree: expected a transaction from 1 to ",
                   newest, ", found ", txnid);
  }
  const FreeList list(entry.value);
  if (!list.is_whole()) {
    ledger.problem("free list of transaction ", txnid,
                   ": expected a count and numbers of 8 bytes, ", "found ", entry.value.size(),
                   " bytes");
    return;
  }
  if (!list.is_sound()) {
    ledger.problem("free list of transaction ", txnid, ": expected at most the ", list.room(),
                   " pages it has room for, found ", list.count());
    return;
  }
  std::uint64_t above = UINT64_MAX;
  bool descending = true;
  for (std::size_t i = 0; i < list.count(); ++i) {
    const std::uint64_t page = list[i];
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

Result<MetaFacts> read_meta(std::span<const std::byte> first_two_pages) {
  const MetaPages metas = find_meta_pages(first_two_pages);
  if (metas.page_bytes == 0) return not_ours(first_two_pages, metas);
  const MetaRecord& newest = metas.newest();
  return MetaFacts{
      .page_bytes = metas.page_bytes, .txnid = newest.txnid, .last_page = newest.last_page};
}

}  // namespace mayfly::internal
