// SPDX-License-Identifier: Apache-2.0
// Cuts the power of a store, many times. A helper of power_cut_test.py.
//
//   power_cut LEVEL SEED IMAGES
//
// LEVEL is full, normal, off or mixed (each commit at one of the three). A workload runs once, with
// segments so small that all happens that can happen to a log, while all its writes and syncs are
// recorded (power_cut_calls.h). Then IMAGES power cuts are made of it (power_cut_disk.h). Each must
// open again, pass a check, and hold exactly what it held after one of its transactions, and not
// after one that is older than what had been promised. One in three is cut again: while it
// recovers, or while it is written to after that. Prints a line for each image that is not sound,
// and the counts.

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "power_cut_calls.h"
#include "power_cut_plan.h"

namespace mayfly::internal {
namespace {

constexpr std::uint64_t kTransactions = 400;
constexpr std::uint64_t kLaterTransactions = 60;  // after a power cut, until the next
constexpr Durability kLevels[] = {Durability::full, Durability::normal, Durability::off};

std::atomic<std::uint64_t> commits{0};  // so far
std::atomic<bool> is_running{false};
const auto main_thread = std::this_thread::get_id();

// Writers go on while the log's thread syncs; here they are given the time to. It gives up soon,
// since they may be waiting for it.
void slow_thread(std::string_view) {
  static std::atomic<std::uint64_t> syncs{0};
  if (!is_running || std::this_thread::get_id() == main_thread) return;
  const std::uint64_t until = commits + 1 + ++syncs % 20;
  for (int turn = 0; turn < 3 && is_running && commits < until; ++turn) ::poll(nullptr, 0, 1);
}

// What had been promised when: after time `first`, transaction `second` must survive.
using Promises = std::vector<std::pair<std::size_t, std::uint64_t>>;

// What a store went through: some transactions of each of its lives. How many of the last one are
// left is not known; at least so many, and at most so many.
struct History {
  std::string level;
  std::uint64_t seed;
  std::vector<std::uint64_t> lives{};  // transactions of each life but the last
  std::uint64_t least = 0;
  std::uint64_t most = 0;

  std::uint64_t life() const { return lives.size() + 1; }

  PlanState state(std::uint64_t of_last) const {
    PlanState state;
    std::uint64_t life = 1;
    for (const std::uint64_t count : lives) replay(state, life++, count);
    replay(state, life, of_last);
    return state;
  }

  // How many transactions of the last life are there.
  std::uint64_t find(const Store& store) const {
    const PlanNumber last = last_number(store);
    if (last.life == life()) return last.number;
    require(last == state(0).last(), last.text() + " is the last transaction, of a life " +
                                         std::to_string(life()) + " that began after " +
                                         state(0).last().text());
    return 0;
  }

 private:
  void replay(PlanState& state, std::uint64_t life, std::uint64_t count) const {
    for (std::uint64_t n = 1; n <= count; ++n) state.step(seed, {life, n}, {}, nullptr);
  }
};

class Workload {
 public:
  Workload(std::string path, const History& history) : path_(std::move(path)) {
    begin_life(history);
  }

  void begin_life(const History& history) {
    history_ = history;
    state_ = history.state(0);
    random_.seed(history.seed * 31 + history.life());
    clock_.set(state_.now());
  }

  void open() {
    clock_.set(state_.now());
    for (const Durability level : kLevels) {
      StoreOptions options;
      options.durability = level;
      options.log_segment_bytes = kLogSegmentBytesMin;
      options.sync_interval = Millis(1);
      stores_.push_back(take(Store::open(path_, clock_, options), "open"));
    }
  }

  std::uint64_t checkpoints() const { return checkpoints_; }  // of stores that were closed
  Store& any() { return stores_.front(); }

  // Makes transaction n, and tells whether it has been promised to stay.
  bool step(std::uint64_t n) {
    const std::size_t level = level_of_next();
    WriteTxn txn = begin(level);
    const bool direct = state_.step(history_.seed, {history_.life(), n}, {}, &txn);
    require_ok(txn.commit(), "commit");
    ++commits;
    return direct || kLevels[level] == Durability::full;
  }

