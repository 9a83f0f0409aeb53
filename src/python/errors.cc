// SPDX-License-Identifier: Apache-2.0
// The exceptions of the package, and how the numbers of the C API become exceptions.

#include "python/handles.h"

namespace mayfly::internal {
namespace {

struct ExceptionTypes {
  PyObject* error = nullptr;
  PyObject* not_found = nullptr;
  PyObject* busy = nullptr;
  PyObject* locked = nullptr;
  PyObject* read_only = nullptr;
  PyObject* corrupt = nullptr;
  PyObject* auth = nullptr;
  PyObject* full = nullptr;
};

ExceptionTypes types;

PyObject* type_of(int code) {
  switch (code) {
    case KVSTORE_NOTFOUND:
      return types.not_found;
    case KVSTORE_BUSY:
      return types.busy;
    case KVSTORE_LOCKED:
      return types.locked;
    case KVSTORE_READONLY:
      return types.read_only;
    case KVSTORE_CORRUPT:
      return types.corrupt;
    case KVSTORE_AUTH_FAILED:
      return types.auth;
    case KVSTORE_FULL:
      return types.full;
    case KVSTORE_NOMEM:
      return PyExc_MemoryError;
    default:
      return types.error;
  }
}

// Makes `mayfly.<name>`. `base` is one type, or a tuple of them.
PyObject* add(PyObject* module, const char* name, PyObject* base, const char* doc) {
  char full_name[32];
  PyOS_snprintf(full_name, sizeof full_name, "mayfly.%s", name);
  PyObject* const type = PyErr_NewExceptionWithDoc(full_name, doc, base, nullptr);
  if (type == nullptr || PyModule_AddObjectRef(module, name, type) != 0) return nullptr;
  return type;
}

}  // namespace

bool add_exceptions(PyObject* module) {
  types.error = add(module, "Error", nullptr, "The base class of all errors of a store.");
  if (types.error == nullptr) return false;
  PyObject* const both = PyTuple_Pack(2, types.error, PyExc_KeyError);
  if (both == nullptr) return false;
  types.not_found = add(module, "NotFoundError", both,
                        "The key is absent or expired, or the column family does not exist.");
  Py_DECREF(both);
  PyObject* const base = types.error;
  types.busy = add(module, "BusyError", base,
                   "Another writer is active, or the object to drop or close is in use.");
  types.locked = add(module, "LockedError", base, "Never raised; exists for code that catches it.");
  types.read_only = add(module, "ReadOnlyError", base,
                        "The store, the file or the transaction may only be read.");
  types.corrupt = add(module, "CorruptError", base, "The file is damaged, or is not a store.");
  types.auth = add(module, "AuthError", base, "Never raised: stores are not encrypted.");
  types.full =
      add(module, "FullError", base, "The disk is full, or there are too many column families.");
  return types.not_found && types.busy && types.locked && types.read_only && types.corrupt &&
         types.auth && types.full;
}

PyObject* raise_code(int code, const char* message) {
  PyErr_SetString(type_of(code), message);
  return nullptr;
}

PyObject* raise_code(KVStore* kv, int code) { return raise_code(code, kvstore_errmsg(kv)); }

PyObject* raise_error(const char* message) { return raise_code(KVSTORE_ERROR, message); }

PyObject* raise_abandoned() {
  return raise_error("this store was opened before a fork: open it again in the child");
}

PyObject* raise_missing(PyObject* key) {
  PyErr_SetObject(types.not_found, key);
  return nullptr;
}

}  // namespace mayfly::internal
