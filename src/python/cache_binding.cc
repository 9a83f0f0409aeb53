// SPDX-License-Identifier: Apache-2.0
// `_mayfly.Cache`: ObjectCache as a Python type. mayfly/_cache.py has the rest of it.

#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "python/binding.h"
#include "python/object_cache.h"

namespace mayfly::internal {
namespace {

// Runs `work(cache)` for a method that is not called through pybind11, and so must not throw.
template <class Result, class Work>
Result guarded(PyObject* self, Result failed, Work work) {
  ObjectCache* const cache = object_of<ObjectCache>(self);
  if (cache == nullptr) return failed;
  try {
    return work(*cache);
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const py::builtin_exception& error) {
    error.set_error();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_TypeError, error.what());
  }
  return failed;
}

PyObject* no_object = nullptr;

PyObject* get(PyObject* self, PyObject* const* given, Py_ssize_t positional, PyObject* keywords) {
  static constexpr const char* kNames[] = {"key", "default"};
  PyObject* args[2] = {};
  if (!sort_arguments({"get", kNames, 2, 1}, given, positional, keywords, args)) return nullptr;
  return guarded(self, no_object, [&](ObjectCache& cache) {
    PyObject* const found = cache.get(args[0]);
    if (found != nullptr) return Py_NewRef(found);
    return Py_NewRef(args[1] == nullptr ? Py_None : args[1]);
  });
}

PyObject* get_item(PyObject* self, PyObject* key) {
  return guarded(self, no_object, [&](ObjectCache& cache) {
    PyObject* const found = cache.get(key);
    if (found == nullptr) PyErr_SetObject(PyExc_KeyError, key);
    return Py_XNewRef(found);
  });
}

PyObject* put(PyObject* self, PyObject* const* given, Py_ssize_t positional, PyObject* keywords) {
  static constexpr const char* kNames[] = {"key", "value", "ttl", "stale"};
  PyObject* args[4] = {};
  if (!sort_arguments({"put", kNames, 4, 2}, given, positional, keywords, args)) return nullptr;
  return guarded(self, no_object, [&](ObjectCache& cache) {
    cache.put(args[0], args[1], {args[2], args[3]});
    return Py_NewRef(Py_None);
  });
}

// For get_or_load(), which asks this after each hit.
PyObject* wants_load(PyObject* self, PyObject* key) {
  return guarded(self, no_object,
                 [&](ObjectCache& cache) { return PyBool_FromLong(cache.wants_load(key)); });
}

// cache[key] = value, del cache[key].
int set_item(PyObject* self, PyObject* key, PyObject* value) {
  return guarded(self, -1, [&](ObjectCache& cache) {
    if (value != nullptr) {
      cache.put(key, value, {});
    } else if (!cache.erase(key)) {
      PyErr_SetObject(PyExc_KeyError, key);
      return -1;
    }
    return 0;
  });
}

int contains(PyObject* self, PyObject* key) {
  return guarded(self, -1, [&](ObjectCache& cache) { return cache.contains(key) ? 1 : 0; });
}

Py_ssize_t length(PyObject* self) {
  return guarded(self, Py_ssize_t{-1},
                 [](ObjectCache& cache) { return static_cast<Py_ssize_t>(cache.size()); });
}

ObjectCache* object_or_null(PyObject* self) { return *reinterpret_cast<ObjectCache**>(self + 1); }

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  const ObjectCache* const cache = object_or_null(self);
  return cache == nullptr ? 0 : cache->traverse(visit, arg);
}

int clear(PyObject* self) {
  ObjectCache* const cache = object_or_null(self);
  if (cache != nullptr) cache->drop_all();
  return 0;
}

