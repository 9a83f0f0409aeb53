// SPDX-License-Identifier: Apache-2.0
// One of several processes that write to one store and read from it. For store_processes_test.py.
//
//   store_processes PATH SEED OPERATIONS LEVEL
//
// Beside each key of the family "values" stands, in the family "shadow", what it must be and until
// when: both change in one transaction, whoever makes it. The shadow has no TTLs. So each snapshot
// can be checked by itself: a value that is lost or stale, outlives its deadline or dies before it,
// differs from its shadow. Prints how many times it added one to the counter, and how often the
// store was busy.
//
// The processes share a clock, which each of them moves: a word in the file PATH.clock.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "mayfly/random.h"
#include "mayfly/store.h"

namespace mayfly {
namespace {

constexpr std::uint64_t kKeys = 40;

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "store_processes: %s\n", why.c_str());
  std::exit(1);
}

template <class T>
T must(Result<T> result) {
  if (!result) fail(result.error().message);
  return std::move(*result);
}

class SharedClock final : public Clock {
 public:
  explicit SharedClock(const std::string& path) : Clock(&SharedClock::read) {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0 || ::ftruncate(file, sizeof(Word)) != 0) fail("cannot make the clock");
    void* const memory = ::mmap(nullptr, sizeof(Word), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) fail("cannot map the clock");
    ::close(file);
    ms_ = static_cast<Word*>(memory);
  }

  void advance() { ms_->fetch_add(1); }

 private:
  using Word = std::atomic<std::int64_t>;
  static_assert(Word::is_always_lock_free);

  static std::int64_t read(const Clock& clock) noexcept {
    return 1'700'000'000'000 + static_cast<const SharedClock&>(clock).ms_->load();
  }
  Millis nap(Millis left) const override { return left; }

  Word* ms_ = nullptr;
};

struct Shadow {
  std::uint64_t version = 0;  // goes up with each change
  std::int64_t deadline_ms = 0;
  bool is_there = false;
  std::string value;
};

std::string to_text(const Shadow& shadow) {
  return std::to_string(shadow.version) + " " + std::to_string(shadow.deadline_ms) + " " +
         (shadow.is_there ? "1" : "0") + " " + shadow.value;
}

Shadow to_shadow(const std::string& text) {
  Shadow shadow;
  unsigned long long version = 0;
  long long deadline = 0;
  int is_there = 0;
  int rest = 0;
  std::sscanf(text.c_str(), "%llu %lld %d %n", &version, &deadline, &is_there, &rest);
  shadow.version = version;
  shadow.deadline_ms = deadline;
  shadow.is_there = is_there != 0;
  shadow.value = text.substr(static_cast<std::size_t>(rest));
  return shadow;
}

class Process {
 public:
  Process(Store& store, SharedClock& clock, std::uint64_t seed)
      : store_(store),
        clock_(clock),
        random_(seed),
        seed_(seed),
        values_(must(store.open_family("values"))),
        shadows_(must(store.open_family("shadow"))) {}

  void step() {
    const std::uint64_t dice = random_.below(100);
    if (random_.below(4) == 0) clock_.advance();
    const std::string key = "key:" + std::to_string(random_.below(kKeys));
    if (dice < 45) return change(key);
    if (dice < 70) return look(key);
    if (dice < 80) return read_alone(key);
    if (dice < 90) return add_one();
    if (dice < 94) return may_be_busy(store_.purge_expired({.entries = 8}, values_).status);
    if (dice < 97) return walk();
    make_family();
  }

  void report() const {
    std::printf("%llu %llu\n", static_cast<unsigned long long>(added_),
                static_cast<unsigned long long>(busy_));
  }

 private:
  // What a shadow says must be so, in the same snapshot; and nothing that was seen comes back.
  Shadow compare(const ReadTxn& txn, const std::string& key) {
    const auto text = must(txn.get(key, shadows_));
    const Shadow shadow = text ? to_shadow(std::string(*text)) : Shadow();
    if (shadow.version < seen_[key]) fail(key + " went back in time");
    seen_[key] = shadow.version;
    const auto found = must(txn.get_entry(key, values_));
    const Time deadline{Millis(shadow.deadline_ms)};
    const bool lives = shadow.is_there && !is_due(deadline, txn.now());
    if (lives && !found) fail(key + " is lost: " + shadow.value);
    if (!lives && found) fail(key + " should be gone, and is " + std::string(found->value));
    if (lives && found->value != shadow.value) fail(key + " is stale: " + shadow.value);
    if (lives && found->deadline != deadline) fail(key + " has another deadline");
    return shadow;
  }

