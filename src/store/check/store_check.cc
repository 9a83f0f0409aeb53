// SPDX-License-Identifier: Apache-2.0
// Store::check(): is the tree sound, and do the three tables of each family agree?

#include <utility>

#include "mayfly/store.h"
#include "store/api/store_state.h"
#include "store/check/file_check.h"
#include "store/lmdb/lmdb.h"

namespace mayfly {
namespace {

constexpr std::size_t kProblemsMax = 20;
constexpr int kTries = 20;

// A key as a person can read it.
std::string quoted(std::string_view key) {
  constexpr std::size_t kShown = 40;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = "'";
  for (const char byte : key.substr(0, kShown)) {
    const auto number = static_cast<unsigned char>(byte);
    if (number >= 0x20 && number < 0x7f && byte != '\'' && byte != '\\') {
      text += byte;
    } else {
      text += "\\x";
      text += kDigits[number >> 4];
      text += kDigits[number & 15];
    }
  }
  text += key.size() > kShown ? "...'" : "'";
  return text;
}

class FamilyCheck {
 public:
  FamilyCheck(Txn& txn, Family family, CheckReport& report)
      : txn_(txn),
        name_(txn.catalog().find(family)->name),
        report_(report),
        view_(*txn.view(family)) {}

  int run() {
    int code = walk(view_.data, [this](auto key, auto value) { return check_data(key, value); });
    if (code == 0 && view_.keys != 0) {
      code = walk(view_.keys, [this](auto key, auto value) { return check_key(key, value); });
    }
    if (code == 0 && view_.deadlines != 0) {
      code = walk(view_.deadlines,
                  [this](auto key, auto value) { return check_deadline(key, value); });
    }
    return code;
  }

 private:
  template <class Look>
  int walk(MDB_dbi table, Look look) {
    MDB_cursor* cursor = nullptr;
    int code = ::mdb_cursor_open(txn_.lmdb(), table, &cursor);
    if (code != 0) return code;
    MDB_val key{};
    MDB_val value{};
    while (code == 0) {
      code = ::mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
      if (code == 0) code = look(to_view(key), to_view(value));
      ++report_.entries;
    }
    --report_.entries;
    ::mdb_cursor_close(cursor);
    return code == MDB_NOTFOUND ? 0 : code;
  }

  void problem(std::string_view what, std::string_view stored) {
    if (report_.problems.size() >= kProblemsMax) return;
    std::string text = "family '";
    text.append(name_).append("', key ").append(quoted(stored)).append(": ").append(what);
    report_.problems.push_back(std::move(text));
  }

  // Whether a table has a row; `value` is what stands there.
  int has(MDB_dbi table, std::string_view key, std::string_view& value, bool& there) {
    MDB_val name = to_val(key);
    MDB_val found{};
    const int code = ::mdb_get(txn_.lmdb(), table, &name, &found);
    there = code == 0;
    value = there ? to_view(found) : std::string_view();
    return code == MDB_NOTFOUND ? 0 : code;
  }

  int check_data(std::string_view stored, std::string_view value) {
    if (!is_long(stored)) return 0;
    const LongValueResult split = split_long_value(value);
    if (!split.ok || StoredKey(split.parts.key, txn_.catalog().hash_seed()).bytes() != stored) {
      problem("the value of a long key does not begin with that key", stored);
    }
    return 0;
  }

  int check_key(std::string_view stored, std::string_view value) {
    if (value.size() != kDeadlineBytes) {
      problem("the key index has something that is no deadline", stored);
      return 0;
    }
    std::string_view unused;
    bool there = false;
    if (const int code = has(view_.data, stored, unused, there); code != 0) return code;
    if (!there) problem("the key index has a key that has no value", stored);
    const ExpiryKey row(decode_deadline(value), stored);
    if (const int code = has(view_.deadlines, row.bytes(), unused, there); code != 0) return code;
    if (!there) problem("the expiry index lacks the deadline that the key index has", stored);
    return 0;
  }

  int check_deadline(std::string_view row, std::string_view value) {
    if (row.size() <= kDeadlineBytes || !value.empty()) {
      problem("the expiry index has something that is no deadline and key", row);
      return 0;
    }
    const std::string_view stored = row.substr(kDeadlineBytes);
    std::string_view deadline;
    bool there = false;
    if (const int code = has(view_.keys, stored, deadline, there); code != 0) return code;
    if (!there || deadline != row.substr(0, kDeadlineBytes)) {
      problem("the expiry index has a deadline that the key index lacks", stored);
    }
    return 0;
  }

  Txn& txn_;
  const std::string& name_;
  CheckReport& report_;
  FamilyView& view_;
};

Status check_families(Txn& txn, CheckReport& report) {
  for (const Family family : txn.catalog().families()) {
    const int code = FamilyCheck(txn, family, report).run();
    if (code != 0) return lmdb_error(code, "check the store");
  }
  return Done{};
}

}  // namespace

// The pages are looked at without LMDB, so that damage cannot hurt. The page that describes a
// snapshot is overwritten by the second commit after it; then another snapshot is tried.
Result<CheckReport> Store::check() const {
  if (state_->environment == nullptr) return Error{Code::invalid, "the store is closed"};
  for (int tries = 0; tries < kTries; ++tries) {
    auto txn = Txn::begin_read(state_->owner());
    if (!txn) return txn.error();
    auto pages = check_file(state_->environment->path(), ::mdb_txn_id((*txn)->lmdb()));
    if (!pages) return pages.error();
    MDB_envinfo info{};
    ::mdb_env_info(state_->environment->lmdb(), &info);
    const bool gone = info.me_last_txnid >= ::mdb_txn_id((*txn)->lmdb()) + 2;
    if (gone && !pages->problems.empty()) continue;
    CheckReport report;
    report.pages = pages->pages;
    report.problems = std::move(pages->problems);
    if (!report.ok()) return report;  // the tables cannot be trusted
    if (const Status looked = check_families(**txn, report); !looked) return looked.error();
    return report;
  }
  return Error{Code::busy, "the store changes too fast to be checked; try again"};
}

}  // namespace mayfly
