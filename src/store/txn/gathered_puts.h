// SPDX-License-Identifier: Apache-2.0
// GatheredPuts: what a transaction has put but not written to the tables yet. Written in the order
// of the keys, neighbours go to the same page one after the other, and that page is looked for,
// copied and split once; a hundred thousand random keys go in four times as fast.
//
//   puts.add({&view, "b", "1"});
//   puts.add({&view, "a", "2"});
//   puts.visit([](const GatheredPut& put) { ... return Done{}; });   // a, then b
//   puts.clear();

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "mayfly/result.h"
#include "mayfly/time.h"

namespace mayfly::internal {

struct FamilyView;

struct GatheredPut {
  FamilyView* view;
  std::string_view key;
  std::string_view value;
  Time deadline = kNever;
};

class GatheredPuts {
 public:
  // So much memory may be taken, about.
  static constexpr std::size_t kBytesMax = std::size_t{32} << 20;

  bool empty() const { return puts_.empty(); }

  // Whether one more may be added. A value that fills pages of its own is not worth copying.
  bool takes(std::string_view key, std::string_view value) const {
    const std::size_t bytes = key.size() + value.size();
    return bytes <= kPutMax && bytes_ + bytes + kOverhead <= kBytesMax;
  }

  // Copies the key and the value. REQUIRES: takes().
  void add(const GatheredPut& put);

  // Calls `visit` with each, family by family and in the order of the keys; of several with one
  // key only with the last that was added. Stops at the first failure of `visit`, and returns it.
  template <class Visit>
  Status visit(Visit visit) {
    sort();
    for (std::size_t i = 0; i < places_.size(); ++i) {
      fetch_ahead(i);
      if (i + 1 < places_.size() && is_replaced(i)) continue;
      if (Status visited = visit(puts_[places_[i].index]); !visited) return visited;
    }
    return Done{};
  }

  // Forgets them all, and keeps some memory for the next.
  void clear();

  // Whether what it says of itself agrees with what it holds. For tests.
  bool check_invariants() const;

 private:
  static constexpr std::size_t kPutMax = 2048;
  static constexpr std::size_t kChunkBytes = std::size_t{64} << 10;

  // Numbers are compared first, the 8 bytes after what all keys begin with: whole keys are all over
  // memory.
  struct Place {
    FamilyView* view;
    std::uint64_t head;
    std::size_t index;
  };

  static constexpr std::size_t kOverhead = sizeof(GatheredPut) + sizeof(Place);

  std::string_view keep(std::string_view bytes);
  void sort();
  std::size_t common_bytes() const;
  bool is_before(const Place& a, const Place& b) const;
  void fetch_ahead(std::size_t i) const;

  // Whether the next one has the same key.
  bool is_replaced(std::size_t i) const {
    const Place& place = places_[i];
    const Place& next = places_[i + 1];
    return place.view == next.view && place.head == next.head &&
           puts_[place.index].key == puts_[next.index].key;
  }

  std::vector<GatheredPut> puts_;                // in the order in which they came
  std::vector<std::unique_ptr<char[]>> chunks_;  // the bytes that they name
  std::size_t room_ = 0;                         // what is left at the end of the last chunk
  std::size_t bytes_ = 0;                        // of memory, without what is left over
  std::vector<Place> places_;
};

}  // namespace mayfly::internal
