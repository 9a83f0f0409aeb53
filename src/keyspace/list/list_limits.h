// SPDX-License-Identifier: Apache-2.0
// ListLimits: how large a chunk of a list may be, list-max-listpack-size. A list that is packed
// into the node of its key has the same limit.
//
// The number of elements and the bytes are counted as Valkey does, so that OBJECT ENCODING replies
// the same: the bytes are those of a whole listpack, with its header and its end.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "keyspace/listpack/listpack_entry.h"

namespace mayfly {

struct ListLimits {
  // Negative: -1 to -5 are 4, 8, 16, 32 and 64 KiB. Positive: so many elements, and at most 8 KiB.
  int fill = -2;

  std::size_t bytes() const {  // of a chunk with more than one element
    return fill >= 0 ? 8192
                     : std::size_t{2048} << std::min(-static_cast<std::int64_t>(fill), kMost);
  }
  std::size_t elements() const {  // SIZE_MAX if not limited
    return fill >= 0 ? static_cast<std::size_t>(std::max(fill, 1)) : SIZE_MAX;
  }

  // Whether so many bytes and elements are too many for one chunk.
  bool is_exceeded(std::size_t listpack_bytes, std::size_t count) const {
    return listpack_bytes > bytes() || count > elements();
  }

  // Whether an element of this size needs a chunk of its own.
  bool is_large(std::size_t text_size) const { return text_size > bytes(); }

  // Whether a list that has shrunk to this is packed into the node of its key. That is half of the
  // limit, so that it does not change its form all the time. Only negative limits concern bytes.
  bool is_small(std::size_t listpack_bytes, std::size_t count) const {
    return fill >= 0 ? count <= elements() / 2 : listpack_bytes <= bytes() / 2;
  }

 private:
  static constexpr std::int64_t kMost = 5;
};

}  // namespace mayfly
