// SPDX-License-Identifier: Apache-2.0
// The append-only file against a list of commands, through rewrites, full and failing disks,
// crashes and power cuts: what was flushed is there, in order, once, and no transaction is there by
// half.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "mayfly/random.h"
#include "persist/aof/aof.h"
#include "persist/aof/aof_fixture.h"

namespace mayfly {
namespace aof_model_test {

using Op = FakeDisk::Op;

// What is appended at once: a command, or a transaction of several.
struct Unit {
  std::vector<std::string> lines;  // as the loader tells them
  std::string bytes;               // with SELECTs: for a base
  std::uint64_t end = 0;           // appended_offset() after it, in the present Aof
};

class Model {
 public:
  Model(std::uint64_t seed, AofSync sync) : random_(seed), disk_(seed) {
    disk_.put("data/dump.rdb", "");
    options_.sync = sync;
    open();
  }

  void step() {
    switch (random_.below(20)) {
      case 0:
      case 1:
        return begin_rewrite();
      case 2:
      case 3:
        return finish_rewrite();
      case 4:
        if (aof_->is_rewriting()) abort_rewrite();
        return;
      case 5:
        return disk_.set_room(random_.below(300));
      case 6:
        return disk_.heal();
      case 7:
        return fail_next();
      case 8:
        return crash(false);
      case 9:
        return crash(true);
      case 10:
        return switch_off_and_on();
      case 11:
      case 12:
      case 13:
      case 14:
        return flush();
      default:
        return append();
    }
  }

 private:
  void open() {
    aof_ = std::make_unique<Aof>(disk_, options_);
    const Status status = aof_->open();
    RC_ASSERT(status.ok());
    written_ = flushed_ = units_.size();
    for (Unit& unit : units_) unit.end = 0;
  }

  // A failed sync may lose bytes for good, which only `always` makes up for.
  void fail_next() {
    const Op op = static_cast<Op>(random_.below(7));
    if (op == Op::sync && options_.sync != AofSync::always) return;
    disk_.fail_next(op, static_cast<int>(1 + random_.below(3)), static_cast<int>(random_.below(4)));
  }

  void append() {
    if (!aof_->is_open()) return;
    Unit unit;
    const bool is_transaction = random_.below(3) == 0;
    const std::size_t count = is_transaction ? 2 + random_.below(3) : 1;
    std::vector<std::pair<int, std::string>> commands;
    for (std::size_t i = 0; i < count; ++i) {
      const int database = static_cast<int>(random_.below(3));
      const std::string key = "k" + std::to_string(next_++);
      const std::string value(random_.below(40), 'v');
      commands.emplace_back(database, command({"SET", key, value}));
      unit.lines.push_back(std::to_string(database) + ": SET " + key + " " + value);
      unit.bytes += command({"SELECT", std::to_string(database)}) + commands.back().second;
    }
    if (is_transaction) aof_->append(commands.front().first, command({"MULTI"}));
    for (const auto& [database, bytes] : commands) aof_->append(database, bytes);
    if (is_transaction) aof_->append(commands.back().first, command({"EXEC"}));
    unit.end = aof_->appended_offset();
    units_.push_back(std::move(unit));
  }

