// SPDX-License-Identifier: Apache-2.0
// Switches off one rule of the redo log, and looks whether that is noticed. For
// store_rules_test.py.
//
//   store_rules --list
//   store_rules FOLDER RULE on|off
//
// For each rule (src/store/log/test_hooks.h) there is a story of some processes, which are stopped
// and killed at certain steps, or whose power is cut. It ends with 0 if all is well, as it must
// with the rule on, and with something else if not, as it must with the rule off.

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "power_cut_plan.h"
#include "store/lmdb/environment.h"
#include "store/table/window.h"
#include "store_actor.h"

namespace mayfly::internal {

class LogTestAccess {
 public:
  static Status cut(RedoLog& log, Time moment) { return log.cut(moment, Millis(1000)); }
  static Status purge(RedoLog& log, Time moment) { return log.purge_tree(moment); }
};

namespace {

using namespace std::chrono_literals;
using Path = std::filesystem::path;

constexpr std::size_t kValue = 1000;  // 61 entries of it fill a segment
constexpr Durability kOff = Durability::off;
constexpr Durability kFull = Durability::full;

Time at(std::int64_t ms) { return Time(Millis(ms)); }

StoreOptions options_of(Durability level) {
  StoreOptions options;
  options.durability = level;
  options.log_segment_bytes = kLogSegmentBytesMin;
  options.sync_interval = 1h;
  options.busy_timeout = 1min;
  return options;
}

// A store that is never closed, unless somebody does: its process ends as if it were killed.
struct Open {
  explicit Open(const Path& folder, Durability level = kOff, Time now = at(0))
      : path((folder / "store").string()),
        clock(*new ManualClock(now)),
        store(*new Store(take(Store::open(path, clock, options_of(level)), "open"))) {}

  void put(const std::string& key, const std::string& value, Expiry expiry = {}) {
    require_ok(store.put(key, value, expiry), "put");
  }
  // Puts prefix0, prefix1 and so on; so many are about as many kilobytes of the log.
  void fill(const std::string& prefix, int count) {
    for (int i = 0; i < count; ++i) put(prefix + std::to_string(i), value(prefix, i));
  }
  static std::string value(const std::string& prefix, int number) {
    return prefix + std::to_string(number) + ":" + std::string(kValue, 'v');
  }
  bool has(const std::string& key) { return take(store.get(key), "get").has_value(); }
  void must_have(const std::string& key) { require(has(key), key + " is gone"); }
  void must_not_have(const std::string& key) { require(!has(key), key + " is there"); }
  RedoLog& log() { return take(acquire_environment(path, options_of(kOff)), "environment")->log(); }

  const std::string path;
  ManualClock& clock;
  Store& store;
};

// A process that runs to its end.
void run(const std::function<void()>& work, bool holds_thread = false) {
  Actor actor(work);
  if (holds_thread) actor.hold_thread();
  const int status = actor.finish();
  require(status == 0, "a process ended with " + std::to_string(status));
}
void must_end(Actor& actor) {
  const int status = actor.finish();
  require(status == 0, "a process ended with " + std::to_string(status));
}
void must_reach(Actor& actor, const char* step, int nth = 1) {
  require(actor.run_to(step, nth), std::string("a process does not get to: ") + step);
}

// A store with one entry and no log; the next commit makes one.
Path make_store(const Path& folder) {
  std::filesystem::create_directories(folder);
  run([&] {
    Open open(folder);
    open.put("first", "value");
    require_ok(open.store.close(), "close");
  });
  return folder;
}

// A folder whose power can be cut.
class Machine {
 public:
  explicit Machine(const Path& folder) : folder_(make_store(folder)) {
    recorded_ = std::make_unique<PowerCutDisk>(folder_);
    disk = recorded_.get();
  }
  const Path& folder() const { return folder_; }

