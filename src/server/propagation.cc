// SPDX-License-Identifier: Apache-2.0
// Units of propagation.

#include "server/propagation.h"

#include <utility>

namespace mayfly {

void Propagation::add(int database, Propagated words) {
  if (is_wanted()) unit_.push_back({database, std::move(words)});
}

void Propagation::add(int database, Words words) {
  if (is_wanted()) unit_.push_back({database, Propagated(words.begin(), words.end())});
}

void Propagation::flush() {
  if (unit_.empty()) return;
  const std::vector<Item> unit = std::exchange(unit_, {});
  const bool wrapped = unit.size() > 1;
  if (wrapped) send(unit.front().database, {"MULTI"});
  for (const Item& item : unit) send(item.database, item.words);
  if (wrapped) send(unit.back().database, {"EXEC"});
}

void Propagation::send(int database, const Propagated& words) const {
  for (const Sink& sink : sinks_) sink(database, words);
}

}  // namespace mayfly