  void flush() {
    now_ += Millis(random_.below(1'500));
    if (!aof_->is_open() || !aof_->flush(now_)) return;
    RC_ASSERT(aof_->buffered() == 0u);
    written_ = units_.size();
    if (aof_->is_in_force()) flushed_ = written_;
  }

  void begin_rewrite() {
    if (aof_->is_rewriting()) return;
    const Result<std::string> base = aof_->begin_rewrite();
    RC_ASSERT(base.ok() == aof_->is_rewriting());
    if (!base) return;
    written_ = units_.size();
    if (aof_->is_in_force()) flushed_ = written_;
    base_path_ = *base;
    base_bytes_.clear();
    for (const Unit& unit : units_) base_bytes_ += unit.bytes;
  }

  // The child writes the base, and may fail.
  bool write_base() {
    Result<std::unique_ptr<DiskFile>> file = disk_.create(base_path_);
    if (!file || !(*file)->write(base_bytes_)) return false;
    return random_.below(2) == 0 || (*file)->sync();
  }

  void finish_rewrite() {
    if (!aof_->is_rewriting()) return;
    if (!write_base()) return abort_rewrite();
    const Status status = aof_->finish_rewrite();
    RC_ASSERT(!aof_->is_rewriting());
    if (status) flushed_ = written_;
    if (!aof_->is_in_force()) forget_unsafe();
  }

  void abort_rewrite() {
    aof_->abort_rewrite();
    if (!aof_->is_in_force()) forget_unsafe();
  }

  // The log is off: the keys stay, but nobody has promised anything about them. For the model it is
  // as if they had never been; else the list in a later base would have a gap.
  void forget_unsafe() { units_.resize(flushed_); }

  void switch_off_and_on() {
    if (aof_->is_rewriting()) abort_rewrite();
    if (aof_->is_open()) {
      if (!aof_->sync_now()) return;
      flushed_ = units_.size();
    }
    aof_ = std::make_unique<Aof>(disk_, options_);
    for (Unit& unit : units_) unit.end = 0;
    begin_rewrite();
  }

  void crash(bool with_power_cut) {
    RC_ASSERT(!aof_->is_doubtful());
    const std::uint64_t synced = aof_->synced_offset();
    aof_.reset();
    if (with_power_cut) disk_.power_cut();
    disk_.forgive();  // a process that begins cannot know that an earlier one's sync has failed
    disk_.heal();
    const Loaded loaded = load_aof(disk_, options_);
    const bool is_unsafe = with_power_cut && options_.sync != AofSync::always;
    if (!loaded.error.empty()) RC_FAIL(loaded.error);

    std::size_t least = flushed_;
    if (is_unsafe) {
      least = static_cast<std::size_t>(
          std::ranges::count_if(units_, [&](const Unit& unit) { return unit.end <= synced; }));
      least = std::min(least, flushed_);
    }
    keep_what_is_in(loaded.lines, least);
    open();
    if (random_.below(2) == 0) RC_ASSERT(load_aof(disk_, options_).lines == loaded.lines);
  }

  // The lines must be those of the first units, of at least so many, and of whole ones.
  void keep_what_is_in(const std::vector<std::string>& lines, std::size_t least) {
    std::size_t count = 0;
    std::size_t at = 0;
    for (; count < units_.size() && at < lines.size(); ++count) {
      for (const std::string& line : units_[count].lines) {
        RC_ASSERT(at < lines.size());
        RC_ASSERT(lines[at++] == line);
      }
    }
    RC_ASSERT(at == lines.size());
    RC_ASSERT(count >= least);
    units_.resize(count);
  }

  Random random_;
  FakeDisk disk_;
  AofOptions options_ = {.directory = "data/aof", .rdb_preamble = false};
  std::unique_ptr<Aof> aof_;
  Time now_ = at(1'000'000);
  int next_ = 0;

  std::vector<Unit> units_;  // all that was appended
  std::size_t written_ = 0;  // the first so many were flushed
  std::size_t flushed_ = 0;  // and are in a log that is in force
  std::string base_path_;
  std::string base_bytes_;
};

void run(AofSync sync) {
  EXPECT_TRUE(rc::check([sync] {
    Model model(*rc::gen::arbitrary<std::uint64_t>(), sync);
    for (int i = 0; i < 200; ++i) model.step();
  }));
}

TEST(AofModel, AlwaysSurvivesPowerCutsWithAllThatWasFlushed) { run(AofSync::always); }

TEST(AofModel, EverysecSurvivesCrashesWithAllThatWasFlushed) { run(AofSync::everysec); }

TEST(AofModel, NoSurvivesCrashesWithAllThatWasFlushed) { run(AofSync::no); }

}  // namespace aof_model_test
}  // namespace mayfly
