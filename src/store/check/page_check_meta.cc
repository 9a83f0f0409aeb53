// SPDX-License-Identifier: Apache-2.0
#include "store/check/page_check_meta.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>

#include "store/check/page_check.h"
#include "store/check/page_check_ledger.h"

namespace mayfly {
namespace {

bool is_page_size(std::uint32_t bytes) {
  return bytes >= kPageBytesMin && bytes <= kPageBytesMax && std::has_single_bit(bytes);
}

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

}  // namespace

const MetaRecord& MetaPages::newest() const {
  if (!valid[0]) return *valid[1];
  if (!valid[1]) return *valid[0];
  return valid[0]->txnid < valid[1]->txnid ? *valid[1] : *valid[0];
}

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

Result<MetaFacts> read_meta(std::span<const std::byte> first_two_pages) {
  const MetaPages metas = find_meta_pages(first_two_pages);
  if (metas.page_bytes == 0) return not_ours(first_two_pages, metas);
  const MetaRecord& newest = metas.newest();
  return MetaFacts{
      .page_bytes = metas.page_bytes, .txnid = newest.txnid, .last_page = newest.last_page};
}

}  // namespace mayfly
