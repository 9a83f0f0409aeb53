// SPDX-License-Identifier: Apache-2.0
// The exceptions of the package, and how the numbers of the C API become exceptions.

#pragma once

#include <Python.h>

#include "kvstore.h"

namespace mayfly {

// Makes the exception types and adds them to the module. Returns whether that went well. What this
// file keeps is written here, once, when the module is imported.
bool add_exceptions(PyObject* module);

// Each sets a Python error and returns null, so that a call can end with it.
PyObject* raise_code(KVStore* kv, int code);  // with the message that the C API has for it
PyObject* raise_code(int code, const char* message);
PyObject* raise_error(const char* message);  // mayfly.Error
PyObject* raise_missing(PyObject* key);      // NotFoundError(key)

}  // namespace mayfly
