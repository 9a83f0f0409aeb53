// SPDX-License-Identifier: Apache-2.0
// The layout of an LMDB 0.9 data file (data version 1, little-endian, 64-bit), as readers of plain
// bytes. Nothing here needs LMDB or aligned memory. A reader asserts its bounds, so that its caller
// checks them first. page_check_test.cc compares it with what LMDB writes.
//
//   file:    page 0 (meta), page 1 (meta), pages 2.. of the trees, free or never used
//   page:    | header, 16 bytes | node offsets, 2 bytes each -> lower | gap | upper -> nodes |
//   header:  number u64, pad u16, flags u16, lower u16, upper u16 (overflow: count u32 for both)
//   node:    low u16, high u16, flags u16, key size u16, key, value; of an even number of bytes
//   branch:  the child's page number is low | high << 16 | flags << 32; the first key is not used
//   leaf:    the value has low | high << 16 bytes; if large, it is elsewhere and the node has the
//            number (u64) of the first of its overflow pages, of which only that has a header
//
//   meta:    header, magic u32, version u32, address u64, map size u64, free tree, main tree (48
//            bytes each), last page u64, transaction u64
//
// Transaction t writes meta page t & 1; the one with the greater number counts. Each meta page has
// the roots of two trees. The main tree holds the records of the named trees; the free tree maps a
// transaction to the pages it gave up: a count, then the numbers, descending.

#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace mayfly::internal {

static_assert(std::endian::native == std::endian::little, "the file has the machine's byte order");

using Bytes = std::span<const std::byte>;

inline constexpr std::uint32_t kLmdbMagic = 0xBEEFC0DE;
inline constexpr std::uint32_t kLmdbVersion = 1;
inline constexpr std::uint64_t kNoPage = UINT64_MAX;  // the root of an empty tree
inline constexpr std::uint64_t kMetaPages = 2;
inline constexpr std::uint32_t kPageBytesMin = 512;
inline constexpr std::uint32_t kPageBytesMax = 32768;  // offsets are u16
inline constexpr std::uint16_t kTreeDepthMax = 32;
inline constexpr std::size_t kKeyBytesMax = 511;

inline constexpr std::size_t kPageHeaderBytes = 16;
inline constexpr std::size_t kNodeHeaderBytes = 8;
inline constexpr std::size_t kTreeRecordBytes = 48;
inline constexpr std::size_t kMetaBytes = kPageHeaderBytes + 136;  // of the page, used

// Flags of a page: it has exactly one of these.
inline constexpr std::uint16_t kBranchPage = 0x01;
inline constexpr std::uint16_t kLeafPage = 0x02;
inline constexpr std::uint16_t kOverflowPage = 0x04;
inline constexpr std::uint16_t kMetaPage = 0x08;

// Flags of a node in a leaf.
inline constexpr std::uint16_t kLargeValue = 0x01;      // F_BIGDATA: in overflow pages
inline constexpr std::uint16_t kTreeValue = 0x02;       // F_SUBDATA: the record of a tree
inline constexpr std::uint16_t kDuplicateValue = 0x04;  // F_DUPDATA: several values; not used by us

// Flags of a tree. Those of the free tree are shared with the environment's.
inline constexpr std::uint16_t kIntegerKeys = 0x08;
inline constexpr std::uint16_t kFixedMap = 0x01;
inline constexpr std::uint16_t kNoSubdirectory = 0x4000;

