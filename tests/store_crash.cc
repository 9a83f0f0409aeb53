// SPDX-License-Identifier: Apache-2.0
// Writes to a store until it is killed, and looks at what is left. For store_crash_test.py.
//
//   store_crash write PATH SEED LEVEL WRITER [alone]
//     goes on with the plan of that writer (see store_crash_plan.h), and prints the number of each
//     transaction when its commit has returned; alone: no other process has the store open
//   store_crash verify PATH SEED LEVEL WRITERS
//     prints how many transactions of each writer are there, and fails unless the store holds what
//     they leave, whole, and can be written to

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "mayfly/store.h"
#include "store_crash_plan.h"

namespace mayfly {
namespace {

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "store_crash: %s\n", why.c_str());
  std::exit(1);
}

void must(const Status& status) {
  if (!status) fail(status.error().message);
}

template <class T>
T must(Result<T> result) {
  if (!result) fail(result.error().message);
  return std::move(*result);
}

Durability level_of(std::string_view name) {
  if (name == "full") return Durability::full;
  return name == "off" ? Durability::off : Durability::normal;
}

// Small batches and intervals, so that all that happens now and then happens soon.
StoreOptions options_of(std::string_view level) {
  return {.durability = level_of(level),
          .busy_timeout = Millis(30'000),
          .purge_batch = 16,
          .log_segment_bytes = kLogSegmentBytesMin,
          .sync_interval = Millis(20)};
}

std::string last_key(int writer) { return "last:" + std::to_string(writer); }

std::string family_name(int writer, int family) {
  return std::to_string(writer) + "." + std::to_string(family);
}

// One writer, at work in an open store.
class Writer {
 public:
  Writer(Store& store, ManualClock& clock, CrashTicks& ticks, std::uint64_t seed, int writer)
      : store_(store), clock_(clock), ticks_(ticks), seed_(seed), writer_(writer) {
    const auto last = must(store_.get(last_key(writer)));
    number_ = last ? std::stoull(*last) : 0;
  }

  std::uint64_t number() const { return number_; }

  // Runs the next transaction of the plan.
  void step() {
    const std::uint64_t number = number_ + 1;
    if (number % 10 == 0) undo_something();
    ticks_.lock();
    clock_.set(crash_time(ticks_.next(writer_, number)));
    WriteTxn txn = must(store_.write());
    ticks_.unlock();
    change_families(txn, number);
    for (const CrashStep& step : crash_steps(seed_, writer_, number)) apply(txn, step, number);
    for (int family = 0; family < kCrashFamilies; ++family) {
      if (!crash_family_exists(family, number)) continue;
      txn.put("last", crash_value(number, 0), {}, family_in(txn, family));
    }
    txn.put(last_key(writer_), std::to_string(number));
    txn.increment("transactions");
    must(txn.commit());
    number_ = number;
  }

  // What is no transaction of the plan, and must change nothing that can be seen.
  void tend(bool alone) {
    if (number_ % 30 == 0) {
      const Family family = must(store_.family(family_name(writer_, 0)));
      must(store_.purge_expired({}, family).status);
    }
    if (number_ % 50 == 0) must(store_.checkpoint());
    if (number_ % 70 == 0) must(store_.sync());
    if (alone && number_ % 150 == 0) must(store_.compact());
  }

 private:
  Family family_in(const WriteTxn& txn, int family) {
    return must(txn.family(family_name(writer_, family)));
  }

  void change_families(WriteTxn& txn, std::uint64_t number) {
    for (int family = 0; family < kCrashFamilies; ++family) {
      const std::string name = family_name(writer_, family);
      const bool is_there = txn.family(name).ok();
      const bool belongs = crash_family_exists(family, number);
      if (belongs && !is_there) must(txn.create_family(name));
      if (!belongs && is_there) must(txn.drop_family(name));
    }
  }

  void apply(WriteTxn& txn, const CrashStep& step, std::uint64_t number) {
    using Kind = CrashStep::Kind;
    const Family family = family_in(txn, step.family);
    switch (step.kind) {
      case Kind::put:
        return txn.put(step.key, crash_value(number, step.bytes), {}, family);
      case Kind::put_ttl:
        return txn.put(step.key, crash_value(number, step.bytes), step.ttl, family);
      case Kind::erase:
        txn.erase(step.key, family);
        return;
      case Kind::expire:
        txn.expire(step.key, step.ttl, When::always, family);
        return;
      case Kind::persist:
        txn.persist(step.key, family);
        return;
      case Kind::purge:
        txn.purge_expired(UINT64_MAX, family);
        return;
      case Kind::clear:
        return txn.clear(family);
    }
  }

  void undo_something() {
    WriteTxn txn = must(store_.write());
    txn.put("transactions", "none");
    txn.clear();
    must(txn.create_family("undone"));
    txn.rollback();
  }

  Store& store_;
  ManualClock& clock_;
  CrashTicks& ticks_;
  const std::uint64_t seed_;
  const int writer_;
  std::uint64_t number_ = 0;
};

void acknowledge(std::uint64_t number) {
  const std::string line = std::to_string(number) + "\n";
  if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) fail("nobody listens");
}

