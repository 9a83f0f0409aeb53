// SPDX-License-Identifier: Apache-2.0
// Many entries in one call.

#include <deque>
#include <string_view>
#include <vector>

#include "python/binding.h"
#include "python/entries.h"

namespace mayfly::internal {
namespace {

// The bytes of objects, which it keeps as long as they are needed.
class HeldObjects {
 public:
  void expect(Py_ssize_t count) { held_.reserve(static_cast<std::size_t>(count)); }
  void hold(PyObject* object) { held_.push_back(py::reinterpret_borrow<py::object>(object)); }

  // REQUIRES: something that is held keeps the object.
  std::string_view view(PyObject* object, const char* what) {
    BytesArg bytes;
    if (!bytes.read(object, what)) throw py::error_already_set();
    const std::string_view view = bytes.view();
    // What can be changed or moved has to be locked, too.
    if (!PyBytes_Check(object) && !PyUnicode_Check(object)) buffers_.push_back(std::move(bytes));
    return view;
  }

 private:
  std::vector<py::object> held_;
  std::deque<BytesArg> buffers_;
};

Item to_item(PyObject* pair, const Expiry& expiry, HeldObjects& held) {
  constexpr const char* kShape = "an item must be (key, value) or (key, value, ttl)";
  const auto parts = py::reinterpret_steal<py::object>(PySequence_Tuple(pair));
  if (!parts) throw py::type_error(kShape);
  const Py_ssize_t count = PyTuple_GET_SIZE(parts.ptr());
  if (count != 2 && count != 3) throw py::value_error(kShape);
  held.hold(parts.ptr());
  PyObject* const key = PyTuple_GET_ITEM(parts.ptr(), 0);
  PyObject* const value = PyTuple_GET_ITEM(parts.ptr(), 1);
  Item item{held.view(key, "key"), held.view(value, "value"), expiry};
  if (count == 3) item.expiry = expiry_of(PyTuple_GET_ITEM(parts.ptr(), 2));
  return item;
}

// How many there may be; only a guess, for the sake of memory.
Py_ssize_t guess_length(py::handle items) {
  const Py_ssize_t count = PyObject_LengthHint(items.ptr(), 0);
  if (count < 0) throw py::error_already_set();
  return count;
}

std::vector<std::string_view> take_keys(py::handle keys, HeldObjects& held) {
  std::vector<std::string_view> views;
  for (const py::handle key : py::iter(keys)) {
    held.hold(key.ptr());
    views.push_back(held.view(key.ptr(), "key"));
  }
  return views;
}

}  // namespace

void put_many(FamilyHandle& family, py::object items, py::handle ttl) {
  const Expiry expiry = expiry_of(ttl);
  if (py::hasattr(items, "items")) items = items.attr("items")();
  HeldObjects held;
  std::vector<Item> taken;
  const Py_ssize_t guess = guess_length(items);
  held.expect(guess);
  taken.reserve(static_cast<std::size_t>(guess));
  for (const py::handle item : py::iter(items)) {
    taken.push_back(to_item(item.ptr(), expiry, held));
  }
  run(family, [&](KVColumnFamily* cf) { return put_entries(cf, taken); });
}

py::dict get_many(FamilyHandle& family, py::handle keys) {
  const py::list asked(py::reinterpret_borrow<py::object>(keys));
  HeldObjects held;
  const std::vector<std::string_view> views = take_keys(asked, held);
  Values values;
  run(family, [&](KVColumnFamily* cf) { return get_entries(cf, views, values); });
  py::dict found;
  std::int64_t start = 0;
  for (std::size_t i = 0; i < views.size(); ++i) {
    const std::int64_t end = values.ends[i];
    if (end < 0) continue;
    const std::string_view all = values.bytes;
    const py::object asked_for = asked[i];
    const bool may_change =
        PyByteArray_Check(asked_for.ptr()) || PyMemoryView_Check(asked_for.ptr());
    const py::object name = may_change ? py::object(to_bytes(views[i])) : asked_for;
    found[name] = to_bytes(
        all.substr(static_cast<std::size_t>(start), static_cast<std::size_t>(end - start)));
    start = end;
  }
  return found;
}

std::size_t delete_many(FamilyHandle& family, py::handle keys) {
  HeldObjects held;
  const std::vector<std::string_view> views = take_keys(keys, held);
  std::size_t deleted = 0;
  run(family, [&](KVColumnFamily* cf) { return delete_entries(cf, views, deleted); });
  return deleted;
}

}  // namespace mayfly::internal
