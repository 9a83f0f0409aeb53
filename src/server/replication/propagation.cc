// SPDX-License-Identifier: Apache-2.0
// Units of propagation.

#include "server/replication/propagation.h"

#include <algorithm>

#include "resp/encode.h"

namespace mayfly {
namespace {

constexpr std::string_view kMulti = "*1\r\n$5\r\nMULTI\r\n";
constexpr std::string_view kExec = "*1\r\n$4\r\nEXEC\r\n";
constexpr std::size_t kUnitBytesKept = 64 * 1024;  // of the buffer, after a unit that was large

}  // namespace

void Propagation::add_sink(PropagationSink& sink) {
  if (std::ranges::find(sinks_, &sink) == sinks_.end()) sinks_.push_back(&sink);
}

void Propagation::remove_sink(PropagationSink& sink) { std::erase(sinks_, &sink); }

template <class Texts>
void Propagation::encode(int database, const Texts& words) {
  if (!is_wanted()) return;
  append_request(bytes_, words);
  unit_.push_back({database, targets_, bytes_.size()});
}

void Propagation::add(int database, const Propagated& words) { encode(database, words); }

void Propagation::add(int database, Words words) { encode(database, words); }

void Propagation::flush(bool as_one) {
  if (unit_.empty()) return;
  const bool wrapped = as_one && unit_.size() > 1;
  static constexpr Item kWrapping{kAnyDatabase, propagate_to::all, 0};
  if (wrapped) send(kWrapping, kMulti);
  std::size_t begin = 0;
  for (const Item& item : unit_) {
    send(item, std::string_view(bytes_).substr(begin, item.end - begin));
    begin = item.end;
  }
  if (wrapped) send(kWrapping, kExec);
  discard();
}

void Propagation::discard() {
  unit_.clear();
  bytes_.clear();
  if (bytes_.capacity() > kUnitBytesKept) bytes_.shrink_to_fit();
}

void Propagation::send(const Item& item, std::string_view command) const {
  for (PropagationSink* const sink : sinks_) {
    if ((sink->target() & item.targets) != 0) sink->take(item.database, command);
  }
}

}  // namespace mayfly
