// SPDX-License-Identifier: Apache-2.0
// For tests: a register in memory. Several FakeRegisters share one FakeRecords, as servers share
// etcd. Questions and answers are delayed, lost and repeated as `weather` says, by a clock that the
// test moves by hand; without weather they are heard at once.
//
//   FakeRecords records;
//   FakeRegister fake(records);
//   fake.commit(..., on_answer);
//   records.advance(records.now() + 5ms);
//   fake.deliver();  // calls on_answer

#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cluster/plan/register_trust.h"
#include "cluster/register.h"

namespace mayfly {

class FakeRegister;

// What all of them see, and the clock.
class FakeRecords {
 public:
  Time now() const { return now_; }

  // When something happens next; kNever if nothing does.
  Time next() const { return pending_.empty() ? kNever : pending_.begin()->first; }

  void advance(Time to) {
    while (!pending_.empty() && pending_.begin()->first <= to) {
      auto first = pending_.extract(pending_.begin());
      now_ = std::max(now_, first.key());
      first.mapped()();
    }
    now_ = std::max(now_, to);
  }

  // While it is down, nothing is heard.
  bool is_down = false;

  // Called before a commit that is going to be done.
  std::function<void(const RegisterCommit&)> before_done;

  std::uint64_t version() const { return version_; }

  // Which register it is, as etcd's cluster id.
  std::uint64_t id = 1;
  RegisterPoint point() const { return {id, version_}; }

  // Restores what it once was, as etcd is restored from a snapshot. The watches of all processes
  // begin anew, with a read.
  void restore(const RegisterSnapshot& snapshot);

  std::optional<RegisterEntry> find(const std::string& key) const {
    const auto found = records_.find(key);
    if (found == records_.end()) return std::nullopt;
    return RegisterEntry{key, found->second.value, found->second.version};
  }

  // Without any delay, as somebody else.
  CommitAnswer apply(const RegisterCommit& commit);

  RegisterSnapshot read() const {
    RegisterSnapshot snapshot{{}, version_, id};
    for (const auto& [key, record] : records_) {
      snapshot.entries.push_back({key, record.value, record.version});
    }
    return snapshot;
  }

 private:
  friend class FakeRegister;
  struct Record {
    std::string value;
    std::uint64_t version = 0;
  };

  void after(Millis delay, std::function<void()> what) {
    pending_.emplace(now_ + delay, std::move(what));
  }

