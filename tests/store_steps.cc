// SPDX-License-Identifier: Apache-2.0
// Kills a process at the nth step of what it does with a store, for every n. For
// store_steps_test.py.
//
//   store_steps FOLDER LEVEL fresh|alone|beside|twice FIRST STRIDE
//
// A step is a change of what processes share, a lock, or a call on a file: all that others can see.
// The process opens a store (one that was killed with a log that is nearly full, or a new one),
// writes, makes families, syncs, makes checkpoints, and closes it. Nothing that was acknowledged
// may be missing, at no level; at most one transaction may be there that was not; and the store
// must be sound.
//
//   alone   another process opens the store afterwards
//   beside  another one has it open, and goes on with it; a third joins it then; and after both are
//           killed a fourth opens the store
//   twice   two have it open; the first of them goes on, and is the one that is killed at step n,
//           while it settles what the other one left that was killed somewhere
//
// FIRST and STRIDE choose the steps.

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "power_cut_plan.h"
#include "store_actor.h"

namespace mayfly::internal {
namespace {

constexpr std::uint64_t kSeed = 7;
constexpr std::uint64_t kWorks = 16;  // transactions of the process that is killed
constexpr PlanOptions kPlan{.keys = 30};

// Who makes transactions.
enum Life : std::uint64_t { kFirst = 1, kKilled, kBeside, kJoining, kLast, kLives };

// What processes tell each other, beside the store: how many transactions they have made. One whose
// process was killed may have made one more.
struct Board {
  std::atomic<std::uint64_t> done[kLives]{};
};
Board* board = nullptr;

StoreOptions options_of(std::string_view level) {
  StoreOptions options;
  options.durability = level == "full"  ? Durability::full
                       : level == "off" ? Durability::off
                                        : Durability::normal;
  options.log_segment_bytes = kLogSegmentBytesMin;
  options.sync_interval = Millis(1);
  return options;
}

// A store that one process has open, and what must be in it.
class Member {
 public:
  Member(const std::filesystem::path& folder, std::string_view level)
      : store_(take(Store::open(folder / "store", clock_, options_of(level)), "open")) {}

  Store& store() { return store_; }

  // What was acknowledged must be there, and at most one more of the last life that was killed.
  void catch_up() {
    const PlanNumber last = last_number(store_);
    for (std::uint64_t life = kFirst; life < kLives; ++life) {
      const std::uint64_t done = board->done[life];
      if (last.life == life) {
        require(last.number == done || last.number == done + 1,
                std::to_string(done) + " transactions were acknowledged, and the last is " +
                    last.text());
        board->done[life] = last.number;
      } else {
        require(last.life > life || done == 0, std::to_string(done) + " transactions of life " +
                                                   std::to_string(life) +
                                                   " are gone: " + last.text());
      }
      for (std::uint64_t n = 1; n <= board->done[life]; ++n) {
        state_.step(kSeed, {life, n}, kPlan, nullptr);
      }
    }
    verify();
  }

  void write(std::uint64_t life) {
    const PlanNumber number{life, board->done[life] + 1};
    clock_.set(state_.now() + Millis(5));
    WriteTxn txn = take(store_.write(), "write");
    state_.step(kSeed, number, kPlan, &txn);
    require_ok(txn.commit(), "commit");
    board->done[life] = number.number;
  }

  void verify() {
    clock_.set(state_.now());
    require_sound(store_);
    state_.compare(store_);
  }