[[noreturn]] void run(const std::string& path, std::uint64_t seed, std::string_view level,
                      int number, bool alone) {
  CrashTicks ticks(path);
  ManualClock clock(crash_time(ticks.now()));
  Store store = must(Store::open(path, clock, options_of(level)));
  Writer writer(store, clock, ticks, seed, number);
  for (;;) {
    writer.step();
    acknowledge(writer.number());
    writer.tend(alone);
  }
}

// A family holds what the model says: each value, each deadline, and the counts.
void compare(const ReadTxn& txn, const CrashModel::Values& model, const std::string& name) {
  const auto family = txn.family(name);
  if (!family) fail("the family " + name + " is not there");
  FamilyCounts expected{};
  for (const auto& [key, value] : model) {
    const auto found = must(txn.get_entry(key, *family));
    const std::string what = name + "/" + key.substr(0, 20);
    if (!found) fail(what + " is not there");
    if (found->value != crash_value(value.number, value.bytes)) fail(what + " has another value");
    if (found->deadline != value.deadline) fail(what + " has another deadline");
    ++expected.live;
    if (value.deadline != kNever) ++expected.with_ttl;
  }
  const FamilyCounts counts = must(txn.count(*family));
  Cursor cursor = must(txn.cursor({}, *family));
  std::uint64_t walked = 0;
  for (bool on = cursor.first(); on; on = cursor.next()) ++walked;
  must(cursor.status());
  if (counts.live != expected.live || walked != expected.live ||
      counts.with_ttl != expected.with_ttl || counts.stored != counts.live + counts.expired) {
    fail(name + ": should have " + std::to_string(expected.live) + " entries, " +
         std::to_string(expected.with_ttl) + " with a TTL; has " + std::to_string(counts.live) +
         " and " + std::to_string(counts.with_ttl) + " of " + std::to_string(counts.stored) +
         ", and a cursor finds " + std::to_string(walked));
  }
}

void check_all(Store& store, ManualClock& clock, CrashTicks& ticks, std::uint64_t seed,
               int writers) {
  clock.set(crash_time(ticks.now()));
  const CheckReport report = must(store.check());
  if (!report.ok()) fail("check: " + report.problems.front());
  std::uint64_t transactions = 0;
  for (int writer = 0; writer < writers; ++writer) {
    const std::uint64_t number = Writer(store, clock, ticks, seed, writer).number();
    transactions += number;
    const CrashModel model(ticks, seed, writer, number);
    const ReadTxn txn = must(store.read());
    for (int family = 0; family < kCrashFamilies && number != 0; ++family) {
      const std::string name = family_name(writer, family);
      if (crash_family_exists(family, number)) {
        compare(txn, model.family(family), name);
      } else if (txn.family(name).ok()) {
        fail("the family " + name + " is there");
      }
    }
  }
  const auto counted = must(store.get("transactions"));
  if (counted.value_or("0") != std::to_string(transactions)) fail("the counter is wrong");
  if (store.family("undone").ok()) fail("what was rolled back is there");
}

int verify(const std::string& path, std::uint64_t seed, std::string_view level, int writers) {
  CrashTicks ticks(path);
  ManualClock clock(crash_time(ticks.now()));
  {
    Store store = must(Store::open(path, clock, options_of(level)));
    check_all(store, clock, ticks, seed, writers);
    for (int each = 0; each < writers; ++each) {
      Writer writer(store, clock, ticks, seed, each);
      std::printf("%llu\n", static_cast<unsigned long long>(writer.number()));
      writer.step();  // writing goes on
    }
    must(store.close());
  }
  Store store = must(Store::open(path, clock, {.read_only = true}));
  check_all(store, clock, ticks, seed, writers);
  return 0;
}

}  // namespace
}  // namespace mayfly

int main(int count, char** words) {
  if (count < 6) {
    std::fprintf(stderr, "usage: store_crash write|verify PATH SEED LEVEL WRITER(S) [alone]\n");
    return 1;
  }
  const std::string what = words[1];
  const std::uint64_t seed = std::strtoull(words[3], nullptr, 10);
  const int number = std::atoi(words[5]);
  if (what == "verify") return mayfly::verify(words[2], seed, words[4], number);
  mayfly::run(words[2], seed, words[4], number, count > 6);
}
