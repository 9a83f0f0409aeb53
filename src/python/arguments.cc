// SPDX-License-Identifier: Apache-2.0
#include "python/arguments.h"

#include <datetime.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <utility>

namespace mayfly::internal {
namespace {

constexpr double kMsMax = 9.2e18;

bool read_number(PyObject* object, Expiry& expiry) {
  double seconds = PyFloat_AsDouble(object);
  if (seconds == -1.0 && PyErr_Occurred() != nullptr) {
    if (PyErr_ExceptionMatches(PyExc_OverflowError) == 0 || !PyLong_Check(object)) return false;
    PyErr_Clear();  // an int beyond all floats
    seconds = _PyLong_Sign(object) < 0 ? -kMsMax : kMsMax;
  }
  if (std::isnan(seconds)) {
    PyErr_SetString(PyExc_ValueError, "a TTL must be a number of seconds, not nan");
    return false;
  }
  expiry = seconds * 1000 >= kMsMax ? Expiry::never() : Expiry(Millis(to_ms(seconds)));
  return true;
}

Millis length_of(PyObject* delta) {
  const std::int64_t seconds =
      std::int64_t{PyDateTime_DELTA_GET_DAYS(delta)} * 86'400 + PyDateTime_DELTA_GET_SECONDS(delta);
  const int microseconds = PyDateTime_DELTA_GET_MICROSECONDS(delta);
  return Millis(seconds * 1000 + (microseconds + 999) / 1000);
}

bool read_moment(PyObject* datetime, Expiry& expiry) {
  PyObject* const seconds = PyObject_CallMethod(datetime, "timestamp", nullptr);
  if (seconds == nullptr) {  // local time at either end of the calendar has no UTC
    if (PyErr_ExceptionMatches(PyExc_ValueError) == 0 &&
        PyErr_ExceptionMatches(PyExc_OverflowError) == 0) {
      return false;
    }
    PyErr_Clear();
    const bool is_past = PyDateTime_GET_YEAR(datetime) < 1970;
    expiry = is_past ? Expiry(Time(Millis::zero())) : Expiry::never();
    return true;
  }
  expiry = Expiry(Time(Millis(to_ms(PyFloat_AsDouble(seconds)))));
  Py_DECREF(seconds);
  return true;
}

bool refuse_keyword(const Signature& signature, PyObject* name, const char* why) {
  PyErr_Format(PyExc_TypeError, "%s() %s '%U'", signature.function, why, name);
  return false;
}

bool sort_keyword(const Signature& signature, PyObject* name, PyObject* value, PyObject** found) {
  for (std::size_t i = 0; i < signature.count; ++i) {
    if (PyUnicode_CompareWithASCIIString(name, signature.names[i]) != 0) continue;
    if (found[i] != nullptr) return refuse_keyword(signature, name, "got two values for");
    found[i] = value;
    return true;
  }
  return refuse_keyword(signature, name, "has no argument");
}

}  // namespace

BytesArg::BytesArg(BytesArg&& other) noexcept
    : view_(std::exchange(other.view_, {})), buffer_(std::exchange(other.buffer_, {})) {}

bool BytesArg::read(PyObject* object, const char* what) {
  if (PyBytes_Check(object)) {
    view_ = {PyBytes_AS_STRING(object), static_cast<std::size_t>(PyBytes_GET_SIZE(object))};
    return true;
  }
  if (PyUnicode_Check(object)) {
    Py_ssize_t size = 0;
    const char* const text = PyUnicode_AsUTF8AndSize(object, &size);
    if (text == nullptr) return false;
    view_ = {text, static_cast<std::size_t>(size)};
    return true;
  }
  if (!PyByteArray_Check(object) && !PyMemoryView_Check(object)) {
    PyErr_Format(PyExc_TypeError, "a %s must be str, bytes, bytearray or memoryview, not %s", what,
                 Py_TYPE(object)->tp_name);
    return false;
  }
  if (PyObject_GetBuffer(object, &buffer_, PyBUF_SIMPLE) != 0) return false;
  // An empty buffer may be nowhere, but what is empty must still be somewhere for the C API.
  const char* const bytes = buffer_.buf == nullptr ? "" : static_cast<const char*>(buffer_.buf);
  view_ = {bytes, static_cast<std::size_t>(buffer_.len)};
  return true;
}

int BytesArg::size() const {
  return static_cast<int>(std::min<std::size_t>(view_.size(), INT_MAX));
}

bool import_datetime() {
  PyDateTime_IMPORT;
  return PyDateTimeAPI != nullptr;
}

bool read_ttl(PyObject* object, Expiry& expiry) {
  expiry = {};
  if (object == nullptr || object == Py_None) return true;
  if (PyLong_Check(object) || PyFloat_Check(object)) return read_number(object, expiry);
  if (PyDelta_Check(object)) {
    expiry = Expiry(length_of(object));
    return true;
  }
  if (PyDateTime_Check(object)) return read_moment(object, expiry);
  if (PyNumber_Check(object)) return read_number(object, expiry);  // such as Decimal
  PyErr_Format(PyExc_TypeError,
               "a TTL must be None, a number of seconds, a timedelta or a datetime, not %s",
               Py_TYPE(object)->tp_name);
  return false;
}

std::int64_t to_ms(double seconds) {
  const double ms = std::clamp(seconds * 1000, -kMsMax, kMsMax);
  const double nearest = std::round(ms);
  const bool is_exact = std::abs(ms - nearest) <= 1e-15 * std::max(1.0, std::abs(ms));
  if (is_exact && nearest == 0 && ms > 0) return 1;  // however little is not nothing
  return static_cast<std::int64_t>(is_exact ? nearest : std::ceil(ms));
}

bool sort_arguments(const Signature& signature, PyObject* const* given, Py_ssize_t positional,
                    PyObject* keywords, PyObject** found) {
  const auto count = static_cast<std::size_t>(positional);
  if (count > signature.count) {
    PyErr_Format(PyExc_TypeError, "%s() takes at most %zu arguments, not %zu", signature.function,
                 signature.count, count);
    return false;
  }
  std::copy_n(given, count, found);
  const Py_ssize_t named = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
  for (Py_ssize_t i = 0; i < named; ++i) {
    PyObject* const value = given[positional + i];
    if (!sort_keyword(signature, PyTuple_GET_ITEM(keywords, i), value, found)) return false;
  }
  for (std::size_t i = 0; i < signature.required; ++i) {
    if (found[i] != nullptr) continue;
    PyErr_Format(PyExc_TypeError, "%s() needs the argument '%s'", signature.function,
                 signature.names[i]);
    return false;
  }
  return true;
}

}  // namespace mayfly::internal