 private:
  PlanState state_;
  ManualClock clock_;
  Store store_;
};

// What is done by the process that is killed.
void work(const std::filesystem::path& folder, std::string_view level, bool compacts) {
  Member member(folder, level);
  member.catch_up();
  for (std::uint64_t n = 1; n <= kWorks; ++n) {
    member.write(kKilled);
    if (n == 5) require_ok(member.store().sync(), "sync");
    if (n == 9) require_ok(member.store().checkpoint(), "checkpoint");
    if (n == 11) require_ok(member.store().purge_expired_all().status, "purge");
    if (n == 12 && compacts) require_ok(member.store().compact(), "compact");
  }
  require_ok(member.store().close(), "close");
}

// Has the store open while others are killed, and goes on then. Who begins to write settles what a
// dead writer has left; until then it may not be seen.
void stay(const std::filesystem::path& folder, std::string_view level, std::uint64_t life) {
  {
    Member member(folder, level);
    require_sound(member.store());
    test_step("open");
    take(member.store().write(), "write").rollback();
    member.catch_up();
    for (int n = 0; n < 3; ++n) member.write(life);
    member.verify();
    if (life == kBeside) require_ok(member.store().checkpoint(), "checkpoint");
    test_step("wrote");
    if (life == kBeside) std::_Exit(0);
  }
}

void require_ended(Actor& actor, const char* what) {
  const int status = actor.finish();
  require(status == 0, std::string(what) + " ended with " + std::to_string(status));
}

// Returns whether the process was killed: false if it had fewer steps.
bool run_once(const std::filesystem::path& folder, std::string_view level, std::string_view kind,
              std::uint64_t step) {
  const bool twice = kind == "twice";
  std::unique_ptr<Actor> beside;
  std::unique_ptr<Actor> joining;
  if (twice || kind == "beside") {
    beside = std::make_unique<Actor>([&] { stay(folder, level, kBeside); });
    require(beside->run_to("open"), "the process beside it does not get there");
  }
  if (twice) {
    joining = std::make_unique<Actor>([&] { stay(folder, level, kJoining); });
    require(joining->run_to("open"), "the second one does not get there");
  }
  Actor worker([&] { work(folder, level, kind == "alone"); });
  worker.kill_at(twice ? 1 + step * 7'919 % 300 : step);
  int status = worker.finish();
  require(status == 0 || status == SIGKILL, "it ended with " + std::to_string(status));
  if (beside != nullptr) {
    if (twice) beside->kill_at(step);
    const bool wrote = beside->run_to("wrote");
    if (twice) status = beside->finish();
    require(wrote || (twice && status == SIGKILL), "the process beside it does not go on");
    if (!twice) joining = std::make_unique<Actor>([&] { stay(folder, level, kJoining); });
    require_ended(*joining, "the one that joins");
    beside->kill();
  }
  Actor last([&] { stay(folder, level, kLast); });
  require_ended(last, "the last one");
  return status == SIGKILL;
}

// A store that was killed with a log whose first segment is nearly full.
void make_template(const std::filesystem::path& folder, std::string_view level) {
  Actor first([&] {
    Member member(folder, level);
    while (take(member.store().stats(), "stats").logged_bytes < 58'000) member.write(kFirst);
    std::_Exit(0);  // without closing it
  });
  first.hold_thread();
  require_ended(first, "the first one");
}

int run_all(const std::filesystem::path& place, std::string_view level, std::string_view kind,
            std::uint64_t first, std::uint64_t stride) {
  void* const memory =
      ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  require(memory != MAP_FAILED, "no memory");
  board = new (memory) Board;
  std::filesystem::create_directory(place / "template");
  if (kind != "fresh") make_template(place / "template", level);
  const std::uint64_t before = board->done[kFirst];
  std::uint64_t kills = 0;
  bool killed = true;
  for (std::uint64_t step = first; killed; step += stride) {
    std::printf("step %llu\n", static_cast<unsigned long long>(step));
    std::filesystem::copy(place / "template", place / "run");
    new (board) Board;
    board->done[kFirst] = before;
    PowerCutDisk recorded(place / "run");  // so that calls on its files are steps
    disk = &recorded;
    killed = run_once(place / "run", level, kind, step);
    disk = nullptr;
    kills += killed ? 1 : 0;
    std::filesystem::remove_all(place / "run");
  }
  std::printf("%s %s: %llu kills\n", std::string(level).c_str(), std::string(kind).c_str(),
              static_cast<unsigned long long>(kills));
  return 0;
}

}  // namespace
}  // namespace mayfly::internal

int main(int argc, char** argv) {
  if (argc < 6) {
    std::fprintf(stderr, "usage: store_steps FOLDER LEVEL fresh|alone|beside|twice FIRST STRIDE\n");
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  return mayfly::internal::run_all(argv[1], argv[2], argv[3], std::stoull(argv[4]),
                                   std::stoull(argv[5]));
}