// REQUIRES: offset + sizeof(T) <= bytes.size().
template <class T>
T load(Bytes bytes, std::size_t offset) {
  assert(offset <= bytes.size() && sizeof(T) <= bytes.size() - offset);
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

// REQUIRES: offset + size <= bytes.size().
inline std::string_view text_at(Bytes bytes, std::size_t offset, std::size_t size) {
  const Bytes part = bytes.subspan(offset, size);
  return {reinterpret_cast<const char*>(part.data()), part.size()};
}

struct PageHeader {
  std::uint64_t number;
  std::uint16_t flags;
  std::uint16_t lower;           // the end of the offsets
  std::uint16_t upper;           // the start of the nodes
  std::uint32_t overflow_pages;  // instead of these two, if it is an overflow page
};

// REQUIRES: kPageHeaderBytes.
inline PageHeader read_page_header(Bytes page) {
  return {.number = load<std::uint64_t>(page, 0),
          .flags = load<std::uint16_t>(page, 10),
          .lower = load<std::uint16_t>(page, 12),
          .upper = load<std::uint16_t>(page, 14),
          .overflow_pages = load<std::uint32_t>(page, 12)};
}

struct NodeHeader {
  std::uint32_t value_bytes;  // in a leaf
  std::uint16_t flags;        // in a leaf
  std::uint16_t key_bytes;
  std::uint64_t child;  // in a branch
};

// REQUIRES: kNodeHeaderBytes at `offset`.
inline NodeHeader read_node_header(Bytes page, std::size_t offset) {
  const auto low = load<std::uint32_t>(page, offset);
  const auto flags = load<std::uint16_t>(page, offset + 4);
  return {.value_bytes = low,
          .flags = flags,
          .key_bytes = load<std::uint16_t>(page, offset + 6),
          .child = low | std::uint64_t{flags} << 32};
}

// The root of a tree and its statistics (MDB_db).
struct TreeRecord {
  std::uint32_t pad;  // of the free tree: the page size of the file
  std::uint16_t flags;
  std::uint16_t depth;  // 0: empty; 1: the root is a leaf
  std::uint64_t branch_pages;
  std::uint64_t leaf_pages;
  std::uint64_t overflow_pages;
  std::uint64_t entries;
  std::uint64_t root;
};

// REQUIRES: kTreeRecordBytes at `offset`.
inline TreeRecord read_tree_record(Bytes bytes, std::size_t offset) {
  return {.pad = load<std::uint32_t>(bytes, offset),
          .flags = load<std::uint16_t>(bytes, offset + 4),
          .depth = load<std::uint16_t>(bytes, offset + 6),
          .branch_pages = load<std::uint64_t>(bytes, offset + 8),
          .leaf_pages = load<std::uint64_t>(bytes, offset + 16),
          .overflow_pages = load<std::uint64_t>(bytes, offset + 24),
          .entries = load<std::uint64_t>(bytes, offset + 32),
          .root = load<std::uint64_t>(bytes, offset + 40)};
}

struct MetaRecord {
  std::uint32_t magic;
  std::uint32_t version;
  std::uint64_t map_bytes;
  TreeRecord free_tree;
  TreeRecord main_tree;
  std::uint64_t last_page;
  std::uint64_t txnid;

  std::uint32_t page_bytes() const { return free_tree.pad; }
};

// REQUIRES: kMetaBytes.
inline MetaRecord read_meta_record(Bytes page) {
  const Bytes meta = page.subspan(kPageHeaderBytes);
  return {.magic = load<std::uint32_t>(meta, 0),
          .version = load<std::uint32_t>(meta, 4),
          .map_bytes = load<std::uint64_t>(meta, 16),
          .free_tree = read_tree_record(meta, 24),
          .main_tree = read_tree_record(meta, 72),
          .last_page = load<std::uint64_t>(meta, 120),
          .txnid = load<std::uint64_t>(meta, 128)};
}

inline bool is_page_size(std::uint32_t bytes) {
  return bytes >= kPageBytesMin && bytes <= kPageBytesMax && std::has_single_bit(bytes);
}

// A copy of the used part of a meta page, to be kept, and changed where it is put back.
struct LmdbMeta {
  std::array<std::byte, kMetaBytes> bytes{};

  MetaRecord record() const { return read_meta_record(bytes); }
  bool is_valid() const {
    const MetaRecord meta = record();
    return meta.magic == kLmdbMagic && meta.version == kLmdbVersion &&
           is_page_size(meta.page_bytes());
  }
  std::uint32_t page_size() const { return record().page_bytes(); }
  std::uint64_t last_page() const { return record().last_page; }
  std::uint64_t transaction() const { return record().txnid; }

  void set_page_number(std::uint64_t number) { std::memcpy(bytes.data(), &number, sizeof number); }
  void set_transaction(std::uint64_t id) { std::memcpy(bytes.data() + 144, &id, sizeof id); }
};

// A record of the free tree: a count, and so many page numbers. LMDB may reserve more room than it
// needs, so that the value may be longer.
class FreeList {
 public:
  explicit FreeList(Bytes value) : value_(value) {}

  // Whether the value has whole words, and as many as its count says.
  bool is_sound() const { return is_whole() && count() <= room(); }
  bool is_whole() const { return !value_.empty() && value_.size() % kWord == 0; }
  std::size_t room() const { return value_.size() / kWord - 1; }          // REQUIRES: is_whole()
  std::uint64_t count() const { return load<std::uint64_t>(value_, 0); }  // REQUIRES: is_whole()
  std::uint64_t operator[](std::size_t i) const {                         // REQUIRES: is_sound()
    return load<std::uint64_t>(value_, (i + 1) * kWord);
  }

 private:
  static constexpr std::size_t kWord = sizeof(std::uint64_t);
  Bytes value_;
};

// How many pages a large value takes, the header of the first included.
inline std::uint64_t overflow_pages_for(std::uint64_t value_bytes, std::uint32_t page_bytes) {
  return (kPageHeaderBytes - 1 + value_bytes) / page_bytes + 1;
}

}  // namespace mayfly::internal
