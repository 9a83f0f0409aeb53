// SPDX-License-Identifier: Apache-2.0
// Store::check(): is the tree sound, and do the three tables of each family agree?

#include <utility>

#include "mayfly/store.h"
#include "store/api/state.h"
#include "store/check/log_check.h"
#include "store/check/page_check.h"
#include "store/check/page_ledger.h"

namespace mayfly {
namespace {

constexpr std::size_t kProblemsMax = 20;
constexpr int kTries = 20;

class FamilyCheck {
 public:
  FamilyCheck(Txn& txn, Family family, CheckReport& report)
      : txn_(txn),
        name_(txn.catalog().find(family)->name),
        report_(report),
        view_(*txn.view(family)) {}

  Status run() {
    Status status = walk(view_.tables.data, &FamilyCheck::check_data);
    if (status && view_.tables.keys != 0) status = walk(view_.tables.keys, &FamilyCheck::check_key);
    if (status && view_.tables.deadlines != 0)
      status = walk(view_.tables.deadlines, &FamilyCheck::check_deadline);
    return status;
  }

 private:
  Status walk(MDB_dbi table, Status (FamilyCheck::*look)(std::string_view, std::string_view)) {
    internal::TableCursor cursor;
    if (Status opened = cursor.open(txn_.lmdb(), table); !opened) return opened;
    while (cursor.move(MDB_NEXT)) {
      ++report_.entries;
      if (Status looked = (this->*look)(cursor.key(), cursor.value()); !looked) return looked;
    }
    return cursor.status();
  }

  void problem(std::string_view what, std::string_view stored) {
    if (report_.problems.size() >= kProblemsMax) return;
    report_.problems.push_back(internal::join_text("family '", name_, "', key ",
                                                   internal::Quoted{stored, '\''}, ": ", what));
  }

  Result<std::optional<std::string_view>> row(MDB_dbi table, std::string_view key) {
    return internal::get_row(txn_.lmdb(), table, key);
  }

  Status check_data(std::string_view stored, std::string_view value) {
    if (!internal::is_long(stored)) return Done{};
    const auto split = internal::split_long_value(value);
    if (!split.ok ||
        internal::StoredKey(split.parts.key, txn_.catalog().hash_seed()).bytes() != stored) {
      problem("the value of a long key does not begin with that key", stored);
    }
    return Done{};
  }

  Status check_key(std::string_view stored, std::string_view value) {
    if (value.size() != internal::kDeadlineBytes) {
      problem("the key index has a value that is not a deadline", stored);
      return Done{};
    }
    const auto data = row(view_.tables.data, stored);
    if (!data) return data.error();
    if (!*data) problem("the key index has a key that has no value", stored);
    const internal::ExpiryKey expiry(internal::decode_deadline(value), stored);
    const auto deadline = row(view_.tables.deadlines, expiry.bytes());
    if (!deadline) return deadline.error();
    if (!*deadline) problem("the expiry index lacks the deadline that the key index has", stored);
    return Done{};
  }

  Status check_deadline(std::string_view row_key, std::string_view value) {
    if (row_key.size() <= internal::kDeadlineBytes || !value.empty()) {
      problem("the expiry index has a row that is not a deadline and a key", row_key);
      return Done{};
    }
    const std::string_view stored = row_key.substr(internal::kDeadlineBytes);
    const auto deadline = row(view_.tables.keys, stored);
    if (!deadline) return deadline.error();
    if (!*deadline || **deadline != row_key.substr(0, internal::kDeadlineBytes)) {
      problem("the expiry index has a deadline that the key index lacks", stored);
    }
    return Done{};
  }

  Txn& txn_;
  const std::string& name_;
  CheckReport& report_;
  FamilyView& view_;
};

Status check_families(Txn& txn, CheckReport& report) {
  for (const Family family : txn.catalog().families()) {
    if (Status checked = FamilyCheck(txn, family, report).run(); !checked) return checked;
  }
  return Done{};
}

}  // namespace

// The pages are looked at without LMDB, so that damage cannot hurt. The page that describes a
// snapshot is overwritten by the second commit after it; then another snapshot is tried.
Result<CheckReport> Store::check() const {
  if (state_->environment == nullptr) return closed_error();
  for (int tries = 0; tries < kTries; ++tries) {
    auto txn = Txn::begin_read(state_->owner());
    if (!txn) return txn.error();
    auto pages = internal::check_file(state_->environment->path(), ::mdb_txn_id((*txn)->lmdb()));
    if (!pages) return pages.error();
    const bool gone = state_->environment->info().me_last_txnid >= ::mdb_txn_id((*txn)->lmdb()) + 2;
    if (gone && !pages->problems.empty()) continue;
    CheckReport report;
    report.pages = pages->pages;
    report.problems = std::move(pages->problems);
    if (!report.ok()) return report;  // the tables cannot be trusted
    if (const Status looked = check_families(**txn, report); !looked) return looked.error();
    const auto fits = check_log(**txn, report);
    if (!fits) return fits.error();
    if (*fits) return report;
  }
  return Error{Code::busy, "cannot check the store: it changes too fast (try again)"};
}

}  // namespace mayfly
