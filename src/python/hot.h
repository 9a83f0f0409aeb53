// SPDX-License-Identifier: Apache-2.0
// The methods that are called a million times a second: get, put, delete, exists, and the same by
// brackets and `in`.
//
// pybind11 finds the function for a call by trying what is registered, converts each argument
// through a table of types, and keeps lists of temporaries; that takes longer than the get itself.
// So these few take their arguments as the interpreter has them, and are put into the type that
// pybind11 makes before it is completed. The types must then see that they are given the right
// object, which the interpreter's own method descriptors do.

#pragma once

#include <Python.h>

#include "python/handles.h"

namespace mayfly {

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

// Puts them into a type that is about to be completed.
void add_hot_methods(PyHeapTypeObject* type);

}  // namespace mayfly
