// SPDX-License-Identifier: Apache-2.0
// The part of Store::check() that is about the log: is it whole from what LMDB has to the tail, and
// do the memory tables say what it says?

#include "store/check/log_check.h"

#include "base/hex.h"
#include "store/table/window_cursor.h"

namespace mayfly {
namespace {

using internal::InTables;
using internal::Window;
using internal::WindowKeys;

constexpr std::size_t kProblemsMax = 20;

class LogCheck {
 public:
  LogCheck(Txn& txn, CheckReport& report) : txn_(txn), report_(report) {}

  Result<bool> run() {
    internal::RedoLog& log = txn_.owner().environment.log();
    auto replayed = log.replay(txn_.snapshot().state, txn_.window());
    if (!replayed && log.is_applied_beyond(txn_.snapshot().state)) return false;
    if (!replayed) problem(replayed.error().message);
    if (!replayed) return true;
    for (const Family family : txn_.catalog().families()) {
      if (const Status compared = compare(family, *replayed); !compared) return compared.error();
    }
    return true;
  }

 private:
  void problem(const std::string& what) {
    if (report_.problems.size() < kProblemsMax) report_.problems.push_back("log: " + what);
  }

  Status compare(Family family, const Window& replayed) {
    const std::uint32_t id = internal::Catalog::id_of(family);
    WindowKeys tables(txn_.window(), id);
    WindowKeys log(replayed, id);
    bool in_tables = tables.first();
    bool in_log = log.first();
    while (in_tables || in_log) {
      if (in_tables != in_log || tables.key() != log.key() || !agree(tables.what(), log.what())) {
        problem("the memory tables do not agree with it");
        return Done{};
      }
      ++report_.entries;
      if (Status checked = check_value(family, log); !checked) return checked;
      in_tables = tables.next();
      in_log = log.next();
    }
    const auto counted = txn_.window().count(id);
    const auto replayed_count = replayed.count(id);
    if (counted.entries != replayed_count.entries) problem("the counts do not agree with it");
    return Done{};
  }

  static bool agree(const InTables& a, const InTables& b) {
    if (a.state != b.state || a.deadline != b.deadline) return false;
    if ((a.value == nullptr) != (b.value == nullptr)) return false;
    return a.value == nullptr || a.value->value() == b.value->value();
  }

  // A record that changes only a deadline needs a value in LMDB.
  Status check_value(Family family, const WindowKeys& log) {
    if (log.what().state != InTables::State::there || log.what().value != nullptr) return Done{};
    const auto found = txn_.look(*txn_.view(family), log.key(), Need::value);
    if (!found && found.error().code != Code::corrupt) return found.error();
    if (!found || !*found) problem("a deadline is changed of a key that has no value");
    return Done{};
  }

  Txn& txn_;
  CheckReport& report_;
};

}  // namespace

Result<bool> check_log(Txn& txn, CheckReport& report) { return LogCheck(txn, report).run(); }

}  // namespace mayfly
