// SPDX-License-Identifier: Apache-2.0
// Hooks for tests of the redo log. In the product they are nothing: rule_on() is true, test_step()
// does nothing, a SharedWord is an atomic. Built with MAYFLY_STORE_TEST_HOOKS, one rule of the log
// can be switched off, to see that a test fails then (tests/store_rules.cc), and a process can be
// stopped or killed at each step (tests/store_steps.cc).

#pragma once

#include <atomic>

namespace mayfly::internal {

// The rules that make the log safe. Each is one `if` in the engine.
enum class Rule {
  chain,          // record.cc: a record is bound to the one before it
  life,           // log_recovery.cc: each recovery appends a life record,
  life_sync,      // log_recovery.cc: and syncs it before anybody may use the store
  log_id,         // redo_log.cc: LMDB names the log that belongs to it
  dir_sync,       // log_recovery.cc: the directory is synced before LMDB names a new log
  lmdb_first,     // log_recovery.cc: LMDB names the log when that is whole, never before
  seg_link,       // log_reader.cc: a segment goes on where its header says
  recyc_durable,  // redo_log.cc: a segment is reused by what is durable, not by what LMDB shows
  recyc_check,    // redo_log.cc: a segment is reused only when LMDB has it
  open_sync,      // log_recovery.cc: who opens syncs LMDB before it counts as durable
  ckpt_resync,    // log_checkpoint.cc: a checkpoint syncs what one that died has left
  catch_up,       // environment_txn.cc: a writer takes its snapshot under the lock
  order,          // environment_txn.cc, redo_log.cc: the tail first, the LMDB snapshot second
  window,         // window.cc, redo_log.cc: of the tables only what LMDB does not have counts
  upper,          // window.cc: versions behind the tail of a snapshot are not seen
  revalidate,     // redo_log.cc: a follower checks each record, and begins again
  refcount,       // redo_log.cc: tables live as long as a snapshot needs them
  settle,         // log_recovery.cc: what a dead writer left is settled first
  published,      // environment_txn.cc: nobody goes beyond the published tail
  sync_before,    // log_sync.cc: what a sync covers is read before it
  ack_after,      // log_sync.cc: full acknowledges after the sync
  sync_lmdb,      // log_sync.cc: sync() syncs LMDB where it shows more than is durable
  unlink_last,    // log_recovery.cc: the log is removed when LMDB has all of it, durably
  gate,           // session.cc: whether one is alone is asked under the gate
  inode,          // session.cc: a lock file that has lost its name is given up
  pid,            // session.h, registry.cc: in the child of a fork nothing is closed or removed
  cut,            // log_checkpoint.cc: what a checkpoint leaves out is said by a record
  cut_table,      // window.cc: behind a cut its table hides what it erased
  range,          // window.cc: a cut says where its range begins
  locked,         // log_checkpoint.cc: a checkpoint without a cut holds the write lock
  own_now,        // log_checkpoint.cc: a cut has the moment of a transaction
  logged,         // log_purge.cc: what is purged is erased by records
  recheck,        // txn_write.cc: a noted key is looked up again
  base_count,     // window.cc: counts are those behind the cut
  snap_first,     // txn.cc: the clock is read after the snapshot is taken
};
inline constexpr int kRules = static_cast<int>(Rule::snap_first) + 1;

#ifdef MAYFLY_STORE_TEST_HOOKS

inline std::atomic<int> rule_off{-1};
inline std::atomic<void (*)(const char* what)> on_step{nullptr};

inline bool rule_on(Rule rule) { return rule_off.load() != static_cast<int>(rule); }
inline void test_step(const char* what) {
  if (auto* const handler = on_step.load()) handler(what);
}

template <class T>
class SharedWord : public std::atomic<T> {
 public:
  using std::atomic<T>::atomic;
  void store(T value, std::memory_order order = std::memory_order_seq_cst) {
    test_step("word");
    std::atomic<T>::store(value, order);
  }
  T operator=(T value) {
    store(value);
    return value;
  }
  T fetch_add(T value, std::memory_order order = std::memory_order_seq_cst) {
    test_step("word");
    return std::atomic<T>::fetch_add(value, order);
  }
  T fetch_sub(T value, std::memory_order order = std::memory_order_seq_cst) {
    test_step("word");
    return std::atomic<T>::fetch_sub(value, order);
  }
};

#else

constexpr bool rule_on(Rule) { return true; }
inline void test_step(const char*) {}
template <class T>
using SharedWord = std::atomic<T>;

#endif

}  // namespace mayfly::internal