  Time now_{};
  std::uint64_t version_ = 0;
  std::map<std::string, Record> records_;
  std::multimap<Time, std::function<void()>> pending_;
  std::vector<FakeRegister*> clients_;
};

// What becomes of one question, or of one notice.
struct FakeWeather {
  Millis there{0};
  Millis back{0};
  bool is_lost = false;         // never heard
  bool is_answer_lost = false;  // heard, but the answer is not
  std::optional<Millis> again;  // heard once more, so much later
};

class FakeRegister : public Register {
 public:
  static constexpr Millis kTimeout{500};     // then the answer is "unknown"
  static constexpr Millis kLiveFor{15'000};  // a live record, after the process has ended

  // REQUIRES: `records` lives longer, and is not advanced after this is gone.
  explicit FakeRegister(FakeRecords& records) : records_(records) {
    records_.clients_.push_back(this);
  }
  ~FakeRegister() override { std::erase(records_.clients_, this); }
  FakeRegister(const FakeRegister&) = delete;
  FakeRegister& operator=(const FakeRegister&) = delete;

  std::function<FakeWeather()> weather;

  void read(OnRead answered) override {
    ask([this] { return records_.read(); },
        [this, answered = std::move(answered)](const RegisterSnapshot* snapshot) {
          const std::string& refused = trust_.problem();
          answered(snapshot != nullptr
                       ? Result<RegisterSnapshot>(*snapshot)
                       : Error{Code::io, refused.empty() ? "cannot read: no answer" : refused});
        });
  }

  void commit(RegisterCommit commit, OnCommit answered) override {
    ask([this, commit = std::move(commit)] { return records_.apply(commit); },
        [this, answered = std::move(answered)](const CommitAnswer* answer) {
          CommitAnswer unknown{CommitOutcome::unknown, 0, {}, "no answer"};
          if (answer == nullptr) ++stats_.unknown;
          answered(answer != nullptr ? *answer : unknown);
        });
  }

  void watch(OnChange changed) override { changed_ = std::move(changed); }

  void announce(std::string key, std::string value) override {
    live_key_ = std::move(key);
    live_value_ = std::move(value);
    if (!is_announcing_) put_live();
  }

  void trust(const RegisterPoint& point) override {
    trust_.trust(point);
    note_trust();
  }
  void distrust(std::string why) override {
    trust_.distrust(std::move(why));
    note_trust();
  }

  // The process ends: what it has asked is still heard, and its live record goes later.
  void end() {
    has_ended_ = true;
    records_.after(kLiveFor, [this] {
      const auto live = records_.find(live_key_);
      if (!live || live->version != live_version_) return;
      records_.apply({{{live_key_, live_version_}}, {{live_key_, std::nullopt}}});
    });
  }

  void deliver() override {
    while (!ready_.empty()) {
      const auto call = std::move(ready_.front());
      ready_.pop_front();
      call();
    }
  }

  bool has_answers() const { return !ready_.empty(); }

  RegisterStats stats() const override { return stats_; }

  // For FakeRecords: these have changed.
  void notice(const std::vector<RegisterEntry>& entries) {
    if (!changed_ || has_ended_ || is_watch_broken_) return;
    const FakeWeather what = weather ? weather() : FakeWeather{};
    if (what.is_lost || what.is_answer_lost || records_.is_down) return;
    if (!trust_.problem().empty()) return;
    records_.after(what.back, [this, entries] {
      for (const RegisterEntry& entry : entries) trust_.saw(entry.version);
      if (!has_ended_) ready_.emplace_back([this, entries] { changed_(entries); });
    });
  }

  // For FakeRecords: the connection of the watch has ended. There are no notices until a read has
  // had an answer of the trusted register.
  void watch_again() {
    if (!changed_ || has_ended_) return;
    is_watch_broken_ = true;
    ask([this] { return records_.read(); },
        [this](const RegisterSnapshot* snapshot) {
          if (snapshot == nullptr) return watch_again();
          is_watch_broken_ = false;
          changed_(snapshot->entries);
        });
  }

 private:
  // Asks `what` of the records; `answered` is called once, with nothing if there was no answer or
  // none of the trusted register.
  template <class What, class Answered>
  void ask(What what, Answered answered) {
    using Answer = decltype(what());
    const FakeWeather is = weather ? weather() : FakeWeather{};
    const int question = ++questions_;
    constexpr bool kIsRead = std::is_same_v<Answer, RegisterSnapshot>;
    const bool is_kept_back = !kIsRead && !trust_.problem().empty();
    open_.emplace(question,
                  [answered](const void* answer) { answered(static_cast<const Answer*>(answer)); });
    const auto heard = [this, what, is, question, floor = trust_.floor()] {
      if (records_.is_down) return;
      const Answer answer = what();
      if (is.is_answer_lost) return;
      records_.after(is.back, [this, question, answer, floor, point = records_.point()] {
        const bool fits = trust_.check(point, floor).ok();
        note_trust();
        close(question, fits ? &answer : nullptr);
      });
    };
    if (!is.is_lost && !is_kept_back) {
      records_.after(is.there, heard);
      if (is.again) records_.after(is.there + *is.again, heard);
    }
    records_.after(kTimeout, [this, question] { close<Answer>(question, nullptr); });
  }

  template <class Answer>
  void close(int question, const Answer* answer) {
    const auto found = open_.find(question);
    if (found == open_.end()) return;
    const auto answered = std::move(found->second);
    open_.erase(found);
    stats_.is_connected = answer != nullptr;
    if (has_ended_) return;
    ready_.emplace_back(
        [answered, copy = answer != nullptr ? std::optional<Answer>(*answer) : std::nullopt] {
          answered(copy ? &*copy : nullptr);
        });
  }

  void note_trust() {
    stats_.refused = trust_.problem();
    stats_.is_refused_for_good = trust_.is_final();
  }

  // Reads what is there, and replaces that and nothing else; again until it is done.
  void put_live() {
    is_announcing_ = true;
    ask([this] { return records_.read(); },
        [this](const RegisterSnapshot* snapshot) {
          if (snapshot == nullptr) return put_live();
          std::uint64_t version = 0;
          for (const RegisterEntry& entry : snapshot->entries) {
            if (entry.key == live_key_) version = entry.version;
          }
          replace_live(version);
        });
  }

  void replace_live(std::uint64_t version) {
    ask(
        [this, version, value = live_value_] {
          const CommitAnswer answer =
              records_.apply({{{live_key_, version}}, {{live_key_, value}}});
          if (answer.outcome == CommitOutcome::done) live_version_ = answer.version;
          return answer;
        },
        [this, value = live_value_](const CommitAnswer* answer) {
          is_announcing_ = false;
          const bool is_done = answer != nullptr && answer->outcome == CommitOutcome::done;
          if (!is_done || value != live_value_) put_live();
        });
  }

  FakeRecords& records_;
  int questions_ = 0;
  std::map<int, std::function<void(const void*)>> open_;
  std::deque<std::function<void()>> ready_;
  OnChange changed_;
  std::string live_key_;
  std::string live_value_;
  std::uint64_t live_version_ = 0;
  bool is_announcing_ = false;
  bool is_watch_broken_ = false;
  bool has_ended_ = false;
  RegisterStats stats_;
  RegisterTrust trust_;
};

inline void FakeRecords::restore(const RegisterSnapshot& snapshot) {
  records_.clear();
  for (const RegisterEntry& entry : snapshot.entries) {
    records_[entry.key] = {*entry.value, entry.version};
  }
  version_ = snapshot.version;
  for (FakeRegister* client : clients_) client->watch_again();
}

inline CommitAnswer FakeRecords::apply(const RegisterCommit& commit) {
  CommitAnswer answer{CommitOutcome::refused, 0, {}, {}};
  bool is_refused = false;
  for (const RegisterCommit::Compare& compare : commit.compares) {
    const auto entry = find(compare.key);
    answer.current.push_back(entry ? *entry : RegisterEntry{compare.key, std::nullopt, 0});
    if (answer.current.back().version != compare.version) is_refused = true;
  }
  if (is_refused) return answer;
  if (before_done) before_done(commit);
  answer = {CommitOutcome::done, ++version_, {}, {}};
  std::vector<RegisterEntry> changed;
  for (const RegisterCommit::Put& put : commit.puts) {
    if (put.value) {
      records_[put.key] = {*put.value, version_};
    } else {
      records_.erase(put.key);
    }
    changed.push_back({put.key, put.value, version_});
  }
  for (FakeRegister* client : clients_) client->notice(changed);
  return answer;
}

}  // namespace mayfly
