// SPDX-License-Identifier: Apache-2.0
// The suite `store`: Mayfly's store beside LMDB, SQLite and RocksDB, on the same operations.

#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/peers/peer.h"
#include "bench/report/results.h"
#include "bench/store/workloads.h"
#include "mayfly/store_options.h"
#include "mayfly/time.h"
#include "tools/terminal/progress.h"

namespace mayfly::bench {

// How large does the file get when entries come and go at a steady rate? A simulation: every second
// new entries with a TTL are put, the clock advances, and what is due is purged. So the number of
// live entries soon stays the same, and all that still grows is waste.
struct ChurnPlan {
  std::size_t puts_per_second = 20'000;
  std::chrono::seconds length = std::chrono::hours(1);
  std::chrono::seconds ttl{60};
  std::size_t value_bytes = 60;
  std::size_t batch = 1000;  // puts in a transaction

  // The default of the store. It is also the harder test: pages that a power cut could need again
  // are not reused, and here they pile up faster than in real time.
  Durability durability = Durability::normal;
};

// Works in `directory`, which exists.
Run run_churn(const ChurnPlan& plan, const std::filesystem::path& directory, Progress& progress);

// In the unit of the progress that run_churn() makes.
double churn_work(const ChurnPlan& plan);

// Does the file stay small, and are puts even, when very many entries live for a moment? In real
// time: single puts of new keys at a steady rate, each with a TTL. Nobody purges.
struct StreamPlan {
  std::size_t puts_per_second = 100'000;
  std::chrono::seconds length{60};
  Millis ttl = std::chrono::seconds(1);
  std::size_t value_bytes = 60;
};

Run run_stream(const StreamPlan& plan, const std::filesystem::path& directory, Progress& progress);
double stream_work(const StreamPlan& plan);

// How large is the file after one key was put again and again, and the store was closed?
Run run_overwrites(std::size_t puts, const std::filesystem::path& directory, Progress& progress);

// How long does it take to open a store whose process was killed when the log was full?
struct RecoveryPlan {
  std::size_t segment_bytes = std::size_t{32} << 20;
  std::size_t most_puts = 20'000'000;  // gives up to fill the log after so many
  std::size_t value_bytes = 60;
};

// Forks. The child is killed; it does nothing but put.
Run run_recovery(const RecoveryPlan& plan, const std::filesystem::path& directory,
                 Progress& progress);

// As the user wrote them. Empty means the default.
struct StoreOptions {
  std::string keys = {};
  std::string rounds = {};
  std::string values = {};
  std::string peers = {};
  std::string only = {};
  std::string directory = {};
  bool quick = false;
};

struct StoreExtra;

struct StorePlan {
  std::size_t keys = 1'000'000;
  int rounds = 3;
  std::vector<std::size_t> value_bytes = {60, 1024};
  std::vector<const PeerRow*> peers;            // Mayfly first; only those that are built in
  std::vector<const PeerRow*> missing;          // asked for, but not built in
  std::vector<const StoreWorkload*> workloads;  // those to report
  std::vector<const StoreExtra*> extras;        // the same
  std::size_t single_puts = 100'000;            // at most
  double single_seconds = 1.5;                  // at most
  double sustained_seconds = 10;                // at most, of as many puts as there are keys
  std::filesystem::path directory;              // the files go into a fresh one below this
  std::uint64_t seed = 1;
  ChurnPlan churn;
  StreamPlan stream;
  std::size_t overwrites = 3000;
  RecoveryPlan recovery;
};

// What is measured of Mayfly alone, after the workloads.
struct StoreExtra {
  std::string_view name;  // on the command line
  bool by_default;
  bool once;  // or in each round
  Run (*run)(const StorePlan& plan, const std::filesystem::path& directory, Progress& progress);
  double (*work)(const StorePlan& plan);          // in the unit of the progress that it makes
  std::uint64_t (*bytes)(const StorePlan& plan);  // of the files, at most
};

std::span<const StoreExtra> store_extras();
bool is_asked_for(const StorePlan& plan, const StoreExtra& extra);

// Throws Failure if an option is wrong.
StorePlan make_store_plan(const StoreOptions& options);

// Whether a workload must run: because it was asked for, or to fill the database of another.
bool is_needed(const StorePlan& plan, const StoreWorkload& workload);
bool is_reported(const StorePlan& plan, const StoreWorkload& workload);

// Throws Failure if the files would take more than the `available` bytes.
void check_space(const StorePlan& plan, std::uint64_t available);

// Throws Failure, too, if the systems do not see the same entries: then at least one of them did
// not do what was measured.
void run_store(const StorePlan& plan, Results& results);

}  // namespace mayfly::bench