  // What is no transaction. Tells whether all so far has been promised to stay.
  bool tend() {
    switch (random_() % 200) {
      case 0:
      case 1:
        require_ok(any().checkpoint(), "checkpoint");
        return true;
      case 2:
      case 3:
        require_ok(any().sync(), "sync");
        return true;
      case 4:
        close();
        open();
        return true;
      case 5:
        if (const Status done = any().compact(); !done)
          require(done.error().code == Code::busy, "");
        return false;
      case 6:
        require_ok(any().purge_expired_all().status, "purge");
        return false;
      default:
        for (int i = 0; i < 3; ++i) (void)any().get("key" + std::to_string(random_() % 300));
        return false;
    }
  }

  void close() {
    const StoreStats stats = take(any().stats(), "stats");
    checkpoints_ += stats.checkpoints;
    for (Store& store : stores_) require_ok(store.close(), "close");
    stores_.clear();
  }

 private:
  std::size_t level_of_next() {
    if (history_.level == "mixed") return random_() % 3;
    return history_.level == "full" ? 0 : history_.level == "normal" ? 1 : 2;
  }

  // The clock of a transaction is read when it begins.
  WriteTxn begin(std::size_t level) {
    clock_.set(state_.now() + Millis(5));
    return take(stores_[level].write(), "write");
  }

