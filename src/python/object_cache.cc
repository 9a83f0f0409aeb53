// SPDX-License-Identifier: Apache-2.0
#include "python/object_cache.h"

#include <cmath>

#include "python/binding.h"

namespace mayfly::internal {
namespace {

// Whether comparing it with another plain object runs no Python code.
bool is_plain(PyObject* object) {
  if (PyUnicode_CheckExact(object) || PyBytes_CheckExact(object) || PyLong_CheckExact(object) ||
      PyFloat_CheckExact(object) || PyBool_Check(object) || object == Py_None) {
    return true;
  }
  if (!PyTuple_CheckExact(object)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) {
    if (!is_plain(PyTuple_GET_ITEM(object, i))) return false;
  }
  return true;
}

bool is_equal(py::handle one, py::handle other) {
  const int equal = PyObject_RichCompareBool(one.ptr(), other.ptr(), Py_EQ);
  if (equal < 0) throw py::error_already_set();
  return equal != 0;
}

Py_hash_t hash_of(py::handle key) {
  const Py_hash_t hash = PyObject_Hash(key.ptr());
  if (hash == -1) throw py::error_already_set();
  return hash;
}

// Removals are kept by the core only for a listener; so there always is one.
ObjectCache::Options with_listener(ObjectCache::Options options) {
  options.listener = [](auto&) {};
  return options;
}

void notify(py::handle listener, const Removal<ObjectKey, py::object>& removal, CacheStats& stats) {
  PyObject* const done = PyObject_CallFunction(listener.ptr(), "OOs", removal.key.object.ptr(),
                                               removal.value.ptr(), to_string(removal.cause));
  if (done == nullptr) {
    ++stats.listener_failures;
    PyErr_WriteUnraisable(listener.ptr());
  }
  Py_XDECREF(done);
}

}  // namespace

bool ObjectEqual::operator()(const ObjectKey& stored, const Sought& key) const {
  if (stored.object.ptr() == key.object) return true;
  if (stored.hash != key.hash) return false;
  if (is_plain(stored.object.ptr()) && is_plain(key.object)) {
    return PyObject_RichCompareBool(stored.object.ptr(), key.object, Py_EQ) == 1;
  }
  key.doubtful->push_back(stored.object);
  return false;
}

ObjectCache::ObjectCache(Options options, Millis stale, py::object timer, py::object listener)
    : timer_(std::move(timer)),
      listener_(std::move(listener)),
      default_expiry_(options.default_expiry),
      default_stale_(stale),
      lease_(options.refresh_lease),
      core_(with_listener(std::move(options)), VolatileSet()) {}

ObjectCache::~ObjectCache() = default;

CacheStats ObjectCache::stats() const { return core_.stats(); }

Time ObjectCache::now() const {
  if (timer_.is_none()) return clock_.now();
  const double seconds = timer_().cast<double>();
  return Time(Millis(static_cast<std::int64_t>(std::floor(seconds * 1000 + 1e-6))));
}

Expiry ObjectCache::to_expiry(PyObject* ttl, Time now) const {
  if (ttl == nullptr || ttl == Py_None) return default_expiry_;
  const Expiry expiry = expiry_of(ttl);
  const bool slides = default_expiry_.is_sliding() && expiry.is_ttl();
  return slides && expiry.deadline(now) != kNever ? Expiry::sliding(expiry.ttl()) : expiry;
}

Expiry ObjectCache::to_expiry(const Life& life, Time now) const {
  const Expiry expiry = to_expiry(life.ttl, now);
  const bool is_own = life.stale != nullptr && life.stale != Py_None;
  const Millis stale = is_own ? stale_of(life.stale) : default_stale_;
  if (stale == Millis::zero()) return expiry;
  const bool can_be_stale = !expiry.is_sliding() && expiry.deadline(now) != kNever;
  if (!can_be_stale && is_own) {
    throw py::value_error("stale needs a TTL that ends and does not slide (give ttl=, too)");
  }
  return can_be_stale ? expiry.stale_for(stale) : expiry;
}

ObjectKey ObjectCache::resolve(py::handle key) {
  constexpr int kTriesMax = 1000;
  const Py_hash_t hash = hash_of(key);
  std::vector<py::object> doubtful;
  for (int i = 0; i < kTriesMax; ++i) {
    doubtful.clear();
    const Sought sought{key.ptr(), hash, &doubtful};
    if (const auto* const entry = core_.lookup(sought, core_.hash_of(sought))) return entry->key;
    const std::uint64_t version = version_;
    const py::object* equal = nullptr;
    for (const py::object& other : doubtful) {
      if (is_equal(other, key)) equal = &other;
      if (equal != nullptr || version != version_) break;
    }
    if (version != version_) continue;
    return {equal == nullptr ? py::reinterpret_borrow<py::object>(key) : *equal, hash};
  }
  PyErr_SetString(PyExc_RuntimeError, "comparing keys changes the cache every time");
  throw py::error_already_set();
}

Slot ObjectCache::peek(py::handle key, Time now) {
  const ObjectKey stored = resolve(key);
  return core_.peek(stored, core_.hash_of(stored), now);
}

PyObject* ObjectCache::get(py::handle key) {
  const Py_hash_t hash = hash_of(key);
  const Time moment = now();
  std::vector<py::object> doubtful;
  const Sought sought{key.ptr(), hash, &doubtful};
  Slot slot = core_.get(sought, core_.hash_of(sought), moment);
  if (slot == kNoSlot && !doubtful.empty()) {
    --core_.stats().misses;  // it may still be there
    const ObjectKey stored = resolve(key);
    slot = core_.get(stored, core_.hash_of(stored), moment);
  }
  if (slot != kNoSlot) return core_[slot].value.ptr();
  if (core_.has_removals()) release_removed();
  return nullptr;
}

bool ObjectCache::contains(py::handle key) {
  const Time moment = now();
  return peek(key, moment) != kNoSlot;
}

void ObjectCache::put(py::handle key, py::handle value, const Life& life) {
  const Time moment = now();
  const Expiry expiry = to_expiry(life, moment);
  put_resolved(resolve(key), value, expiry, moment);
}

void ObjectCache::put_resolved(ObjectKey key, py::handle value, const Expiry& expiry, Time moment) {
  supersede(key.hash);
  const std::uint32_t hash = core_.hash_of(key);
  core_.put(std::move(key), hash, py::reinterpret_borrow<py::object>(value), expiry, moment);
  release_removed();
}

py::object ObjectCache::set_default(py::handle key, py::handle value, PyObject* ttl) {
  const Time moment = now();
  const Expiry expiry = to_expiry(Life{.ttl = ttl}, moment);
  ObjectKey stored = resolve(key);
  // No Python code runs until the value is put, so nothing can change the cache in between.
  const Slot slot = core_.get(stored, core_.hash_of(stored), moment);
  if (slot != kNoSlot) return core_[slot].value;
  put_resolved(std::move(stored), value, expiry, moment);
  return py::reinterpret_borrow<py::object>(value);
}

py::object ObjectCache::value_of(py::handle key) {
  const Time moment = now();
  const Slot slot = peek(key, moment);
  return slot == kNoSlot ? py::object() : core_[slot].value;
}

bool ObjectCache::erase(py::handle key) {
  const Time moment = now();
  const ObjectKey stored = resolve(key);
  supersede(stored.hash);
  const Slot slot = core_.peek(stored, core_.hash_of(stored), moment);
  if (slot == kNoSlot) return false;
  core_.remove(slot, Cause::erased, moment);
  release_removed();
  return true;
}

py::object ObjectCache::pop(py::handle key) {
  const Time moment = now();
  const ObjectKey stored = resolve(key);
  supersede(stored.hash);
  const Slot slot = core_.peek(stored, core_.hash_of(stored), moment);
  if (slot == kNoSlot) return {};
  py::object value = core_[slot].value;
  core_.remove(slot, Cause::erased, moment);
  release_removed();
  return value;
}

bool ObjectCache::expire(py::handle key, py::handle ttl) {
  if (ttl.is_none()) throw py::type_error("expire() needs a TTL; persist() is for None");
  const Time moment = now();
  const Expiry expiry = to_expiry(ttl.ptr(), moment);
  const Slot slot = peek(key, moment);
  if (slot == kNoSlot) return false;
  supersede(core_[slot].key.hash);
  return core_.expire(slot, expiry, When::always, moment);
}

bool ObjectCache::persist(py::handle key) {
  const Time moment = now();
  const Slot slot = peek(key, moment);
  if (slot == kNoSlot || !core_.persist(slot, moment)) return false;
  supersede(core_[slot].key.hash);
  return true;
}

std::int64_t ObjectCache::ttl_ms(py::handle key) {
  const Time moment = now();
  const Slot slot = peek(key, moment);
  if (slot == kNoSlot) return -2;
  const Time deadline = core_.deadline(slot);
  return deadline == kNever ? -1 : remaining(deadline, moment).count();
}

std::size_t ObjectCache::purge(std::size_t limit) {
  const std::size_t purged = core_.purge(now(), limit);
  release_removed();
  return purged;
}

void ObjectCache::clear() {
  const Time moment = now();
  for (Load& load : loads_) load.is_superseded = true;
  core_.clear(moment);
  release_removed();
}

std::size_t ObjectCache::size() { return core_.size(now()); }

std::vector<std::pair<py::object, py::object>> ObjectCache::entries() {
  const Time moment = now();
  std::vector<std::pair<py::object, py::object>> found;
  for (Slot slot = core_.next_live(0, moment); slot != kNoSlot;
       slot = core_.next_live(slot + 1, moment)) {
    found.emplace_back(core_[slot].key.object, core_[slot].value);
  }
  return found;
}

int ObjectCache::traverse(visitproc visit, void* arg) const {
  Py_VISIT(timer_.ptr());
  Py_VISIT(listener_.ptr());
  const Time start = Time::min();  // when nothing has expired
  for (Slot slot = core_.next_live(0, start); slot != kNoSlot;
       slot = core_.next_live(slot + 1, start)) {
    Py_VISIT(core_[slot].key.object.ptr());
    Py_VISIT(core_[slot].value.ptr());
  }
  return 0;
}

void ObjectCache::drop_all() {
  listener_ = py::none();
  timer_ = py::none();
  core_.clear(Time::min());
  release_removed();
}

void ObjectCache::release_removed() {
  ++version_;
  if (!core_.has_removals()) return;
  const Core::Removals removals = core_.take_removals();
  if (listener_.is_none()) return;
  for (const auto& removal : removals) notify(listener_, removal, core_.stats());
}

}  // namespace mayfly::internal
