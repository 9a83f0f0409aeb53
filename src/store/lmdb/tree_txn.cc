// SPDX-License-Identifier: Apache-2.0

#include "store/lmdb/tree_txn.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "store/lmdb/environment.h"
#include "store/lmdb/lmdb.h"

namespace mayfly::internal {
namespace {

constexpr std::size_t kStateBytes = 48;
constexpr std::size_t kProbeBytes = 65'536;

// LMDB calls it an input/output error when less was written than it asked for, which is how a disk
// that has just become full tells it first. Asked once more, it says so.
int reason_of(int code, MDB_env* env) {
  int file = -1;
  struct stat info {};
  if (code != EIO || ::mdb_env_get_fd(env, &file) != 0 || ::fstat(file, &info) != 0) return code;
  static const std::array<char, kProbeBytes> zeros{};
  const ssize_t written = ::pwrite(file, zeros.data(), zeros.size(), info.st_size);
  if (written < 0) return errno;
  if (::ftruncate(file, info.st_size) != 0) return code;
  return static_cast<std::size_t>(written) < zeros.size() ? ENOSPC : code;
}

}  // namespace

std::string TreeState::encode() const {
  std::string bytes(kStateBytes, '\0');
  std::memcpy(bytes.data(), store.bytes.data(), store.bytes.size());
  std::memcpy(bytes.data() + 16, log.bytes.data(), log.bytes.size());
  std::memcpy(bytes.data() + 32, &applied.position, sizeof applied.position);
  std::memcpy(bytes.data() + 40, &applied.chain, sizeof applied.chain);
  return bytes;
}

std::optional<TreeState> TreeState::decode(std::string_view bytes) {
  if (bytes.size() != kStateBytes) return std::nullopt;
  TreeState state;
  std::memcpy(state.store.bytes.data(), bytes.data(), state.store.bytes.size());
  std::memcpy(state.log.bytes.data(), bytes.data() + 16, state.log.bytes.size());
  std::memcpy(&state.applied.position, bytes.data() + 32, sizeof state.applied.position);
  std::memcpy(&state.applied.chain, bytes.data() + 40, sizeof state.applied.chain);
  return state;
}

Result<std::unique_ptr<TreeTxn>> TreeTxn::begin(Environment& environment) {
  const int entered = environment.may_end_write() ? 1 : 0;  // by the write transaction
  Inside inside(environment);
  ::mdb_reader_check(environment.lmdb(), nullptr);  // those that have died need no pages
  Status problem = Done{};
  for (int tries = 0; tries < 5; ++tries) {
    // Before it begins, so that the tables can be used in it.
    auto snapshot = environment.begin_internal_read();
    if (!snapshot) {
      problem = snapshot.error();
      break;
    }
    CatalogRef catalog = (*snapshot)->catalog;
    const TreeState state = (*snapshot)->state;
    const std::uint64_t seen = (*snapshot)->id;
    snapshot->reset();
    MDB_txn* txn = nullptr;
    const int code = ::mdb_txn_begin(environment.lmdb(), nullptr, 0, &txn);
    if (code == MDB_MAP_RESIZED && environment.adopt_larger_map(1 + entered).ok()) continue;
    if (code != 0) {
      problem = lmdb_error(code, "begin to write");
      break;
    }
    OwnTxn own(txn);
    std::unique_ptr<TreeTxn> tree(new TreeTxn(&environment, std::move(own), std::move(catalog)));
    tree->state_ = state;
    tree->pages_before_ = tree->tree_pages();
    if (::mdb_txn_id(txn) != seen + 1) continue;
    tree->inside_ = std::move(inside);
    return tree;
  }
  if (!problem) return problem.error();
  return Error{Code::busy, "cannot begin to write: the store changes too fast (try again)"};
}

Result<std::unique_ptr<TreeTxn>> TreeTxn::begin_in_copy(MDB_env* copy) {
  MDB_txn* txn = nullptr;
  int code = ::mdb_txn_begin(copy, nullptr, 0, &txn);
  if (code != 0) return lmdb_error(code, "write to the copy");
  OwnTxn own(txn);
  std::unique_ptr<TreeTxn> tree(new TreeTxn(nullptr, std::move(own), CatalogRef()));
  MDB_dbi main = 0;
  code = ::mdb_dbi_open(txn, nullptr, 0, &main);
  if (code != 0) return lmdb_error(code, "read the copy");
  const auto catalog_row = get_row(txn, kMainTable, kCatalogKey);
  if (!catalog_row) return catalog_row.error();
  auto catalog = Catalog::decode(catalog_row->value_or(std::string_view()));
  if (!catalog) return catalog.error();
  tree->catalog_ = make_ref<PublishedCatalog>(std::move(*catalog), ::mdb_txn_id(txn));
  const auto row = get_row(txn, kMainTable, kStateKey);
  if (!row) return row.error();
  const auto state = *row ? TreeState::decode(**row) : std::nullopt;
  if (state) tree->state_ = *state;
  return tree;
}

TreeTxn::TreeTxn(Environment* environment, OwnTxn txn, CatalogRef catalog)
    : environment_(environment), txn_(std::move(txn)), catalog_(std::move(catalog)) {}

TreeTxn::~TreeTxn() { txn_.reset(); }  // before the lock on the tables

Catalog& TreeTxn::change_catalog() {
  if (!changed_) changed_ = catalog_->catalog();
  return *changed_;
}

// The handle of a table that this transaction's catalog names; makes the table if it is new.
Result<MDB_dbi> TreeTxn::table(std::uint32_t number) {
  if (number == 0) return MDB_dbi{0};
  for (const NewTable& made : new_tables_) {
    if (made.number == number) return made.handle;
  }
  if (environment_ != nullptr) {
    if (const MDB_dbi known = environment_->table(number); known != 0) return known;
    if (!tables_lock_.owns_lock()) tables_lock_ = environment_->lock_tables();
  }
  new_tables_.reserve(new_tables_.size() + 1);
  MDB_dbi handle = 0;
  const int code = ::mdb_dbi_open(lmdb(), table_name(number).c_str(), MDB_CREATE, &handle);
  if (code != 0) return lmdb_error(code, "make a table");
  new_tables_.push_back({number, handle});
  return handle;
}

Result<FamilyTables> TreeTxn::tables(const FamilyRecord& record) {
  const auto data = table(record.data);
  if (!data) return data.error();
  const auto keys = table(record.keys);
  if (!keys) return keys.error();
  const auto deadlines = table(record.deadlines);
  if (!deadlines) return deadlines.error();
  return FamilyTables{*data, *keys, *deadlines};
}

Result<FamilyTables> TreeTxn::tables_with_deadlines(Family family) {
  if (catalog().find(family)->keys == 0) change_catalog().add_ttl_tables(family);
  return tables(*catalog().find(family));
}

std::int64_t TreeTxn::tree_pages() const {
  std::uint64_t pages = 0;
  const auto count = [&](MDB_dbi handle) {
    MDB_stat stat{};
    if (handle == 0 || ::mdb_stat(lmdb(), handle, &stat) != 0) return;
    pages += stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages;
  };
  for (std::uint32_t number = 1; number <= catalog_->catalog().tables(); ++number) {
    count(environment_->table(number));
  }
  for (const NewTable& made : new_tables_) count(made.handle);
  return static_cast<std::int64_t>(pages);
}

Status TreeTxn::commit() {
  Status written = put_row(lmdb(), kMainTable, kStateKey, state_.encode());
  if (written && changed_) written = put_row(lmdb(), kMainTable, kCatalogKey, changed_->encode());
  if (!written) return written;
  const std::uint64_t id = ::mdb_txn_id(lmdb());
  MDB_env* const env = ::mdb_txn_env(lmdb());
  CatalogRef changed;  // made before the commit, which must not fail afterwards
  if (changed_) changed = make_ref<PublishedCatalog>(*changed_, id);
  int code = 0;
  {
    const NoSizeSignal quiet(file_size_limit() != UINT64_MAX);
    code = ::mdb_txn_commit(txn_.release());
    if (code != 0) code = reason_of(code, env);
    if (code != 0 && environment_ != nullptr) (void)environment_->leaves_disk(0);  // again
  }
  if (code == 0 && environment_ != nullptr) environment_->on_tree_commit(id, changed, new_tables_);
  if (tables_lock_.owns_lock()) tables_lock_.unlock();
  inside_.leave();
  if (code != 0) return lmdb_error(code, "commit");
  return Done{};
}

}  // namespace mayfly::internal