  const std::string path_;
  History history_;
  PlanState state_;
  std::mt19937_64 random_;
  ManualClock clock_;
  std::vector<Store> stores_;
  std::uint64_t checkpoints_ = 0;
};

// Goes on with the workload, recorded by `recorded`, and tells what it promised. It is left open.
Promises run(Workload& workload, PowerCutDisk& recorded, std::uint64_t transactions, bool closes) {
  Promises promises{{0, 0}};
  is_running = true;
  for (std::uint64_t n = 1; n <= transactions; ++n) {
    if (workload.step(n)) promises.emplace_back(recorded.tick(), n);
    if (workload.tend()) promises.emplace_back(recorded.tick(), n);
  }
  if (closes) {
    workload.close();
    promises.emplace_back(recorded.tick(), transactions);
  }
  is_running = false;
  disk = nullptr;
  return promises;
}

std::uint64_t promised_at(const Promises& promises, std::size_t cut) {
  std::uint64_t promised = 0;
  for (const auto& [when, n] : promises) promised = when <= cut ? n : promised;
  return promised;
}

// Opens the image in `folder` as after a reboot, and ends the process unless it is sound.
void judge(const History& history, const std::filesystem::path& folder) {
  ManualClock clock;
  StoreOptions options;
  options.log_segment_bytes = kLogSegmentBytesMin;
  const std::string path = folder / "store";
  std::uint64_t n = 0;
  PlanState state;
  {
    Store store = take(Store::open(path, clock, options), "open");
    n = history.find(store);
    require(n >= history.least, "transaction " + std::to_string(history.least) +
                                    " was promised, and " + std::to_string(n) + " is the last");
    require(n <= history.most, "a transaction that never was");
    state = history.state(n);
    clock.set(state.now());
    require_sound(store);
    state.compare(store);
    for (std::uint64_t more = 1; more <= 10; ++more) {  // and life goes on
      clock.set(state.now() + Millis(5));
      WriteTxn txn = take(store.write(), "write");
      state.step(history.seed, {99, more}, {}, &txn);
      require_ok(txn.commit(), "commit");
    }
    state.compare(store);
    require_sound(store);
    require_ok(store.close(), "close");
  }
  options.read_only = true;
  const Store store = take(Store::open(path, clock, options), "open read-only");
  state.compare(store);
}

// Recovers the image in `folder` and goes on with it, cuts the power at some time, and leaves the
// result in `again`. Returns what there must be then.
History cut_again(const History& history, const std::filesystem::path& folder,
                  const std::filesystem::path& again, std::mt19937_64& random) {
  auto* const recorded = new PowerCutDisk(folder);  // its store stays open
  disk = recorded;
  auto* const workload = new Workload(folder / "store", history);
  workload->open();
  const std::size_t opened = recorded->tick();
  History next = history;
  next.lives.push_back(history.find(workload->any()));
  workload->begin_life(next);
  const Promises promises = run(*workload, *recorded, random() % kLaterTransactions, false);
  recorded->finish();
  // Half of the time while it is opened.
  const std::size_t cut =
      random() % 2 == 0 ? random() % (opened + 1) : recorded->choose_cut(random);
  recorded->make_image(cut, random, again);
  if (cut < opened) return history;
  next.least = promised_at(promises, cut);
  next.most = kLaterTransactions;
  return next;
}

// In a process of its own, since LMDB may die of what it finds.
bool is_sound(const History& history, const PowerCutDisk& recorded, const Promises& promises,
              const std::filesystem::path& place, std::uint64_t image) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    std::mt19937_64 random(history.seed * 7'919 + image);
    const std::size_t cut = recorded.choose_cut(random);
    History now = history;
    now.least = promised_at(promises, cut);
    std::filesystem::path folder = place / "0";
    recorded.make_image(cut, random, folder);
    if (random() % 2 == 0) std::ofstream(folder / "store-shm") << std::string(4096, '\x55');
    for (std::uint64_t turn = 1; turn <= 3 && image % 3 == 0 && (turn == 1 || random() % 3 == 0);
         ++turn) {
      const std::filesystem::path again = place / std::to_string(turn);
      now = cut_again(now, folder, again, random);
      folder = again;
    }
    judge(now, folder);
    std::_Exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  for (const char* each : {"0", "1", "2", "3"}) std::filesystem::remove_all(place / each);
  if (status == 0) return true;
  std::printf("%s, seed %llu, image %llu: not sound (status %d)\n", history.level.c_str(),
              static_cast<unsigned long long>(history.seed), static_cast<unsigned long long>(image),
              status);
  return false;
}

int cut_power(const History& history, std::uint64_t images, const std::filesystem::path& place) {
  std::filesystem::create_directory(place / "run");
  {
    ManualClock clock;  // what LMDB leaves of a new file is no concern of the log
    Store store = take(Store::open(place / "run" / "store", clock), "make");
    require_ok(store.close(), "close");
  }
  PowerCutDisk recorded(place / "run");
  disk = &recorded;
  Promises promises;
  std::uint64_t checkpoints = 0;
  {
    Workload workload(place / "run" / "store", history);
    workload.open();
    promises = run(workload, recorded, kTransactions, true);
    checkpoints = workload.checkpoints();
  }
  recorded.finish();
  std::uint64_t unsound = 0;
  for (std::uint64_t image = 0; image < images; ++image) {
    unsound += is_sound(history, recorded, promises, place, image) ? 0 : 1;
  }
  std::printf("%s: %llu images, %llu unsound, %zu things happened, %llu checkpoints\n",
              history.level.c_str(), static_cast<unsigned long long>(images),
              static_cast<unsigned long long>(unsound), recorded.now(),
              static_cast<unsigned long long>(checkpoints));
  return unsound == 0 ? 0 : 1;
}

}  // namespace
}  // namespace mayfly::internal

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: power_cut full|normal|off|mixed SEED IMAGES\n");
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::string name =
      std::filesystem::exists("/dev/shm") ? "/dev/shm/power_cut.XXXXXX" : "/tmp/power_cut.XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) return 2;
  mayfly::internal::on_sync = mayfly::internal::slow_thread;
  mayfly::internal::History history{argv[1], std::stoull(argv[2])};
  history.most = mayfly::internal::kTransactions;
  const int result = mayfly::internal::cut_power(history, std::stoull(argv[3]), name);
  std::filesystem::remove_all(name);
  return result;
}
