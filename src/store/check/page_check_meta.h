// SPDX-License-Identifier: Apache-2.0
// Finds the two meta pages of an LMDB file, even if one of them is damaged.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "store/lmdb/page_format.h"

namespace mayfly {

struct MetaPages {
  std::uint32_t page_bytes = 0;  // 0: neither is valid
  std::array<std::optional<MetaRecord>, kMetaPages> valid;
  std::array<std::string, kMetaPages> problems;  // of those that are not

  // REQUIRES: page_bytes != 0. The one that LMDB would choose.
  const MetaRecord& newest() const;
};

// A meta page is valid if its number, flags, magic number, version and page size are. The second
// one lies where its own page size says; so it is found, and believed, without the first.
MetaPages find_meta_pages(Bytes file);

}  // namespace mayfly
