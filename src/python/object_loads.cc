// SPDX-License-Identifier: Apache-2.0
// ObjectCache: what get_or_load() needs. Python code runs the loader and lets others wait; here is
// what of it may be put.

#include "python/binding.h"
#include "python/object_cache.h"

namespace mayfly::internal {

std::uint64_t ObjectCache::begin_load(py::handle key, const Life& life) {
  const Time moment = now();
  (void)to_expiry(life, moment);
  const Py_hash_t hash = resolve(key).hash;
  loads_.push_back({++last_load_, hash, deadline_after(moment, lease_)});
  return last_load_;
}

const ObjectCache::Load* ObjectCache::find_load(std::uint64_t number) const {
  for (const Load& load : loads_) {
    if (load.number == number) return &load;
  }
  return nullptr;
}

bool ObjectCache::is_loading(std::uint64_t number) {
  const Time moment = now();
  for (Load& load : loads_) {
    if (load.number != number) continue;
    if (is_due(load.lease, moment)) load.is_superseded = true;
    return !load.is_superseded;
  }
  return false;
}

std::int64_t ObjectCache::lease_ms(std::uint64_t number) const {
  const Time moment = now();
  const Load* const load = find_load(number);
  if (load == nullptr) return 0;
  return load->lease == kNever ? -1 : remaining(load->lease, moment).count();
}

bool ObjectCache::put_loaded(std::uint64_t number, py::handle key, py::handle value,
                             const Life& life) {
  const Time moment = now();
  const Expiry expiry = to_expiry(life, moment);
  ObjectKey stored = resolve(key);
  ++core_.stats().loads;
  const Load* const load = find_load(number);
  if (load == nullptr || load->is_superseded) return false;
  end_load(number);
  put_resolved(std::move(stored), value, expiry, moment);
  return true;
}

void ObjectCache::load_failed(std::uint64_t number, py::handle key) {
  const Time moment = now();
  const Slot slot = peek(key, moment);
  ++core_.stats().load_failures;
  const Load* const load = find_load(number);
  if (load == nullptr || load->is_superseded || slot == kNoSlot) return;
  core_.load_failed(slot, moment);
}

void ObjectCache::end_load(std::uint64_t number) {
  std::erase_if(loads_, [number](const Load& load) { return load.number == number; });
}

void ObjectCache::supersede(Py_hash_t hash) {
  for (Load& load : loads_) {
    if (load.hash == hash) load.is_superseded = true;
  }
}

bool ObjectCache::is_stale(py::handle key) {
  const Time moment = now();
  const Slot slot = peek(key, moment);
  return slot != kNoSlot && core_.is_stale(slot, moment);
}

bool ObjectCache::wants_load(py::handle key) {
  if (!core_.knows_stale()) return false;
  const Time moment = now();
  const Slot slot = peek(key, moment);
  return slot != kNoSlot && core_.wants_load(slot, moment);
}

}  // namespace mayfly::internal
