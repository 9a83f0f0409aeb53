// SPDX-License-Identifier: Apache-2.0
// A small store under a PowerGuard, for its tests: transaction n sets the key "n" to n, and some of
// the keys 0 to 99 as well; "total" is the sum of those. So every state can be recognised, and one
// that mixes two cannot pass for either.

#pragma once

#include <gtest/gtest.h>
#include <lmdb.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "mayfly/clock.h"
#include "store/log/power_guard.h"

namespace mayfly::internal {

class GuardedStore {
 public:
  GuardedStore(const std::string& path, const Clock& clock, const PowerGuardOptions& options) {
    EXPECT_EQ(mdb_env_create(&env_), 0);
    EXPECT_EQ(mdb_env_set_mapsize(env_, 64 << 20), 0);
    EXPECT_EQ(mdb_env_open(env_, path.c_str(), MDB_NOSUBDIR | MDB_NOTLS | MDB_NOSYNC, 0644), 0);
    guard_ = std::make_unique<PowerGuard>(env_, path, clock, options);
  }
  // As when the process dies: nothing is synced.
  ~GuardedStore() {
    guard_.reset();
    mdb_env_close(env_);
  }
  GuardedStore(const GuardedStore&) = delete;
  GuardedStore& operator=(const GuardedStore&) = delete;

  PowerGuard& guard() { return *guard_; }
  MDB_env* env() { return env_; }

  Status put() {
    Status status = guard_->before_write();
    if (!status) return status;
    write();
    guard_->after_commit();
    return Done{};
  }
  Status put_full() {
    Status status = guard_->before_full_write();
    if (!status) return status;
    mdb_env_set_flags(env_, MDB_NOSYNC, 0);
    write();
    mdb_env_set_flags(env_, MDB_NOSYNC, 1);
    return guard_->after_full_commit();
  }
  Status put_off() {
    Status status = guard_->before_full_write();
    if (!status) return status;
    write();
    guard_->after_abort();
    return Done{};
  }
  void put_many(int count) {
    for (int i = 0; i < count; ++i) {
      Status status = put();
      ASSERT_TRUE(status.ok()) << status.error().message;
    }
  }

  // The number of the last transaction, if the whole state is as it left it.
  std::optional<std::uint64_t> state() {
    MDB_txn* txn = nullptr;
    EXPECT_EQ(mdb_txn_begin(env_, nullptr, MDB_RDONLY, &txn), 0);
    MDB_dbi table = 0;
    EXPECT_EQ(mdb_dbi_open(txn, nullptr, 0, &table), 0);
    std::uint64_t total = 0;
    for (std::uint64_t key = 0; key < 100; ++key) total += get(txn, table, std::to_string(key));
    const bool is_whole = total == get(txn, table, "total");
    const std::uint64_t n = get(txn, table, "n");
    mdb_txn_abort(txn);
    return is_whole ? std::optional(n) : std::nullopt;
  }

  std::uint64_t pages() {
    MDB_envinfo info{};
    mdb_env_info(env_, &info);
    return info.me_last_pgno + 1;
  }

  // How many read transactions are open, pins included.
  int readers() {
    int count = 0;
    const auto add = [](const char* line, void* context) {
      const std::string_view text(line);
      if (text.find("pid") == text.npos && text.find("no ") == text.npos) {
        ++*static_cast<int*>(context);
      }
      return 0;
    };
    mdb_reader_list(env_, add, &count);
    return count;
  }

 private:
  static std::uint64_t get(MDB_txn* txn, MDB_dbi table, const std::string& key) {
    MDB_val name{key.size(), const_cast<char*>(key.data())};
    MDB_val value{};
    std::uint64_t number = 0;
    if (mdb_get(txn, table, &name, &value) == 0) std::memcpy(&number, value.mv_data, 8);
    return number;
  }
  static void set(MDB_txn* txn, MDB_dbi table, const std::string& key, std::uint64_t number) {
    char bytes[700] = {};  // so that a page holds five
    std::memcpy(bytes, &number, sizeof number);
    MDB_val name{key.size(), const_cast<char*>(key.data())};
    MDB_val value{sizeof bytes, bytes};
    EXPECT_EQ(mdb_put(txn, table, &name, &value, 0), 0);
  }
  void write() {
    MDB_txn* txn = nullptr;
    ASSERT_EQ(mdb_txn_begin(env_, nullptr, 0, &txn), 0);
    MDB_dbi table = 0;
    ASSERT_EQ(mdb_dbi_open(txn, nullptr, 0, &table), 0);
    const std::uint64_t n = get(txn, table, "n") + 1;
    std::uint64_t total = get(txn, table, "total");
    for (std::uint64_t i = 0; i < 3; ++i) {
      const std::string key = std::to_string((n * 37 + i * 11) % 100);
      total += n - get(txn, table, key);
      set(txn, table, key, n);
    }
    set(txn, table, "n", n);
    set(txn, table, "total", total);
    ASSERT_EQ(mdb_txn_commit(txn), 0);
  }

  MDB_env* env_ = nullptr;
  std::unique_ptr<PowerGuard> guard_;
};

class PowerGuardTest : public testing::Test {
 protected:
  PowerGuardTest() {
    std::string name = testing::TempDir() + "power_guard.XXXXXX";
    folder_ = ::mkdtemp(name.data());
    options_.growth_bytes = 64 << 10;
    options_.undo_bytes = 1 << 20;
    options_.boot_id = "first";
    open();
  }
  ~PowerGuardTest() override {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

  std::string path() const { return folder_ + "/store"; }
  std::string undo_path() const { return path() + "-undo"; }
  void open() { store_ = std::make_unique<GuardedStore>(path(), clock_, options_); }

  // What a reboot finds if the power is cut now and all that was written has reached the disk,
  // which is the case that looks most harmless: the recovery point.
  std::optional<std::uint64_t> state_after_power_cut() const {
    const std::string copy = folder_ + "/copy";
    std::filesystem::create_directory(copy);
    std::filesystem::copy(path(), copy + "/store");
    if (std::filesystem::exists(undo_path())) {
      std::filesystem::copy(undo_path(), copy + "/store-undo");
    }
    PowerGuardOptions options = options_;
    options.boot_id = "second";
    Status status = PowerGuard::recover(copy + "/store", options);
    EXPECT_TRUE(status.ok()) << status.error().message;
    std::optional<std::uint64_t> state;
    {
      GuardedStore recovered(copy + "/store", clock_, options);
      state = recovered.state();
    }
    std::filesystem::remove_all(copy);
    return state;
  }

  ManualClock clock_;
  std::string folder_;
  PowerGuardOptions options_;
  std::unique_ptr<GuardedStore> store_;
};

}  // namespace mayfly::internal