  // The shares of what was not synced that are there afterwards, in percent.
  Path cut_power(unsigned of_store, unsigned of_log) {
    disk = nullptr;
    recorded_->finish();
    std::mt19937_64 random(1);
    Path target = folder_;
    target += ".cut";
    recorded_->make_image(recorded_->now(), random, target, [&](const std::string& name) {
      return name == "store" ? of_store : name == "store-wal" ? of_log : 0;
    });
    return target;
  }

 private:
  Path folder_;
  std::unique_ptr<PowerCutDisk> recorded_;
};

// Makes the bytes zero, as if their sectors had not reached the disk.
void lose(const Path& file, const std::string& bytes) {
  std::ifstream in(file, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(in), {}};
  const std::size_t place = content.find(bytes);
  require(place != std::string::npos, "these bytes are nowhere");
  std::fstream out(file, std::ios::binary | std::ios::in | std::ios::out);
  out.seekp(static_cast<std::streamoff>(place));
  out << std::string(bytes.size(), '\0');
}

// --- Recovery

// A record was lost, and the next one not. What is written then is as long as what was lost.
void lose_a_record(const Path& folder, const std::string& again) {
  make_store(folder);
  run([&] {
    Open open(folder);
    open.put("second", "value");
    open.put("x1", std::string(kValue, 'A'));
    open.put("y", "of an earlier life");
  });
  lose(folder / "store-wal", std::string(kValue, 'A'));
  run([&] {
    Open open(folder);
    open.must_not_have("y");
    open.put("x1", again);
  });
  run([&] { Open(folder).must_not_have("y"); });
}
void chain(const Path& folder) {
  constexpr std::size_t kLifeRecord = 56;
  lose_a_record(folder, std::string(kValue - kLifeRecord, 'B'));
}
void life(const Path& folder) { lose_a_record(folder, std::string(kValue, 'A')); }

void life_sync(const Path& folder) {
  Machine machine(folder);
  run([&] { Open(machine.folder()).fill("k", 3); });
  run([&] { require_ok(Open(machine.folder()).store.sync(), "sync"); });
  Open(machine.cut_power(0, 0)).must_have("k2");
}

void log_id(const Path& folder) {
  for (const char* name : {"one", "two"}) {
    make_store(folder / name);
    run([&] { Open(folder / name).fill(name, 3); });
  }
  std::filesystem::copy_file(folder / "two" / "store-wal", folder / "one" / "store-wal",
                             std::filesystem::copy_options::overwrite_existing);
  ManualClock clock;
  const auto opened = Store::open(folder / "one" / "store", clock, options_of(kOff));
  require(!opened && opened.error().code == Code::corrupt, "a foreign log is taken for its own");
}

void dir_sync(const Path& folder) {
  Machine machine(folder);
  run([&] { Open(machine.folder(), kFull).fill("k", 3); });
  Open(machine.cut_power(0, 0)).must_have("k2");
}

// Kills a process at each step of `work`; then `look` must find all well.
void at_each_step(const Path& folder, const std::function<void(const Path&)>& before,
                  const std::function<void(const Path&)>& work,
                  const std::function<void(Open&)>& look) {
  bool killed = true;
  for (std::uint64_t step = 1; killed; ++step) {
    const Path place = folder / std::to_string(step);
    make_store(place);
    before(place);
    PowerCutDisk recorded(place);
    disk = &recorded;
    Actor worker([&] { work(place); });
    worker.kill_at(step);
    killed = worker.finish() == SIGKILL;
    disk = nullptr;
    run([&] {
      Open open(place);
      look(open);
    });
    std::filesystem::remove_all(place);
  }
}
void lmdb_first(const Path& folder) {
  at_each_step(
      folder, [](const Path&) {}, [](const Path& place) { Open(place).fill("k", 2); },
      [](Open& open) { open.must_have("first"); });
}
void unlink_last(const Path& folder) {
  at_each_step(
      folder, [](const Path& place) { run([&] { Open(place).fill("k", 3); }); },
      [](const Path& place) { require_ok(Open(place).store.close(), "close"); },
      [](Open& open) { open.must_have("k2"); });
}

// --- Segments

void seg_link(const Path& folder) {
  make_store(folder);
  run([&] { Open(folder).fill("k", 100); }, true);
  lose(folder / "store-wal", Open::value("k", 10));
  run([&] {
    Open open(folder);
    open.must_have("k9");
    open.must_not_have("k90");
  });
}

void recyc_check(const Path& folder) {
  make_store(folder);
  run([&] { Open(folder).fill("k", 200); }, true);
  run([&] {
    Open open(folder);
    for (int i = 0; i < 200; ++i) open.must_have("k" + std::to_string(i));
  });
}

// One process fills a segment, goes on in the other, makes a checkpoint, and dies while LMDB writes
// its meta page: others may see it, and it is not durable. Then `go_on` writes over the log.
void die_in_checkpoint(const Path& folder, bool beside, const std::function<void(Open&)>& go_on) {
  Machine machine(folder);
  std::unique_ptr<Actor> other;
  const auto others_work = [&] {
    Open open(machine.folder());
    test_step("open");
    go_on(open);
    open.fill("z", 70);
  };
  if (beside) {
    other = std::make_unique<Actor>(others_work);
    other->hold_thread();
    must_reach(*other, "open");
  }
  Actor first([&] {
    Open open(machine.folder(), kFull);
    open.fill("k", 70);
    test_step("filled");
    require_ok(open.store.checkpoint(), "checkpoint");
  });
  first.hold_thread();
  must_reach(first, "filled");
  must_reach(first, "meta page");
  first.kill();
  if (!beside) {
    other = std::make_unique<Actor>(others_work);
    other->hold_thread();
  }
  must_end(*other);
  run([cut = machine.cut_power(0, 100)] {
    Open open(cut);
    for (int i = 0; i < 70; ++i) open.must_have("k" + std::to_string(i));
  });
}
// A reader for whom the log changes too fast takes the checkpoint lock; then LMDB shows the commit.
void show_tree(Open& open) { const auto turn = CheckpointTurn::take(open.log(), kLongestWait); }

void recyc_durable(const Path& folder) { die_in_checkpoint(folder, true, show_tree); }
void open_sync(const Path& folder) {
  die_in_checkpoint(folder, false, [](Open&) {});
}
void ckpt_resync(const Path& folder) {
  die_in_checkpoint(folder, true,
                    [](Open& open) { require_ok(open.store.checkpoint(), "checkpoint"); });
}

// --- Several processes

void catch_up(const Path& folder) {
  make_store(folder);
  Open writer(folder);
  writer.put("number", "0");
  writer.put("number", "1");
  Actor other([&] {
    Open open(folder);
    test_step("open");
    take(open.store.increment("number"), "increment");
  });
  must_reach(other, "open");
  must_reach(other, "lock");
  take(writer.store.increment("number"), "increment");
  must_end(other);
  require(take(writer.store.get("number"), "get") == "3", "an increment is lost");
}

void order(const Path& folder) {
  make_store(folder);
  Open writer(folder);
  writer.fill("k", 2);
  writer.put("before", "1");
  Actor reader([&] {
    Open open(folder);
    test_step("open");
    const ReadTxn txn = take(open.store.read(), "read");
    const bool before = take(txn.get("before"), "get").has_value();
    const bool after = take(txn.get("after"), "get").has_value();
    require(!before || !after, "what was cleared is there, and what came after that");
  });
  must_reach(reader, "open");
  must_reach(reader, rule_on(Rule::order) ? "snapshot: tail" : "snapshot: tree");
  require_ok(writer.store.clear(), "clear");
  writer.put("after", "1");
  must_end(reader);
}

void window(const Path& folder) {
  make_store(folder);
  Open writer(folder);
  writer.fill("k", 2);
  writer.put("key", "1");
  Actor reader([&] {
    Open open(folder);
    open.must_have("key");
    test_step("read");
    open.must_not_have("key");
  });
  must_reach(reader, "read");
  require_ok(writer.store.clear(), "clear");
  writer.put("after", "1");
  must_end(reader);
}

void upper(const Path& folder) {
  make_store(folder);
  Open open(folder);
  open.put("second", "1");
  open.put("key", "old");
  const ReadTxn txn = take(open.store.read(), "read");
  open.put("key", "new");
  require(take(txn.get("key"), "get") == "old", "a snapshot has changed");
}

void revalidate(const Path& folder) {
  make_store(folder);
  Actor writer([&] {
    Open open(folder);
    open.fill("a", 2);
    test_step("open");
    open.fill("k", 10);
    test_step("filled");
    open.fill("z", 200);
  });
  writer.hold_thread();
  must_reach(writer, "open");
  Actor reader([&] {
    Open open(folder);
    test_step("open");
    open.must_have("k9");
  });
  must_reach(reader, "open");
  must_reach(writer, "filled");
  must_reach(reader, "snapshot: tree");
  must_end(writer);
  must_end(reader);
}

void refcount(const Path& folder) {
  make_store(folder);
  Open open(folder);
  open.put("second", "1");
  open.put("key", "value");
  const ReadTxn txn = take(open.store.read(), "read");
  require_ok(open.store.checkpoint(), "checkpoint");
  open.put("third", "1");
  open.must_have("third");
  require(take(txn.get("key"), "get") == "value", "a snapshot has lost its tables");
}

void settle(const Path& folder) {
  Machine machine(folder);
  Open next(machine.folder());
  next.fill("k", 2);
  Actor writer([&] {
    Open open(machine.folder());
    test_step("open");
    take(open.store.create_family("family"), "create a family");
  });
  must_reach(writer, "open");
  must_reach(writer, "meta page", 2);  // the first is of a checkpoint
  must_reach(writer, "pwrite");        // of the barrier
  writer.kill();
  next.put("key", std::string(kValue, 'v'));
  next.must_have("key");
  require(next.store.family("family").ok(), "a commit of LMDB is lost");
  run([&] { Open(machine.folder()).must_have("key"); });
}

void published(const Path& folder) {
  Machine machine(folder);
  Actor keeper([&] {
    Open open(machine.folder());
    open.fill("k", 2);
    test_step("filled");
    require_ok(open.store.checkpoint(), "checkpoint");
    test_step("done");
    open.put("key", "value");
    open.must_have("key");
  });
  must_reach(keeper, "filled");
  Actor writer([&] {
    Open open(machine.folder());
    test_step("open");
    open.put("other", "value");
    test_step("wrote");
    require_ok(open.store.checkpoint(), "checkpoint");
  });
  must_reach(writer, "open");
  must_reach(keeper, "checkpoint");
  must_reach(writer, "wrote");
  must_reach(writer, "written");  // the record of a cut
  must_reach(keeper, "done");
  writer.kill();
  must_end(keeper);
}

// --- Syncs

void sync_before(const Path& folder) {
  Machine machine(folder);
  Actor syncing([&] {
    Open open(machine.folder(), kFull);
    open.fill("a", 2);
    test_step("open");
    open.put("key", "value");
  });
  must_reach(syncing, "open");
  must_reach(syncing, "syncing");
  Actor writer([&] {
    Open open(machine.folder());
    open.put("other", "value");
    test_step("wrote");
    require_ok(open.store.sync(), "sync");
  });
  must_reach(writer, "wrote");
  must_end(syncing);
  must_end(writer);
  Open(machine.cut_power(0, 0)).must_have("other");
}

void ack_after(const Path& folder) {
  Machine machine(folder);
  run([&] { Open(machine.folder(), kFull).fill("k", 5); });
  Open(machine.cut_power(0, 0)).must_have("k4");
}

void sync_lmdb(const Path& folder) {
  Machine machine(folder);
  Actor writer([&] {
    Open open(machine.folder());
    open.fill("k", 2);
    test_step("filled");
    take(open.store.create_family("family"), "create a family");
  });
  must_reach(writer, "filled");
  Actor syncing([&] {
    Open open(machine.folder());
    test_step("open");
    show_tree(open);
    require(open.store.family("family").ok(), "LMDB does not show what it has");
    require_ok(open.store.sync(), "sync");
  });
  must_reach(syncing, "open");
  must_reach(writer, "meta page", 2);  // the first is of a checkpoint
  writer.kill();
  must_end(syncing);
  require(Open(machine.cut_power(0, 100)).store.family("family").ok(), "it was synced");
}

// --- Membership

// One is recovering the store, and dies. Of two that wait for it, one must recover it.
void gate(const Path& folder) {
  constexpr int kSoonMs = 100;
  make_store(folder);
  run([&] { Open(folder).fill("k", 3); });
  const auto opens = [&] {
    Open open(folder);
    test_step("open");
    open.must_have("k2");
  };
  Actor first(opens);
  must_reach(first, "word");
  Actor second(opens);
  Actor third(opens);
  second.run_to("not alone", 1, kSoonMs);
  third.run_to("not alone", 1, kSoonMs);
  first.kill();
  second.run_to("member", 1, kSoonMs);
  third.run_to("member", 1, kSoonMs);
  second.run_to("open", 1, kSoonMs);
  third.run_to("open", 1, kSoonMs);
  must_end(second);
  must_end(third);
}

void inode(const Path& folder) {
  make_store(folder);
  Actor first([&] {
    Open open(folder);
    test_step("open");
    require_ok(open.store.close(), "close");
  });
  must_reach(first, "open");
  Actor second([&] { Open(folder).put("key", "value"); });
  must_reach(second, "enter");
  must_end(first);
  Open open(folder);
  open.fill("k", 2);
  must_end(second);
  open.must_have("key");
}

void pid(const Path& folder) {
  make_store(folder);
  Actor parent([&] {
    Open open(folder);
    open.fill("k", 2);
    if (const pid_t child = ::fork(); child == 0) {
      ::alarm(3);
      delete &open.store;
      std::_Exit(0);
    } else {
      int status = 0;
      ::waitpid(child, &status, 0);
    }
    open.put("key", "value");
    test_step("wrote");
    open.must_have("key");
  });
  must_reach(parent, "wrote");
  run([&] { Open(folder).must_have("key"); });
  must_end(parent);
}

// --- Expiry

// By the clock of the store it lives, by that of the system it is long dead.
void cut(const Path& folder) {
  make_store(folder);
  Open open(folder, kOff, SystemClock().now() - 1000s);
  open.put("second", "1");
  open.put("key", "value", 10s);
  require_ok(open.store.checkpoint(), "checkpoint");
  open.must_have("key");
}
void own_now(const Path& folder) { cut(folder); }

// Behind a cut that LMDB does not have yet an entry is gone, though a clock is set back.
void behind_a_cut(const Path& folder, const std::function<void(Open&)>& look) {
  make_store(folder);
  Actor keeper([&] {
    Open open(folder);
    open.put("second", "1");
    open.put("key", "value", 10ms);
    open.clock.set(at(20));
    require_ok(open.store.checkpoint(), "checkpoint");
  });
  must_reach(keeper, "checkpoint");
  Open open(folder, kOff, at(5));
  look(open);
}
void cut_table(const Path& folder) {
  behind_a_cut(folder, [](Open& open) { open.must_not_have("key"); });
}
void base_count(const Path& folder) {
  behind_a_cut(folder, [](Open& open) {
    require(take(open.store.count(), "count").stored == 2, "what was cut is counted");
  });
}

void range(const Path&) {
  auto tables = make_ref<TableSet>();
  tables->tables.push_back({.table = make_ref<MemTable>(std::uint64_t{1}), .begin = 0});
  tables->tables.back().table->add({.family = 1, .deadline = at(10), .key = "key"}, 50);
  tables->tables.back().cut = Cut{.position = 200, .since = 100, .moment = at(20), .end = {240, 1}};
  const Window window(tables, 0, 300);
  require(window.find(1, "key").state == InTables::State::there, "a cut goes beyond its range");
}

// A checkpoint without a cut is under way while another process cuts.
void locked(const Path& folder) {
  make_store(folder);
  Actor keeper([&] {
    Open open(folder);
    open.put("second", "1");
    open.put("key", "value", 10ms);
    test_step("filled");
    require_ok(open.store.checkpoint(), "checkpoint");
  });
  must_reach(keeper, "filled");
  Open open(folder, kOff, at(5));
  must_reach(keeper, "applied");
  open.put("third", "1");
  require_ok(LogTestAccess::cut(open.log(), at(20)), "cut");
  const bool was_there = open.has("key");
  must_end(keeper);
  require(open.has("key") == was_there, "a checkpoint changes what is seen");
}

void logged(const Path& folder) {
  make_store(folder);
  Open open(folder);
  open.put("second", "1");
  open.put("key", "value", 10ms);
  require_ok(open.store.checkpoint(), "checkpoint");
  require(take(open.store.persist("key"), "persist"), "it has no deadline");
  require_ok(LogTestAccess::purge(open.log(), at(20)), "purge");
  open.must_have("key");
}

void recheck(const Path& folder) {
  make_store(folder);
  Open open(folder);
  open.put("second", "1");
  open.put("key", "value", 10ms);
  open.clock.set(at(20));
  {
    const ReadTxn reader = take(open.store.read(), "read");
    open.put("key", "new");
    require(!take(reader.get("key"), "get").has_value(), "the old entry is due");
  }
  open.put("second", "2");  // removes keys that readers have noted
  open.must_have("key");
}

// Between the clock and the snapshot time passes, and a cut is made.
void snap_first(const Path& folder) {
  static Open* open = nullptr;
  make_store(folder);
  open = new Open(folder);
  open->put("second", "1");
  open->put("key", "value", 10ms);
  open->clock.set(at(5));
  on_step = [](const char* what) {
    if (std::string_view(what) != "snapshot: tail") return;
    on_step = nullptr;
    open->clock.set(at(20));
    require_ok(open->store.checkpoint(), "checkpoint");
  };
  const ReadTxn txn = take(open->store.read(), "read");
  on_step = nullptr;
  const bool is_there = take(txn.get("key"), "get").has_value();
  require(is_there == (txn.now() < at(10)),
          "it lives at the moment of the transaction, yet is gone");
}

struct Story {
  const char* name;
  Rule rule;
  void (*run)(const Path& folder);
};

#define STORY(name) \
  { #name, Rule::name, name }
constexpr Story kStories[] = {
    STORY(chain),       STORY(life),       STORY(life_sync),   STORY(log_id),
    STORY(dir_sync),    STORY(lmdb_first), STORY(seg_link),    STORY(recyc_durable),
    STORY(recyc_check), STORY(open_sync),  STORY(ckpt_resync), STORY(catch_up),
    STORY(order),       STORY(window),     STORY(upper),       STORY(revalidate),
    STORY(refcount),    STORY(settle),     STORY(published),   STORY(sync_before),
    STORY(ack_after),   STORY(sync_lmdb),  STORY(unlink_last), STORY(gate),
    STORY(inode),       STORY(pid),        STORY(cut),         STORY(cut_table),
    STORY(range),       STORY(locked),     STORY(own_now),     STORY(logged),
    STORY(recheck),     STORY(base_count), STORY(snap_first),
};
#undef STORY
static_assert(std::size(kStories) == kRules, "each rule has its story");

int run(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--list") {
    for (const Story& story : kStories) std::puts(story.name);
    return 0;
  }
  for (const Story& story : kStories) {
    if (argc != 4 || std::string_view(story.name) != argv[2]) continue;
    if (std::string_view(argv[3]) == "off") rule_off = static_cast<int>(story.rule);
    story.run(argv[1]);
    std::fflush(nullptr);
    std::_Exit(0);
  }
  std::fprintf(stderr, "usage: store_rules --list | FOLDER RULE on|off\n");
  return 2;
}

}  // namespace
}  // namespace mayfly::internal

int main(int argc, char** argv) { return mayfly::internal::run(argc, argv); }
