// SPDX-License-Identifier: Apache-2.0
// `_mayfly.Store`: opening and closing, transactions, column families and maintenance.
// mayfly/_store.py has the rest.

#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "kvstore_log.h"
#include "python/binding.h"
#include "python/entries.h"

namespace mayfly::internal {
namespace {

using Store_ = py::class_<StoreHandle, FamilyHandle>;

// The clock that Python code gave, for any thread. If it fails, what it raised is shown, and time
// stands still.
std::int64_t ask_clock(void* callable) {
  const PyGILState_STATE state = enter_python();
  PyObject* const seconds = PyObject_CallNoArgs(static_cast<PyObject*>(callable));
  const double now = seconds == nullptr ? -1.0 : PyFloat_AsDouble(seconds);
  Py_XDECREF(seconds);
  const bool has_failed = PyErr_Occurred() != nullptr;
  if (has_failed) PyErr_WriteUnraisable(static_cast<PyObject*>(callable));
  PyGILState_Release(state);
  return has_failed ? 0 : static_cast<std::int64_t>(std::floor(now * 1000 + 1e-6));
}

struct Options {
  std::optional<std::string> path;
  int sync_level;
  bool read_only;
  int busy_timeout;
  int wal_size_limit;
  py::object clock;
};

std::optional<std::string> text_of(const py::object& path) {
  return path.is_none() ? std::nullopt : std::optional(path.cast<std::string>());
}

std::unique_ptr<StoreHandle> open(const Options& options) {
  auto store = std::make_unique<StoreHandle>();
  std::array<char, 512> text{};
  KVStoreConfig config{};
  config.syncLevel = options.sync_level;
  config.readOnly = options.read_only ? 1 : 0;
  config.busyTimeout = options.busy_timeout;
  config.walSizeLimit = options.wal_size_limit;
  KVStoreOptions more{};
  more.size = sizeof more;
  more.errorText = text.data();
  more.errorTextSize = static_cast<int>(text.size());
  if (!options.clock.is_none()) {
    store->clock = Py_NewRef(options.clock.ptr());
    more.nowMs = ask_clock;
    more.nowArgument = store->clock;
  }
  store->home = store.get();
  const char* const path = options.path ? options.path->c_str() : nullptr;
  const int code = unlocked(*store, [&] {
    const int opened = kvstore_open_ex(path, &store->kv, &config, &more);
    return opened == KVSTORE_OK ? kvstore_cf_get_default(store->kv, &store->cf) : opened;
  });
  store->is_open = store->kv != nullptr;
  if (code != KVSTORE_OK) {
    raise_code(code, store->is_open ? kvstore_errmsg(store->kv) : text.data());
    throw py::error_already_set();
  }
  return store;
}

void close(StoreHandle& store) {
  const int code = store.close_store();
  if (code == KVSTORE_OK) return;
  raise_code(code, code == KVSTORE_BUSY ? "another thread has a write transaction open, or reads a "
                                          "snapshot of this store"
                                        : "the store could not be closed properly");
  throw py::error_already_set();
}

// Calls a function of the C API that takes the store and nothing else.
template <class... Args>
void run_store(StoreHandle& store, int (*function)(KVStore*, Args...), Args... args) {
  run(store, [&](KVColumnFamily*) { return function(store.kv, args...); });
}

py::dict stats(StoreHandle& store) {
  KVStoreStats found{};
  run_store(store, kvstore_stats, &found);
  py::dict result;
  result["puts"] = found.nPuts;
  result["gets"] = found.nGets;
  result["deletes"] = found.nDeletes;
  result["iterations"] = found.nIterations;
  result["errors"] = found.nErrors;
  result["bytes_read"] = found.nBytesRead;
  result["bytes_written"] = found.nBytesWritten;
  result["wal_commits"] = found.nWalCommits;
  result["checkpoints"] = found.nCheckpoints;
  result["ttl_expired"] = found.nTtlExpired;
  result["ttl_purged"] = found.nTtlPurged;
  result["db_pages"] = found.nDbPages;
  return result;
}

py::dict log_stats(StoreHandle& store) {
  KVStoreLogStats found{};
  found.size = sizeof found;
  run_store(store, kvstore_log_stats, &found);
  py::dict result;
  result["logged_bytes"] = found.nLoggedBytes;
  result["tree_bytes"] = found.nTreeBytes;
  result["tree_entries"] = found.nTreeEntries;
  result["expired_unwritten"] = found.nExpiredUnwritten;
  result["checkpoints"] = found.nCheckpoints;
  result["stalls"] = found.nStalls;
  result["stalled_ms"] = found.nStalledMs;
  result["log_syncs"] = found.nLogSyncs;
  result["log_bytes"] = found.nLogBytes;
  result["pending_bytes"] = found.nPendingBytes;
  result["table_bytes"] = found.nTableBytes;
  result["damaged_rows"] = found.nDamagedRows;
  return result;
}

py::tuple checkpoint(StoreHandle& store, int mode) {
  int log_frames = 0;
  int done_frames = 0;
  run_store(store, kvstore_checkpoint, mode, &log_frames, &done_frames);
  return py::make_tuple(log_frames, done_frames);
}

void integrity_check(StoreHandle& store) {
  char* message = nullptr;
  const int code =
      run_code(store, [&](KVColumnFamily*) { return kvstore_integrity_check(store.kv, &message); });
  if (code == KVSTORE_OK) return;
  raise_code(code, message == nullptr ? kvstore_errmsg(store.kv) : message);
  snkv_free(message);
  throw py::error_already_set();
}

py::list list_families(StoreHandle& store) {
  char** names = nullptr;
  int count = 0;
  run_store(store, kvstore_cf_list, &names, &count);
  py::list found;
  for (int i = 0; i < count; ++i) {
    found.append(py::str(names[i]));
    snkv_free(names[i]);
  }
  snkv_free(names);
  return found;
}

void drop_family(StoreHandle& store, const std::string& name) {
  refuse_zero_byte(name);
  const int code =
      run_code(store, [&](KVColumnFamily*) { return kvstore_cf_drop(store.kv, name.c_str()); });
  if (code == KVSTORE_NOTFOUND) {
    raise_missing(py::str(name).ptr());
    throw py::error_already_set();
  }
  if (code != KVSTORE_OK) throw_code(store, code);
}

void end_group(StoreHandle& store) {
  if (store.usable() == nullptr) throw py::error_already_set();
  if (store.group_left != 0 && !store.end_group()) throw py::error_already_set();
}

void bind_transactions(Store_& type) {
  type.def("_group_writes", [](StoreHandle& store, int size) { store.group_size = size; })
      .def("_end_group", end_group)
      .def(
          "_begin",
          [](StoreHandle& store, bool write) { run_store(store, kvstore_begin, write ? 1 : 0); },
          py::arg("write"))
      .def(
          "commit", [](StoreHandle& store) { run_store(store, kvstore_commit); },
          "Makes all that this thread did since begin() take effect; without one it does\n"
          "nothing. If it fails, all of it is undone.\n")
      .def(
          "rollback", [](StoreHandle& store) { run_store(store, kvstore_rollback); },
          "Undoes all that this thread did since begin(); without one it does nothing.\n")
      .def_property_readonly(
          "in_transaction",
          [](StoreHandle& store) {
            bool is_open = false;
            run(store, [&](KVColumnFamily* cf) {
              is_open = in_transaction(cf);
              return KVSTORE_OK;
            });
            return is_open;
          },
          "Whether this thread has begun a transaction that has not ended.");
}

void bind_maintenance(Store_& type) {
  type.def(
          "sync", [](StoreHandle& store) { run_store(store, kvstore_sync); },
          "Returns when all that was committed is on disk.\n")
      .def(
          "vacuum",
          [](StoreHandle& store, int pages) {
            run_store(store, kvstore_incremental_vacuum, pages);
          },
          py::arg("n_pages") = 0,
          "Makes the file smaller if nobody else is using it. With `n_pages` above 0 it does\n"
          "nothing: free pages are reused anyway.\n")
      .def(
          "compact", [](StoreHandle& store) { run_store(store, kvstore_compact); },
          "Makes the file as small as possible. BusyError if it is in use.\n")
      .def("integrity_check", integrity_check,
           "Reads the whole file; CorruptError says what is wrong with it, if anything.\n")
      .def("checkpoint", checkpoint, py::arg("mode") = 0,
           "Writes what the log has to the file, on disk; it happens by itself when there is\n"
           "need. `mode` (CHECKPOINT_...): PASSIVE waits for no writer and does what can be done;\n"
           "FULL and RESTART wait, as long as `busy_timeout` says; TRUNCATE also removes the log.\n"
           "Returns how many transactions were only in the log, and how many of these are in\n"
           "the file now; (0, 0) after TRUNCATE.\n")
      .def("stats", stats,
           "What this object has counted since it was opened or reset, as a dict of 12.\n")
      .def("log_stats", log_stats,
           "About the log and its checkpoints: what this process has done since it opened the\n"
           "store (bytes logged and written to the file, entries written, entries that expired\n"
           "before that, checkpoints, waits of writers), and the log as it is now. A dict.\n")
      .def(
          "stats_reset", [](StoreHandle& store) { run_store(store, kvstore_stats_reset); },
          "Sets what stats() counts back to 0.\n")
      .def("_backup",
           [](StoreHandle& store, const std::string& path) {
             run_store(store, kvstore_backup, path.c_str());
           })
      .def("list_column_families", list_families,
           "The names of all column families but the default one, in byte order.\n")
      .def("drop_column_family", drop_family, py::arg("name"),
           "Removes a column family with all its entries. BusyError while a ColumnFamily or an\n"
           "Iterator of it is open; NotFoundError if there is none.\n");
}

}  // namespace

void bind_store(py::module_& module) {
  Store_ type(module, "Store");
  type.def(py::init([](py::object path, int sync_level, bool read_only, int busy_timeout,
                       int wal_size_limit, py::object clock) {
             return open({text_of(path), sync_level, read_only, busy_timeout, wal_size_limit,
                          std::move(clock)});
           }),
           py::arg("path"), py::arg("sync_level"), py::arg("read_only"), py::arg("busy_timeout"),
           py::arg("wal_size_limit"), py::arg("clock"))
      .def("close", close,
           "Closes the store: an open transaction is undone, iterators and snapshots end. A\n"
           "second time it does nothing. BusyError if another thread has a write transaction\n"
           "open.\n")
      .def_property_readonly(
          "closed", [](StoreHandle& store) { return !store.is_open || store.abandoned; },
          "Whether it is closed.")
      .def_property_readonly(
          "errmsg", [](StoreHandle& store) { return std::string(kvstore_errmsg(store.kv)); },
          "Why the last call of this thread that failed did so; 'no error' if none did.")
      .def("_abandon", [](StoreHandle& store) { store.abandoned = true; });
  bind_transactions(type);
  bind_maintenance(type);
}

}  // namespace mayfly::internal
