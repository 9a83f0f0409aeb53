// SPDX-License-Identifier: Apache-2.0
// What Python code hands in, as the store takes it: bytes, and how long something is to live.

#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "mayfly/expiry.h"

namespace mayfly::internal {

// The bytes of a str (as UTF-8), bytes, bytearray or memoryview. They are the object's own, not a
// copy; the caller's reference keeps them.
class BytesArg {
 public:
  BytesArg() = default;
  BytesArg(const BytesArg&) = delete;
  BytesArg& operator=(const BytesArg&) = delete;
  BytesArg(BytesArg&& other) noexcept;
  ~BytesArg() {
    if (buffer_.obj != nullptr) PyBuffer_Release(&buffer_);
  }

  // False, with a Python error set, if `object` is of no such type. `what` is its name in that.
  bool read(PyObject* object, const char* what);

  std::string_view view() const { return view_; }
  const void* data() const { return view_.data(); }

  // As the C API takes it. What is too long for an int is too long for the store, which says so.
  int size() const;

 private:
  std::string_view view_{};
  Py_buffer buffer_{};
};

// Loads what is needed to know a timedelta and a datetime. False, with a Python error set, if that
// fails.
bool import_datetime();

// A TTL as Python code says it: None is the family's default, a number is seconds, and so is a
// timedelta; infinity is never; a datetime is a deadline. False, with a Python error set, for what
// is none of these.
bool read_ttl(PyObject* object, Expiry& expiry);

// Milliseconds from seconds, rounded up unless it is only the float that is not exact.
std::int64_t to_ms(double seconds);

// Sorts the arguments of a call into `found`, which begins as all null, by position and by name.
// The first `required` must be there. False, with a Python error set, if they don't fit.
struct Signature {
  const char* function;
  const char* const* names;
  std::size_t count;
  std::size_t required;
};
bool sort_arguments(const Signature& signature, PyObject* const* given, Py_ssize_t positional,
                    PyObject* keywords, PyObject** found);

}  // namespace mayfly::internal