  void look(const std::string& key) {
    const ReadTxn txn = must(store_.read());
    compare(txn, key);
  }

  // A read that may remove what it finds expired. No value of mine may be younger than the clock.
  void read_alone(const std::string& key) {
    const auto found = store_.get_entry(key, values_);
    if (!found) fail(found.error().message);
    if (*found && (*found)->ttl && *(*found)->ttl <= Millis::zero()) fail(key + " is expired");
  }

  void change(const std::string& key) {
    auto begun = random_.below(3) == 0 ? store_.write(Millis(0)) : store_.write();
    if (!begun) return may_be_busy(begun.error());
    WriteTxn& txn = *begun;
    Shadow shadow = compare(txn, key);
    const bool lives = txn.contains(key, values_).ok() && *txn.contains(key, values_);
    shadow.version++;
    const Time deadline = txn.now() + Millis(1 + static_cast<std::int64_t>(random_.below(40)));
    const std::uint64_t what = random_.below(8);
    if (what < 5) {  // puts with a TTL and without, over each other
      shadow.is_there = true;
      shadow.value = std::to_string(seed_) + ":" + std::to_string(shadow.version);
      shadow.deadline_ms = (what < 3 ? deadline : kNever).time_since_epoch().count();
      txn.put(key, shadow.value, what < 3 ? Expiry(deadline) : Expiry(), values_);
    } else if (what == 5) {
      shadow.is_there = false;
      txn.erase(key, values_);
    } else if (what == 6) {
      if (lives) shadow.deadline_ms = deadline.time_since_epoch().count();
      txn.expire(key, deadline, When::always, values_);
    } else {
      if (lives) shadow.deadline_ms = kNever.time_since_epoch().count();
      txn.persist(key, values_);
    }
    txn.put(key, to_text(shadow), {}, shadows_);
    if (random_.below(10) == 0) return txn.rollback();
    if (const Status committed = txn.commit(); !committed) fail(committed.error().message);
    seen_[key] = shadow.version;
    look(key);  // one's own commit is seen at once
  }

  void add_one() {
    const auto sum = store_.increment("counter");
    if (!sum) return may_be_busy(sum.error());
    ++added_;
    if (*sum <= counter_) fail("the counter went back in time");
    counter_ = *sum;
  }

  void walk() {
    auto cursor = must(store_.cursor({}, values_));
    std::uint64_t count = 0;
    for (bool on = cursor.first(); on; on = cursor.next()) ++count;
    if (!cursor.status()) fail(cursor.status().error().message);
    if (count > kKeys) fail("a cursor finds more than there is");
  }

  // Families come and go, each made by one process, and the other has to notice.
  void make_family() {
    const std::string name = "own:" + std::to_string(seed_);
    auto txn = store_.write();
    if (!txn) return may_be_busy(txn.error());
    if (txn->family(name)) {
      if (const Status dropped = txn->drop_family(name); !dropped) fail(dropped.error().message);
    } else {
      const Family family = must(txn->create_family(name));
      txn->put("key", "value", Millis(5), family);
    }
    if (const Status committed = txn->commit(); !committed) fail(committed.error().message);
  }

  void may_be_busy(const Status& status) {
    if (status) return;
    if (status.error().code != Code::busy) fail(status.error().message);
    ++busy_;
  }

  Store& store_;
  SharedClock& clock_;
  Random random_;
  const std::uint64_t seed_;
  const Family values_;
  const Family shadows_;
  std::map<std::string, std::uint64_t> seen_;  // the latest version of each key
  std::int64_t counter_ = 0;
  std::uint64_t added_ = 0;
  std::uint64_t busy_ = 0;
};

int run(const std::string& path, std::uint64_t seed, std::uint64_t operations,
        std::string_view level) {
  SharedClock clock(path + ".clock");
  StoreOptions options;
  if (level == "full") options.durability = Durability::full;
  if (level == "off") options.durability = Durability::off;
  options.sync_interval = Millis(50);
  Store store = must(Store::open(path, clock, options));
  Process process(store, clock, seed);
  for (std::uint64_t done = 0; done < operations; ++done) process.step();
  process.report();
  if (const Status closed = store.close(); !closed) fail(closed.error().message);
  return 0;
}

}  // namespace
}  // namespace mayfly

int main(int count, char** words) {
  if (count != 5) {
    std::fprintf(stderr, "usage: store_processes PATH SEED OPERATIONS LEVEL\n");
    return 1;
  }
  return mayfly::run(words[1], std::strtoull(words[2], nullptr, 10),
                     std::strtoull(words[3], nullptr, 10), words[4]);
}