PyCFunction as_method(_PyCFunctionFastWithKeywords function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

constexpr int kWithKeywords = METH_FASTCALL | METH_KEYWORDS;

PyMethodDef methods[] = {
    {"get", as_method(get), kWithKeywords,
     "get($self, key, default=None)\n--\n\n"
     "The value of `key`, or `default` if there is none or it has expired.\n"},
    {"put", as_method(put), kWithKeywords,
     "put($self, key, value, ttl=None, stale=None)\n--\n\n"
     "Puts a value, replacing the value and the expiry that `key` had.\n\n"
     "`ttl` is a number of seconds, a timedelta or a datetime; None is the default of the cache,\n"
     "math.inf is never. After it the value is stale, and still there, for `stale` seconds or a\n"
     "timedelta; None is the default of the cache.\n"},
    {"set", as_method(put), kWithKeywords,
     "set($self, key, value, ttl=None, stale=None)\n--\n\nThe same as put().\n"},
    {"_wants_load", wants_load, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

void set_up(PyHeapTypeObject* type) {
  type->ht_type.tp_flags |= Py_TPFLAGS_HAVE_GC;
  type->ht_type.tp_traverse = traverse;
  type->ht_type.tp_clear = clear;
  type->ht_type.tp_methods = methods;
  type->as_mapping.mp_length = length;
  type->as_mapping.mp_subscript = get_item;
  type->as_mapping.mp_ass_subscript = set_item;
  type->as_sequence.sq_contains = contains;
}

std::unique_ptr<ObjectCache> make(std::size_t capacity, py::object ttl, bool sliding, double jitter,
                                  py::object timer, py::object listener, py::object stale,
                                  py::object refresh_lease, py::object retry_after) {
  ObjectCache::Options options;
  options.max_entries = capacity;
  options.jitter_percent = jitter * 100;
  options.refresh_lease = duration_of(refresh_lease);
  options.retry_after = duration_of(retry_after);
  if (!ttl.is_none()) {
    const Expiry expiry = expiry_of(ttl);
    const Millis length = expiry.deadline(Time(), kNever, Millis::max()) - Time();
    options.default_expiry = sliding ? Expiry::sliding(length) : Expiry(length);
  }
  const Millis window = stale.is_none() ? Millis::zero() : stale_of(stale);
  return std::make_unique<ObjectCache>(std::move(options), window, std::move(timer),
                                       std::move(listener));
}

py::dict stats(const ObjectCache& cache) {
  const CacheStats counted = cache.stats();
  py::dict result;
  result["hits"] = counted.hits;
  result["misses"] = counted.misses;
  result["evictions"] = counted.evicted;
  result["expirations"] = counted.expired;
  result["replacements"] = counted.replaced;
  result["deletions"] = counted.erased + counted.cleared;
  result["loads"] = counted.loads;
  result["load_failures"] = counted.load_failures;
  result["listener_failures"] = counted.listener_failures;
  return result;
}

py::list entries(ObjectCache& cache) {
  py::list found;
  for (const auto& [key, value] : cache.entries()) found.append(py::make_tuple(key, value));
  return found;
}

}  // namespace

void bind_cache(py::module_& module) {
  using py::arg;
  py::class_<ObjectCache>(module, "Cache", py::custom_type_setup(set_up))
      .def(py::init(&make), arg("capacity"), arg("ttl"), arg("sliding"), arg("jitter"),
           arg("timer"), arg("listener"), arg("stale"), arg("refresh_lease"), arg("retry_after"))
      .def("expire", &ObjectCache::expire, arg("key"), arg("ttl"),
           "Changes when `key` expires. Returns whether it was there.\n")
      .def("persist", &ObjectCache::persist, arg("key"),
           "Makes `key` permanent. Returns whether it was there and had an expiry.\n")
      .def("clear", &ObjectCache::clear, "Removes all entries.\n")
      .def("stats", stats, "What has been counted, as a dict.\n")
      .def("_pop",
           [](ObjectCache& cache, py::handle key, py::object absent) {
             py::object value = cache.pop(key);
             return value ? value : absent;
           })
      .def("_peek",
           [](ObjectCache& cache, py::handle key, py::object absent) {
             py::object value = cache.value_of(key);
             return value ? value : absent;
           })
      .def("_set_default", [](ObjectCache& cache, py::handle key, py::handle value,
                              py::handle ttl) { return cache.set_default(key, value, ttl.ptr()); })
      .def("is_stale", &ObjectCache::is_stale, arg("key"),
           "Whether `key` is there and its TTL is over, so that get_or_load() would load it.\n")
      .def("_begin_load",
           [](ObjectCache& cache, py::handle key, py::handle ttl, py::handle stale) {
             return cache.begin_load(key, {ttl.ptr(), stale.ptr()});
           })
      .def("_is_loading", &ObjectCache::is_loading)
      .def("_lease_ms", &ObjectCache::lease_ms)
      .def("_put_loaded",
           [](ObjectCache& cache, std::uint64_t load, py::handle key, py::handle value,
              py::handle ttl, py::handle stale) {
             return cache.put_loaded(load, key, value, {ttl.ptr(), stale.ptr()});
           })
      .def("_load_failed", &ObjectCache::load_failed)
      .def("_end_load", &ObjectCache::end_load)
      .def("_ttl_ms", &ObjectCache::ttl_ms)
      .def("_purge",
           [](ObjectCache& cache, std::int64_t limit) {
             return cache.purge(limit < 0 ? std::numeric_limits<std::size_t>::max()
                                          : static_cast<std::size_t>(limit));
           })
      .def("_entries", entries);
}

}  // namespace mayfly::internal
