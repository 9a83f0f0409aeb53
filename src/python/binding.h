// SPDX-License-Identifier: Apache-2.0
// What the bindings have in common: how a method calls into the store, and how it fails.
//
//   .def("clear", [](FamilyHandle& family) { run(family, kvstore_cf_clear); })

#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "kvstore.h"
#include "python/arguments.h"
#include "python/handles.h"

namespace mayfly::internal {

namespace py = pybind11;

void bind_family(py::module_& module);
void bind_store(py::module_& module);
void bind_iterator(py::module_& module);
void bind_snapshot(py::module_& module);
void bind_cache(py::module_& module);

// Many entries in one call: taken from Python first, then written or read without the GIL.
void put_many(FamilyHandle& family, py::object items, py::handle ttl);
py::dict get_many(FamilyHandle& family, py::handle keys);
std::size_t delete_many(FamilyHandle& family, py::handle keys);

// The C++ object of a Python object of a pybind11 type, or null, with a Python error set, if its
// __init__ was not called. REQUIRES: the type (or its base) was made for T, or for a class whose
// first base is T.
template <class T>
T* object_of(PyObject* self) {
  // pybind11 keeps the pointer right behind the head of the object, if it has one C++ base only.
  T* const object = *reinterpret_cast<T**>(self + 1);
  if (object == nullptr) PyErr_SetString(PyExc_TypeError, "__init__ was not called");
  return object;
}

// Adds the methods of hot.cc to a type that is about to be completed.
void add_hot_methods(PyHeapTypeObject* type);

inline py::bytes to_bytes(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

// Throws what raise_code() sets.
[[noreturn]] inline void throw_code(const FamilyHandle& family, int code) {
  raise_code(family.home->kv, code);
  throw py::error_already_set();
}

inline BytesArg bytes_of(py::handle object, const char* what) {
  BytesArg bytes;
  if (!bytes.read(object.ptr(), what)) throw py::error_already_set();
  return bytes;
}

inline Expiry expiry_of(py::handle ttl) {
  Expiry expiry;
  if (!read_ttl(ttl.ptr(), expiry)) throw py::error_already_set();
  return expiry;
}

// A length of time: seconds or a timedelta. Infinity is the longest there is.
inline Millis duration_of(py::handle time) {
  const Expiry expiry = expiry_of(time);
  if (expiry.is_ttl()) return expiry.ttl();
  if (expiry.is_default() || expiry.deadline(Time()) != kNever) {
    throw py::type_error("a length of time must be a number of seconds or a timedelta");
  }
  return Millis::max();
}

// How long a value may be served after its TTL.
inline Millis stale_of(py::handle time) {
  const Millis stale = duration_of(time);
  if (stale < Millis::zero()) throw py::value_error("stale must not be negative");
  return stale;
}

// The number that `work(cf)` returns, which is called without the GIL.
template <class Work>
int run_code(FamilyHandle& family, Work work) {
  KVColumnFamily* const cf = family.usable();
  if (cf == nullptr) throw py::error_already_set();
  return unlocked(family, [&] { return work(cf); });
}

// The same; what is not KVSTORE_OK is thrown.
template <class Work>
void run(FamilyHandle& family, Work work) {
  const int code = run_code(family, work);
  if (code != KVSTORE_OK) throw_code(family, code);
}

// The C API takes names up to their first zero byte, which would be another name.
inline void refuse_zero_byte(const std::string& name) {
  if (name.find('\0') != std::string::npos) throw py::value_error("embedded null byte");
}

// run() with a key: `work(cf, key)`. KVSTORE_NOTFOUND is NotFoundError(key).
template <class Work>
void run_for(FamilyHandle& family, py::handle key, Work work) {
  const BytesArg bytes = bytes_of(key, "key");
  const int code = run_code(family, [&](KVColumnFamily* cf) { return work(cf, bytes); });
  if (code == KVSTORE_NOTFOUND) {
    raise_missing(key.ptr());
    throw py::error_already_set();
  }
  if (code != KVSTORE_OK) throw_code(family, code);
}

}  // namespace mayfly::internal
