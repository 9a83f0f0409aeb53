// SPDX-License-Identifier: Apache-2.0
#include "mayfly/sampler.h"

#include <algorithm>

namespace mayfly {

Sampler::Sampler(SamplerOptions options) : options_(options), random_(options.seed) {
  options_.sample = std::max<std::size_t>(options_.sample, 1);
  options_.cycles_per_second = std::max(options_.cycles_per_second, 1u);
}

void Sampler::schedule(Slot slot, Time deadline) {
  if (deadline == kNever) {
    cancel(slot);
    return;
  }
  slots_.reserve(std::size_t{slot} + 1);
  if (slots_[slot].deadline != kNever) {
    slots_.at(slot).deadline = deadline;
    return;
  }
  slots_.claim(slot) = {deadline, static_cast<std::uint32_t>(members_.size())};
  members_.push_back(slot);
}

bool Sampler::cancel(Slot slot) {
  if (slot >= slots_.extent() || slots_[slot].deadline == kNever) return false;
  remove(slot);
  return true;
}

std::size_t Sampler::take_due(Time now, std::size_t limit, std::vector<Due>& out) {
  std::size_t taken = 0;
  bool again = true;
  while (again && taken < limit && !members_.empty()) {
    std::size_t tried = 0;
    std::size_t due = 0;
    for (; tried < options_.sample && taken < limit && !members_.empty(); ++tried) {
      const Slot slot = members_[random_.below(members_.size())];
      const Time deadline = slots_[slot].deadline;
      if (!is_due(deadline, now)) continue;
      remove(slot);
      out.push_back({slot, deadline});
      ++taken;
      ++due;
    }
    again = due * 100 > tried * options_.repeat_percent;
  }
  // Cut short by the limit in the middle of a good run: there is more to do at once.
  const bool unfinished = again && taken == limit;
  next_cycle_ = unfinished ? now : deadline_after(now, Millis(1000 / options_.cycles_per_second));
  return taken;
}

std::size_t Sampler::count_due(Time now) const {
  return static_cast<std::size_t>(std::count_if(members_.begin(), members_.end(), [&](Slot slot) {
    return is_due(slots_[slot].deadline, now);
  }));
}

void Sampler::remove(Slot slot) {
  const std::uint32_t hole = slots_[slot].position;
  const Slot last = members_.back();
  members_[hole] = last;
  slots_.at(last).position = hole;
  members_.pop_back();
  slots_.drop(slot);
}

std::string Sampler::check_invariants() const {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Cell& place = slots_[members_[i]];
    if (place.position != i) return "a slot does not know its place";
    if (place.deadline == kNever) return "a member has no deadline";
  }
  return "";
}

}  // namespace mayfly
