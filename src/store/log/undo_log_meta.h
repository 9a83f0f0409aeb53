// SPDX-License-Identifier: Apache-2.0
// LmdbMeta: the beginning of a meta page, as LMDB 0.9 lays it out on a machine of 64 bits.
//
//   0   page header         16   page number, flags
//   16  magic, version       8   0xBEEFC0DE, 1
//   24  address, map size   16
//   40  the free table      48   its first 4 bytes are the page size
//   88  the main table      48
//   136 last page            8   the greatest page number in use
//   144 transaction          8   the one that wrote this page
//
// A store has two, its pages 0 and 1: transaction t writes number t & 1, and the greater t counts.

#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace mayfly {

static_assert(sizeof(void*) == 8 && std::endian::native == std::endian::little,
              "the layout below is that of 64-bit little-endian machines");

struct LmdbMeta {
  static constexpr std::size_t kBytes = 152;
  static constexpr std::uint32_t kMagic = 0xBEEFC0DE;
  static constexpr std::uint32_t kVersion = 1;

  std::array<std::byte, kBytes> bytes{};

  bool is_valid() const {
    const std::uint32_t size = page_size();
    return get<std::uint32_t>(16) == kMagic && get<std::uint32_t>(20) == kVersion && size >= 512 &&
           size <= 65536 && std::has_single_bit(size);
  }
  std::uint32_t page_size() const { return get<std::uint32_t>(40); }
  std::uint64_t last_page() const { return get<std::uint64_t>(136); }
  std::uint64_t transaction() const { return get<std::uint64_t>(144); }

  void set_page_number(std::uint64_t number) { std::memcpy(bytes.data(), &number, sizeof number); }
  void set_transaction(std::uint64_t id) { std::memcpy(bytes.data() + 144, &id, sizeof id); }

 private:
  template <class T>
  T get(std::size_t offset) const {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
  }
};

}  // namespace mayfly
