// SPDX-License-Identifier: Apache-2.0
// `Iterator` and `_mayfly.Snapshot`: walking over keys, and looking at one moment.

#include <memory>
#include <string>
#include <vector>

#include "python/binding.h"
#include "python/iterating.h"

namespace mayfly::internal {
namespace {

PyObject* next_item(PyObject* self) {
  IteratorHandle* const handle = object_of<IteratorHandle>(self);
  return handle == nullptr ? nullptr : handle->next_item();
}

// A `for` loop is the way by which most entries are read; see hot.cc.
void add_loop(PyHeapTypeObject* type) {
  type->ht_type.tp_iter = PyObject_SelfIter;
  type->ht_type.tp_iternext = next_item;
}

void expect(bool is_done) {
  if (!is_done) throw py::error_already_set();
}

// Reads what it stands on. Throws if that is nothing.
IteratorHandle& loaded(IteratorHandle& iterator) {
  expect(iterator.check());
  const int code = iterator.load();
  if (code == KVSTORE_NOTFOUND) {
    raise_error("the iterator is not on an entry: eof is True");
    throw py::error_already_set();
  }
  if (code != KVSTORE_OK) expect(raise_code(iterator.kv, code) != nullptr);
  return iterator;
}

template <auto kMove>
void step(IteratorHandle& iterator) {
  expect(iterator.move(kMove));
}

template <auto kMove>
py::object move(py::object self) {
  step<kMove>(self.cast<IteratorHandle&>());
  return self;
}

py::object seek(py::object self, py::handle key) {
  const BytesArg bytes = bytes_of(key, "key");
  expect(self.cast<IteratorHandle&>().seek(bytes.view()));
  return self;
}

py::object ttl(IteratorHandle& iterator) {
  loaded(iterator);
  std::int64_t left = 0;
  const int code = kvstore_iterator_ttl(iterator.iterator, &left);
  if (code != KVSTORE_OK) expect(raise_code(iterator.kv, code) != nullptr);
  if (left == KVSTORE_NO_TTL) return py::none();
  return py::float_(static_cast<double>(left) / 1000);
}

void close(IteratorHandle& iterator) {
  if (iterator.iterator == nullptr || iterator.home->abandoned) return;
  expect(iterator.check());
  iterator.close();
}

std::unique_ptr<IteratorHandle> make(py::object family, py::object prefix, bool reverse) {
  auto iterator = std::make_unique<IteratorHandle>();
  auto& handle = family.cast<FamilyHandle&>();
  if (prefix.is_none()) {
    expect(iterator->begin(handle, family.ptr(), {}, reverse));
    return iterator;
  }
  const BytesArg bytes = bytes_of(prefix, "prefix");
  if (bytes.view().empty() || bytes.view().size() > 65'536) {
    raise_error("a prefix must have 1 to 65536 bytes");
    throw py::error_already_set();
  }
  expect(iterator->begin(handle, family.ptr(), bytes.view(), reverse));
  return iterator;
}

py::tuple item(IteratorHandle& iterator) {
  loaded(iterator);
  return py::make_tuple(to_bytes(iterator.key), to_bytes(iterator.value));
}

// Runs `work()`, which returns a Status, on a snapshot without the GIL.
template <class Work>
void look(SnapshotHandle& snapshot, Work work) {
  expect(snapshot.check());
  snapshot.is_busy = true;
  const Status status = without_gil(work);
  snapshot.is_busy = false;
  if (!status) expect(raise_error(status.error().message.c_str()) != nullptr);
}

py::object snapshot_get(SnapshotHandle& snapshot, int family, py::handle key, py::object absent) {
  const BytesArg bytes = bytes_of(key, "key");
  std::optional<std::string> value;
  look(snapshot, [&] { return snapshot.get(family, bytes.view(), value); });
  if (!value) return absent;
  return to_bytes(*value);
}

// None if it is absent, 0 if it never expires, else ms since 1970.
py::object snapshot_deadline(SnapshotHandle& snapshot, int family, py::handle key) {
  const BytesArg bytes = bytes_of(key, "key");
  std::optional<Time> deadline;
  look(snapshot, [&] { return snapshot.deadline(family, bytes.view(), deadline); });
  if (!deadline) return py::none();
  return py::int_(*deadline == kNever ? 0 : deadline->time_since_epoch().count());
}

std::int64_t snapshot_count(SnapshotHandle& snapshot, int family) {
  std::int64_t live = 0;
  look(snapshot, [&] { return snapshot.count(family, live); });
  return live;
}

py::list snapshot_page(SnapshotHandle& snapshot, int family, py::handle prefix, py::handle after,
                       bool reverse) {
  SnapshotHandle::Page page{.reverse = reverse, .limit = 256};
  if (!prefix.is_none()) page.prefix = bytes_of(prefix, "prefix").view();
  if (!after.is_none()) page.after.emplace(bytes_of(after, "key").view());
  std::vector<SnapshotHandle::Entry> entries;
  look(snapshot, [&] { return snapshot.page(family, page, entries); });
  py::list found;
  for (const auto& [key, value] : entries) {
    found.append(py::make_tuple(to_bytes(key), to_bytes(value)));
  }
  return found;
}

}  // namespace

void bind_iterator(py::module_& module) {
  py::class_<IteratorHandle> type(module, "Iterator", py::custom_type_setup(add_loop));
  type.doc() = "Walks over the entries of a store or a column family in byte order of the keys.";
  type.def(py::init(&make), py::arg("family"), py::arg("prefix") = py::none(),
           py::arg("reverse") = false)
      .def("first", move<kvstore_iterator_first>, "Goes to the first entry. Returns itself.")
      .def("last", move<kvstore_iterator_last>,
           "Goes to the last entry, if it is a reverse iterator. Returns itself.")
      .def("next", step<kvstore_iterator_next>, "Goes one entry on.")
      .def("prev", step<kvstore_iterator_prev>, "Goes one entry back, if it is a reverse iterator.")
      .def("seek", seek, py::arg("key"),
           "Goes to the first key that is not less than `key`; a reverse iterator, to the last\n"
           "that is not greater. Returns itself; a `for` loop then begins there.\n")
      .def("close", close, "Ends it. A second time it does nothing.")
      .def("__enter__", [](py::object self) { return self; })
      .def("__exit__", [](IteratorHandle& self, const py::args&) { close(self); })
      .def_property_readonly(
          "eof",
          [](IteratorHandle& self) {
            expect(self.check());
            if (self.home != nullptr && !self.home->is_open) {
              raise_error("the store is closed");
              throw py::error_already_set();
            }
            return kvstore_iterator_eof(self.iterator) != 0;
          },
          "Whether it is not on an entry: at the end, or not yet put anywhere.")
      .def_property_readonly(
          "key", [](IteratorHandle& self) { return to_bytes(loaded(self).key); },
          "The key of the entry that it is on.")
      .def_property_readonly(
          "value", [](IteratorHandle& self) { return to_bytes(loaded(self).value); },
          "The value of the entry that it is on.")
      .def("item", item, "The key and the value of the entry that it is on, as a pair.")
      .def_property_readonly("ttl", ttl,
                             "The seconds that the entry has left; None if it never expires.");
}

void bind_snapshot(py::module_& module) {
  py::class_<SnapshotHandle>(module, "Snapshot")
      .def(py::init([](py::object store) {
        auto& home = store.cast<StoreHandle&>();
        expect(home.usable() != nullptr);
        auto snapshot = std::make_unique<SnapshotHandle>();
        const int code = snapshot->begin(home, store.ptr());
        if (code != KVSTORE_OK) throw_code(home, code);
        return snapshot;
      }))
      .def("close",
           [](SnapshotHandle& self) {
             if (!self.txn || self.home->abandoned) return;
             expect(self.check());
             std::erase(self.home->snapshots, &self);
             self.end();
           })
      .def("get", snapshot_get)
      .def("deadline_ms", snapshot_deadline)
      .def("count", snapshot_count)
      .def("page", snapshot_page)
      .def("family",
           [](SnapshotHandle& self, const std::string& name) {
             expect(self.check());
             return self.family(name);
           })
      .def("now_ms", [](SnapshotHandle& self) {
        expect(self.check());
        return self.txn->now().time_since_epoch().count();
      });
}

}  // namespace mayfly::internal
