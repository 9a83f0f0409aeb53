// SPDX-License-Identifier: Apache-2.0
// How a transaction gathers puts, and writes them together. See gathered_puts.h for why.

#include <algorithm>
#include <vector>

#include "store/txn/txn.h"

namespace mayfly {
namespace {

// A deadline that has to be filed, of a put in memory that is asked for some way ahead.
struct Filing {
  Time deadline;
  const GatheredPut* put;
};
constexpr std::size_t kAhead = 8;

void fetch_ahead(const std::vector<Filing>& filings, std::size_t i) {
  if (i + 2 * kAhead < filings.size()) __builtin_prefetch(filings[i + 2 * kAhead].put);
  if (i + kAhead < filings.size()) __builtin_prefetch(filings[i + kAhead].put->key.data());
}

}  // namespace

bool Txn::gather(const GatheredPut& put) {
  const std::uint64_t pages = pages_of(put.key.size() + put.value.size());
  const bool has_room = charged_ + pages + owner_.environment.reserved_pages() <= room_;
  // One put alone goes the short way, and has found out how much room there is.
  const bool may_gather = gathers_ && put.view->has_put && has_room;
  if (may_gather && gathered_ == nullptr) gathered_ = std::make_unique<GatheredPuts>();
  if (!may_gather || !gathered_->takes(put.key, put.value)) {
    write_gathered();
    return false;
  }
  gathered_->add(put);
  charged_ += pages;
  count_put(put.key.size() + put.value.size());
  return true;
}

void Txn::write_gathered() {
  if (gathered_ == nullptr || gathered_->empty()) return;
  const int code = failed() ? 0 : write_in_order();
  gathered_->clear();
  if (code != 0) fail(code, "put keys");
}

// The rows in the order of the keys, then the deadlines in the order of time, so that both tables
// are walked through once.
int Txn::write_in_order() {
  std::vector<Filing> filings;
  int code = gathered_->visit([&](const GatheredPut& put) {
    Time old = kNever;
    const StoredKey key(put.key, catalog().hash_seed());
    const int failure = replace(*put.view, key, put.value, put.deadline, old);
    if (put.deadline != kNever && put.deadline != old) filings.push_back({put.deadline, &put});
    return failure;
  });
  std::ranges::stable_sort(filings, {}, &Filing::deadline);
  for (std::size_t i = 0; code == 0 && i < filings.size(); ++i) {
    fetch_ahead(filings, i);
    const GatheredPut& put = *filings[i].put;
    const StoredKey key(put.key, catalog().hash_seed());
    code = file_deadline(*put.view, key.bytes(), put.deadline);
  }
  return code;
}

}  // namespace mayfly
