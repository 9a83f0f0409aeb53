// SPDX-License-Identifier: Apache-2.0
// How a transaction changes families. The catalog that it changes is its own until it is committed.

#include "store/lmdb/lmdb.h"
#include "store/txn/txn.h"

namespace mayfly {

Catalog& Txn::change_catalog() {
  if (!changed_) changed_ = catalog_->catalog();
  return *changed_;
}

// The handle of a table that this transaction's catalog names; makes the table if it is new.
Result<MDB_dbi> Txn::table(std::uint32_t number) {
  for (const NewTable& made : new_tables_) {
    if (made.number == number) return made.handle;
  }
  if (const MDB_dbi known = owner_.environment.table(number); known != 0) return known;
  if (!tables_lock_.owns_lock()) tables_lock_ = owner_.environment.lock_tables();
  auto made = owner_.environment.make_table(lmdb_, number);
  if (!made) return made.error();
  new_tables_.push_back(*made);
  return made->handle;
}

Result<Family> Txn::create_family(std::string_view name) {
  if (ended()) return ended_error();
  if (const Status good = check_family_name(name); !good) return good.error();
  std::string quoted = "the family '";
  quoted.append(name).append("'");
  if (catalog().find(name)) return Error{Code::invalid, quoted + " exists already"};
  if (catalog().families().size() >= kFamiliesMax) {
    return Error{Code::full, quoted + " would be one too many: a store has " +
                                 std::to_string(kFamiliesMax) + " at the most"};
  }
  std::atomic<std::uint32_t>& next_id = owner_.environment.next_family_id();
  const Family family = change_catalog().create(name, next_id.load());
  next_id.store(Catalog::id_of(family) + 1);
  auto made = table(catalog().find(family)->data);
  if (!made) {
    fail(made.error());
    return made.error();
  }
  return family;
}

Status Txn::drop_family(std::string_view name) {
  if (ended()) return ended_error();
  std::string quoted = "the family '";
  quoted.append(name).append("'");
  const std::optional<Family> family = catalog().find(name);
  if (!family) return Error{Code::not_found, quoted + " is not in the store"};
  if (*family == Family()) return Error{Code::invalid, quoted + " cannot be dropped; clear it"};
  FamilyView* const dropped = view(*family);
  const int code = clear(*dropped);
  if (code != 0) {
    fail(code, "drop a family");
    return *failure_;
  }
  change_catalog().drop(*family);
  forget_views();
  return Done{};
}

Status Txn::set_default_ttl(Family family, Millis ttl) {
  if (ended()) return ended_error();
  if (catalog().find(family) == nullptr) return missing_family();
  if (ttl <= Millis::zero()) {
    return Error{Code::invalid, "a default TTL of " + std::to_string(ttl.count()) +
                                    " ms makes no sense: it must be at least 1 ms"};
  }
  change_catalog().set_default_ttl(family, ttl);
  forget_views();
  return Done{};
}

Status Txn::make_ttl_tables(FamilyView& view) {
  change_catalog().add_ttl_tables(view.family);
  const FamilyRecord& record = *catalog().find(view.family);
  for (const std::uint32_t number : {record.keys, record.deadlines}) {
    auto made = table(number);
    if (!made) return made.error();
  }
  forget_views();
  return Done{};
}

Status Txn::write_catalog() {
  const std::string bytes = changed_->encode();
  MDB_val key = to_val(kCatalogKey);
  MDB_val value = to_val(bytes);
  const int code = ::mdb_put(lmdb_, kMainTable, &key, &value, 0);
  if (code != 0) return lmdb_error(code, "write the catalog");
  return Done{};
}

}  // namespace mayfly
