// SPDX-License-Identifier: Apache-2.0
// `_mayfly.Family`: all that a column family can do, one key at a time. mayfly/_family.py and
// hot.cc have the rest.

#include <cstdint>
#include <optional>
#include <string>

#include "kvstore_histogram.h"
#include "python/binding.h"
#include "python/entries.h"

namespace mayfly::internal {
namespace {

using Family_ = py::class_<FamilyHandle>;

std::int64_t counted(FamilyHandle& family, int (*count)(KVColumnFamily*, std::int64_t*)) {
  std::int64_t result = 0;
  run(family, [&](KVColumnFamily* cf) { return count(cf, &result); });
  return result;
}

py::object ttl(FamilyHandle& family, py::handle key) {
  std::int64_t left = 0;
  run_for(family, key, [&](KVColumnFamily* cf, const BytesArg& bytes) {
    return kvstore_cf_ttl_remaining(cf, bytes.data(), bytes.size(), &left);
  });
  if (left == KVSTORE_NO_TTL) return py::none();
  return py::float_(static_cast<double>(left) / 1000);
}

std::int64_t deadline(FamilyHandle& family, py::handle key) {
  std::int64_t expire_ms = 0;
  run_for(family, key, [&](KVColumnFamily* cf, const BytesArg& bytes) {
    return kvstore_cf_deadline(cf, bytes.data(), bytes.size(), &expire_ms);
  });
  return expire_ms;
}

bool put_if_absent(FamilyHandle& family, py::handle key, py::handle value, py::handle ttl_object) {
  const BytesArg stored = bytes_of(value, "value");
  const Expiry expiry = expiry_of(ttl_object);
  bool inserted = false;
  run_for(family, key, [&](KVColumnFamily* cf, const BytesArg& bytes) {
    return put_absent(cf, {bytes.view(), stored.view(), expiry}, inserted);
  });
  return inserted;
}

bool compare_and_set(FamilyHandle& family, py::handle key, py::handle expected, py::handle value,
                     py::handle ttl_object) {
  const BytesArg stored = bytes_of(value, "value");
  const Expiry expiry = expiry_of(ttl_object);
  BytesArg old;
  std::optional<std::string_view> wanted;
  if (!expected.is_none()) {
    if (!old.read(expected.ptr(), "value")) throw py::error_already_set();
    wanted = old.view();
  }
  bool swapped = false;
  run_for(family, key, [&](KVColumnFamily* cf, const BytesArg& bytes) {
    return swap_entry(cf, {bytes.view(), stored.view(), expiry}, wanted, swapped);
  });
  return swapped;
}

std::int64_t increment(FamilyHandle& family, py::handle key, std::int64_t delta,
                       py::handle ttl_object) {
  const Expiry expiry = expiry_of(ttl_object);
  std::int64_t sum = 0;
  run_for(family, key, [&](KVColumnFamily* cf, const BytesArg& bytes) {
    return add_to_entry(cf, bytes.view(), delta, expiry, sum);
  });
  return sum;
}

bool expire(FamilyHandle& family, py::handle key, py::handle ttl_object, int flags) {
  if (ttl_object.is_none()) throw py::type_error("expire needs a TTL; persist() removes one");
  const Expiry expiry = expiry_of(ttl_object);
  bool changed = false;
  run_for(family, key, [&](KVColumnFamily* cf, const BytesArg& bytes) {
    return expire_entry(cf, bytes.view(), expiry, flags, changed);
  });
  return changed;
}

void touch(FamilyHandle& family, py::handle key, py::handle ttl_object) {
  if (ttl_object.is_none()) throw py::type_error("touch needs a TTL");
  const Expiry expiry = expiry_of(ttl_object);
  run_for(family, key, [&](KVColumnFamily* cf, const BytesArg& bytes) {
    return touch_entry(cf, bytes.view(), expiry);
  });
}

bool persist(FamilyHandle& family, py::handle key) {
  int changed = 0;
  run_for(family, key, [&](KVColumnFamily* cf, const BytesArg& bytes) {
    return kvstore_cf_persist(cf, bytes.data(), bytes.size(), &changed);
  });
  return changed != 0;
}

py::bytes pop(FamilyHandle& family, py::handle key) {
  std::string value;
  run_for(family, key, [&](KVColumnFamily* cf, const BytesArg& bytes) {
    return pop_entry(cf, bytes.view(), value);
  });
  return to_bytes(value);
}

// The value that is there after the call: the stored one, or `value`, which was stored.
py::bytes set_default(FamilyHandle& family, py::handle key, py::handle value,
                      py::handle ttl_object) {
  const BytesArg stored = bytes_of(value, "value");
  const Expiry expiry = expiry_of(ttl_object);
  std::optional<std::string> present;
  run_for(family, key, [&](KVColumnFamily* cf, const BytesArg& bytes) {
    return get_or_put_entry(cf, {bytes.view(), stored.view(), expiry}, present);
  });
  return present ? to_bytes(*present) : to_bytes(stored.view());
}

// A pair, or None if there is no entry.
py::object pop_first(FamilyHandle& family) {
  std::string key;
  std::string value;
  const int code =
      run_code(family, [&](KVColumnFamily* cf) { return pop_first_entry(cf, key, value); });
  if (code == KVSTORE_NOTFOUND) return py::none();
  if (code != KVSTORE_OK) throw_code(family, code);
  return py::make_tuple(to_bytes(key), to_bytes(value));
}

void put_at(FamilyHandle& family, py::handle key, py::handle value, std::int64_t expire_ms) {
  const BytesArg stored = bytes_of(value, "value");
  run_for(family, key, [&](KVColumnFamily* cf, const BytesArg& bytes) {
    return kvstore_cf_put_ttl(cf, bytes.data(), bytes.size(), stored.data(), stored.size(),
                              expire_ms);
  });
}

std::int64_t purge(FamilyHandle& family, std::int64_t limit, py::object seconds, bool everywhere) {
  std::optional<std::int64_t> budget_ns;
  if (!seconds.is_none()) budget_ns = static_cast<std::int64_t>(seconds.cast<double>() * 1e9);
  std::int64_t purged = 0;
  run(family,
      [&](KVColumnFamily* cf) { return purge_for(cf, limit, budget_ns, everywhere, purged); });
  return purged;
}

py::list expiring(FamilyHandle& family, std::int64_t from_ms, std::int64_t to_ms, int limit) {
  KVExpiring* entries = nullptr;
  int count = 0;
  run(family, [&](KVColumnFamily* cf) {
    return kvstore_cf_expiring(cf, from_ms, to_ms, limit, &entries, &count);
  });
  py::list found;
  for (int i = 0; i < count; ++i) {
    const KVExpiring& entry = entries[i];
    const auto size = static_cast<std::size_t>(entry.keyLength);
    found.append(
        py::make_tuple(py::bytes(static_cast<const char*>(entry.key), size), entry.expireMs));
  }
  snkv_free(entries);
  return found;
}

// ([(entries, bytes), ...], (entries, bytes), ms): the buckets, what is overdue, and since when.
py::tuple ttl_histogram(FamilyHandle& family, bool with_bytes, bool everywhere) {
  KVTtlHistogram found{};
  found.size = sizeof found;
  const int flags = with_bytes ? KVSTORE_TTL_BYTES : 0;
  run(family, [&](KVColumnFamily* cf) {
    return everywhere ? kvstore_ttl_histogram_all(family.home->kv, flags, &found)
                      : kvstore_cf_ttl_histogram(cf, flags, &found);
  });
  py::list buckets;
  for (const KVTtlCount& count : found.buckets) {
    buckets.append(py::make_tuple(count.nEntries, count.nBytes));
  }
  return py::make_tuple(buckets, py::make_tuple(found.overdue.nEntries, found.overdue.nBytes),
                        found.oldestOverdueMs);
}

void open(FamilyHandle& family, py::object store, const std::string& name, bool create) {
  refuse_zero_byte(name);
  auto& home = store.cast<StoreHandle&>();
  const auto make = create ? kvstore_cf_create : kvstore_cf_open;
  const int code =
      run_code(home, [&](KVColumnFamily*) { return make(home.kv, name.c_str(), &family.cf); });
  if (code == KVSTORE_NOTFOUND) {
    raise_missing(py::str(name).ptr());
    throw py::error_already_set();
  }
  if (code != KVSTORE_OK) throw_code(home, code);
  family.home = &home;
  family.owner = store.release().ptr();
}

void bind_keys(Family_& type) {
  using py::arg;
  type.def("ttl", ttl, arg("key"),
           "The seconds that `key` has left; None if it never expires; 0.0 if it has expired and\n"
           "was not removed yet; NotFoundError if it is not there.\n")
      .def("put_if_absent", put_if_absent, arg("key"), arg("value"), arg("ttl") = py::none(),
           "Stores only if the key is absent or expired. Returns whether it did; if not, value\n"
           "and expiry stay.\n")
      .def("compare_and_set", compare_and_set, arg("key"), arg("expected"), arg("value"),
           arg("ttl") = py::none(),
           "Replaces the value if it is now `expected` (None: if there is none). Returns whether\n"
           "it did. Without `ttl` the expiry stays.\n")
      .def("increment", increment, arg("key"), arg("delta") = 1, arg("ttl") = py::none(),
           "Adds to the decimal number in the value and returns the sum; an absent key counts as\n"
           "0. The expiry stays; `ttl` is for a key that is made.\n")
      .def("touch", touch, arg("key"), arg("ttl"),
           "Puts the expiry off to `ttl` from now, if the key has one and it is sooner: a sliding\n"
           "TTL. NotFoundError if there is no such key.\n")
      .def("persist", persist, arg("key"),
           "Makes a key permanent. Returns whether it had an expiry.\n")
      .def("_expire", expire, arg("key"), arg("ttl"), arg("flags"))
      .def("_deadline_ms", deadline, arg("key"))
      .def("_pop", pop, arg("key"))
      .def("_pop_first", pop_first)
      .def("_set_default", set_default, arg("key"), arg("value"), arg("ttl"))
      .def("_put_at", put_at, arg("key"), arg("value"), arg("expire_ms"));
}

void bind_all_keys(Family_& type) {
  using py::arg;
  type.def(
          "clear", [](FamilyHandle& family) { run(family, kvstore_cf_clear); },
          "Removes all entries of this column family.\n")
      .def(
          "count", [](FamilyHandle& family) { return counted(family, kvstore_cf_count); },
          "Entries in the file, expired ones that have not been removed included. len() counts\n"
          "those that a get would find.\n")
      .def("__len__", [](FamilyHandle& family) { return counted(family, kvstore_cf_count_live); })
      .def("_purge", purge, arg("limit"), arg("seconds"), arg("everywhere"))
      .def("_expiring", expiring, arg("from_ms"), arg("to_ms"), arg("limit"))
      .def("_ttl_histogram", ttl_histogram, arg("with_bytes"), arg("everywhere"))
      .def("_next_deadline_ms",
           [](FamilyHandle& family) { return counted(family, kvstore_cf_next_deadline); })
      .def("_get_default_ttl_ms",
           [](FamilyHandle& family) { return counted(family, kvstore_cf_get_default_ttl); })
      .def("_set_default_ttl_ms",
           [](FamilyHandle& family, std::int64_t ttl_ms) {
             run(family,
                 [&](KVColumnFamily* cf) { return kvstore_cf_set_default_ttl(cf, ttl_ms); });
           })
      .def("_now_ms", [](FamilyHandle& family) {
        std::int64_t now = 0;
        run(family, [&](KVColumnFamily* cf) {
          now = now_ms(cf);
          return KVSTORE_OK;
        });
        return now;
      });
}

}  // namespace

void bind_family(py::module_& module) {
  using py::arg;
  Family_ type(module, "Family", py::custom_type_setup(add_hot_methods));
  type.def(py::init([](py::object store, const std::string& name, bool create) {
             auto family = std::make_unique<FamilyHandle>();
             open(*family, std::move(store), name, create);
             return family;
           }),
           arg("store"), arg("name"), arg("create"))
      .def("close", [](FamilyHandle& family) {
        if (!family.home->abandoned && !family.is_closing) family.close();
      });
  bind_keys(type);
  bind_all_keys(type);
  type.def("put_many", put_many, arg("items"), arg("ttl") = py::none(),
           "Stores all of a mapping, or of pairs (key, value) or triples (key, value, ttl), in\n"
           "one transaction: all of them or none.\n")
      .def("get_many", get_many, arg("keys"),
           "A dict of those of `keys` that are there, as they are given, and their values, all\n"
           "of one moment.\n")
      .def("delete_many", delete_many, arg("keys"),
           "Removes the keys in one transaction. Returns how many were there.\n");
}

}  // namespace mayfly::internal
