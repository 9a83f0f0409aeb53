// SPDX-License-Identifier: Apache-2.0
// The methods that are called a million times a second: get, put, delete, exists, and the same by
// brackets and `in`.
//
// pybind11 finds the function for a call by trying what is registered, converts each argument
// through a table of types, and keeps lists of temporaries; that takes longer than the get itself.
// So these few take their arguments as the interpreter has them, and are put into the type that
// pybind11 makes before it is completed. The interpreter's own method descriptors check that they
// are called with the right object.

#include <array>

#include "python/arguments.h"
#include "python/binding.h"
#include "python/entries.h"

namespace mayfly::internal {
namespace {

constexpr int kStackBytes = 4096;  // values up to this size are read in one step

// The handle and the key of a call. `cf` is null, with a Python error set, if there is something
// wrong with one of them.
struct Target {
  Target(PyObject* self, PyObject* key_object) : handle(object_of<FamilyHandle>(self)) {
    if (handle == nullptr || handle->usable() == nullptr) return;
    if (key.read(key_object, "key")) cf = handle->cf;
  }

  PyObject* raise(int code) const { return raise_code(handle->home->kv, code); }

  FamilyHandle* handle;
  KVColumnFamily* cf = nullptr;
  BytesArg key{};
};

// A value that did not fit on the stack. It may have grown by the time that there is room for it.
PyObject* get_large(const Target& target, int size, int& code) {
  while (true) {
    PyObject* const value = PyBytes_FromStringAndSize(nullptr, size);
    if (value == nullptr) return nullptr;
    char* const room = PyBytes_AS_STRING(value);
    int actual = 0;
    code = unlocked(*target.handle, [&] {
      return kvstore_cf_get_into(target.cf, target.key.data(), target.key.size(), room, size,
                                 &actual);
    });
    if (code == KVSTORE_OK && actual == size) return value;
    Py_DECREF(value);
    if (code != KVSTORE_OK) return nullptr;
    size = actual;
  }
}

// The value, or null with the reason in `code`, or with a Python error set if that is KVSTORE_OK.
PyObject* get_value(const Target& target, int& code) {
  std::array<char, kStackBytes> buffer;  // not initialized: what is read is written before
  int size = 0;
  code = unlocked(*target.handle, [&] {
    return kvstore_cf_get_into(target.cf, target.key.data(), target.key.size(), buffer.data(),
                               kStackBytes, &size);
  });
  if (code != KVSTORE_OK) return nullptr;
  if (size > kStackBytes) return get_large(target, size, code);
  return PyBytes_FromStringAndSize(buffer.data(), size);
}

PyObject* get(PyObject* self, PyObject* const* given, Py_ssize_t positional, PyObject* keywords) {
  static constexpr const char* kNames[] = {"key", "default"};
  PyObject* args[2] = {};
  if (!sort_arguments({"get", kNames, 2, 1}, given, positional, keywords, args)) return nullptr;
  const Target target(self, args[0]);
  if (target.cf == nullptr) return nullptr;
  int code = KVSTORE_OK;
  PyObject* const value = get_value(target, code);
  if (code == KVSTORE_OK) return value;
  if (code != KVSTORE_NOTFOUND) return target.raise(code);
  return Py_NewRef(args[1] == nullptr ? Py_None : args[1]);
}

PyObject* get_item(PyObject* self, PyObject* key) {
  const Target target(self, key);
  if (target.cf == nullptr) return nullptr;
  int code = KVSTORE_OK;
  PyObject* const value = get_value(target, code);
  if (code == KVSTORE_OK) return value;
  return code == KVSTORE_NOTFOUND ? raise_missing(key) : target.raise(code);
}

// 1 or 0, or -1 with a Python error set.
int contains(PyObject* self, PyObject* key) {
  const Target target(self, key);
  if (target.cf == nullptr) return -1;
  int is_there = 0;
  const int code = unlocked(*target.handle, [&] {
    return kvstore_cf_exists(target.cf, target.key.data(), target.key.size(), &is_there);
  });
  if (code == KVSTORE_OK) return is_there;
  target.raise(code);
  return -1;
}

PyObject* exists(PyObject* self, PyObject* key) {
  const int is_there = contains(self, key);
  return is_there < 0 ? nullptr : PyBool_FromLong(is_there);
}

// 0, or -1 with a Python error set, as all that follow.
int erase(PyObject* self, PyObject* key) {
  const Target target(self, key);
  if (target.cf == nullptr || !target.handle->home->begin_group()) return -1;
  const int code = unlocked(*target.handle, [&] {
    return kvstore_cf_delete(target.cf, target.key.data(), target.key.size());
  });
  if (code == KVSTORE_OK) return target.handle->home->count_write() ? 0 : -1;
  code == KVSTORE_NOTFOUND ? raise_missing(key) : target.raise(code);
  return -1;
}

int store(PyObject* self, PyObject* key, PyObject* value, PyObject* ttl) {
  const Target target(self, key);
  BytesArg bytes;
  Expiry expiry;
  if (target.cf == nullptr || !bytes.read(value, "value") || !read_ttl(ttl, expiry)) return -1;
  if (!target.handle->home->begin_group()) return -1;
  const int code = unlocked(*target.handle, [&] {
    return put_entry(target.cf, {target.key.view(), bytes.view(), expiry});
  });
  if (code == KVSTORE_OK) return target.handle->home->count_write() ? 0 : -1;
  target.raise(code);
  return -1;
}

// db[key] = value, db[key, ttl] = value, del db[key].
int set_item(PyObject* self, PyObject* key, PyObject* value) {
  if (value == nullptr) return erase(self, key);
  if (!PyTuple_Check(key)) return store(self, key, value, nullptr);
  if (PyTuple_GET_SIZE(key) == 2) {
    return store(self, PyTuple_GET_ITEM(key, 0), value, PyTuple_GET_ITEM(key, 1));
  }
  PyErr_SetString(PyExc_TypeError, "between the brackets must be a key, or a key and a TTL");
  return -1;
}

PyObject* remove(PyObject* self, PyObject* key) {
  if (erase(self, key) != 0) return nullptr;
  Py_RETURN_NONE;
}

PyObject* put(PyObject* self, PyObject* const* given, Py_ssize_t positional, PyObject* keywords) {
  static constexpr const char* kNames[] = {"key", "value", "ttl"};
  PyObject* args[3] = {};
  if (!sort_arguments({"put", kNames, 3, 2}, given, positional, keywords, args)) return nullptr;
  if (store(self, args[0], args[1], args[2]) != 0) return nullptr;
  Py_RETURN_NONE;
}

constexpr int kWithKeywords = METH_FASTCALL | METH_KEYWORDS;

// As the table of methods wants it: the flags say what it really is.
PyCFunction as_method(_PyCFunctionFastWithKeywords function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef methods[] = {
    {"get", as_method(get), kWithKeywords,
     "get($self, key, default=None)\n--\n\n"
     "The value of `key`, as bytes, or `default` if there is none or it has expired.\n\n"
     ">>> db = mayfly.KVStore()\n"
     ">>> db.put('greeting', 'hello', ttl=60)\n"
     ">>> db.get('greeting')\n"
     "b'hello'\n"
     ">>> db.get('nothing', b'-')\n"
     "b'-'\n"},
    {"put", as_method(put), kWithKeywords,
     "put($self, key, value, ttl=None)\n--\n\n"
     "Stores `value`, replacing the value and the expiry that `key` had.\n\n"
     "`ttl` is a number of seconds, a timedelta, or a datetime (a deadline). None is the default\n"
     "TTL of the column family, which is none unless it was set; math.inf is never. What has\n"
     "expired already is stored, but never seen.\n\n"
     ">>> from datetime import timedelta\n"
     ">>> db = mayfly.KVStore()\n"
     ">>> db.put('session', 'token', ttl=timedelta(minutes=30))\n"
     ">>> 1799 < db.ttl('session') <= 1800\n"
     "True\n"},
    {"exists", exists, METH_O,
     "exists($self, key)\n--\n\n"
     "Whether `key` is there and has not expired; the same as `key in db`.\n"},
    {"delete", remove, METH_O,
     "delete($self, key)\n--\n\n"
     "Removes `key`. NotFoundError if it is not there or has expired.\n"},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_hot_methods(PyHeapTypeObject* type) {
  type->ht_type.tp_methods = methods;
  type->as_mapping.mp_subscript = get_item;
  type->as_mapping.mp_ass_subscript = set_item;
  type->as_sequence.sq_contains = contains;
}

}  // namespace mayfly::internal
