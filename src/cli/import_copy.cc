// SPDX-License-Identifier: Apache-2.0
#include "cli/import_copy.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "cli/import_state.h"
#include "cli/import_summary.h"
#include "mayfly/stopwatch.h"
#include "tools/byte_text.h"
#include "tools/progress.h"
#include "tools/terminal.h"

namespace mayfly {
namespace {

// Between two states. What is copied in it is at most copied twice.
constexpr std::int64_t kStateEveryNs = 200'000'000;

// One run. The state is that of the last batch which the target has.
class Copy {
 public:
  Copy(CopySource& source, CopyTarget& target, const CopyPlan& plan)
      : source_(source), target_(target), plan_(plan), start_ns_(monotonic_ns()) {}

  Status begin();
  Result<Exit> run(StopSignals& stop);

 private:
  Status resume(CopyState& before);
  Status batch();
  Status check_skipped(const CopyCounts& counts) const;
  Result<bool> copy_all(StopSignals& stop);
  Status note(bool at_once);
  Error with_advice(const Error& error) const;
  Result<Exit> finish();
  Exit interrupted() const;
  std::string rate() const;

  CopySource& source_;
  CopyTarget& target_;
  const CopyPlan& plan_;
  const std::int64_t start_ns_;
  CopyState state_;
  std::int64_t noted_ns_ = 0;  // when the state was written last; 0: never
  std::uint64_t seen_before_ = 0;
  bool is_resumed_ = false;
};

void say(const std::string& text) { fmt::print(stderr, "mayfly: {}\n", text); }

// Takes up what an earlier run has left, unless it is of no use.
Status Copy::begin() {
  state_.from = source_.name();
  state_.to = target_.name();
  state_.match = plan_.match;
  state_.run = source_.identity();
  if (plan_.is_restart) return Done{};
  Result<std::optional<CopyState>> before = load_state(plan_.state_path);
  if (!before) return before.error();
  if (*before) return resume(**before);
  if (!plan_.must_resume) return Done{};
  return Error{Code::not_found,
               fmt::format("there is nothing to go on with: no state file '{}'", plan_.state_path)};
}

Status Copy::resume(CopyState& before) {
  if (before.from != state_.from || before.to != state_.to || before.match != state_.match) {
    return Error{
        Code::invalid,
        fmt::format("'{}' is the state of another copy, from {} to {}{}{}; finish that one first, "
                    "choose another --state FILE, or drop it with --restart",
                    plan_.state_path, before.from, before.to, before.match.empty() ? "" : " of ",
                    before.match)};
  }
  if (before.run != state_.run) {
    say(fmt::format("{} has been restarted since the interruption; beginning anew", state_.from));
    return Done{};
  }
  if (const Status status = source_.go_to(before.place); !status) return status;
  state_ = std::move(before);
  seen_before_ = state_.counts.seen;
  is_resumed_ = true;
  if (!plan_.is_json) {
    say(fmt::format("going on where the last one was interrupted, after {} keys",
                    state_.counts.all_keys()));
  }
  return Done{};
}

Status Copy::check_skipped(const CopyCounts& counts) const {
  if (!plan_.is_strict || counts.last_skipped.empty()) return Done{};
  return Error{Code::unsupported,
               fmt::format("--strict: the key {} cannot be copied ({}); without --strict it is "
                           "skipped and counted",
                           bytes_as_json(counts.last_skipped), counts.skipped.begin()->first)};
}

// From one place that can be come back to, to the next. It counts only if all of it is written.
Status Copy::batch() {
  CopyCounts counts = state_.counts;
  do {
    Result<std::vector<CopyItem>> items = source_.read(counts);
    if (!items) return items.error();
    if (const Status status = check_skipped(counts); !status) return status;
    if (const Status status = target_.write(*items, counts); !status) return status;
    if (const Status status = check_skipped(counts); !status) return status;
  } while (source_.is_in_batch());
  state_.counts = std::move(counts);
  state_.place = source_.place();
  return Done{};
}

Status Copy::note(bool at_once) {
  const std::int64_t now_ns = monotonic_ns();
  if (!at_once && noted_ns_ != 0 && now_ns - noted_ns_ < kStateEveryNs) return Done{};
  if (const Status status = target_.settle(); !status) return status;
  noted_ns_ = now_ns;
  return save_state(plan_.state_path, state_);
}

std::string Copy::rate() const {
  const double seconds = std::max(static_cast<double>(monotonic_ns() - start_ns_) / 1e9, 0.001);
  const double rate = static_cast<double>(state_.counts.seen - seen_before_) / seconds;
  const std::string a_second =
      rate >= 1000 ? fmt::format("{:.1f} K/s", rate / 1000) : fmt::format("{:.0f}/s", rate);
  return fmt::format("{} keys, {}", state_.counts.all_keys(), a_second);
}

Error Copy::with_advice(const Error& error) const {
  if (!std::filesystem::exists(plan_.state_path)) return error;
  const Code code = error.code == Code::invalid ? Code::io : error.code;
  return {code, fmt::format("{}\nmayfly: {} keys are copied; the same command goes on from there "
                            "(state in {})",
                            error.message, state_.counts.all_keys(), plan_.state_path)};
}

Exit Copy::interrupted() const {
  say(fmt::format("interrupted after {} keys; the same command goes on from there (state in {})",
                  state_.counts.all_keys(), plan_.state_path));
  return Exit::failed;
}

Result<Exit> Copy::finish() {
  if (const Status status = target_.settle(); !status) return with_advice(status.error());
  std::error_code ignored;
  std::filesystem::remove(plan_.state_path, ignored);
  const double seconds = static_cast<double>(monotonic_ns() - start_ns_) / 1e9;
  const CopySummary summary = {state_.from, state_.to, seconds, is_resumed_};
  fmt::print("{}", plan_.is_json ? summary_json(summary, state_.counts)
                                 : summary_text(summary, state_.counts));
  return Exit::ok;
}

// Returns whether it got to the end; else it was asked to stop.
Result<bool> Copy::copy_all(StopSignals& stop) {
  const Result<double> total = source_.total();
  if (!total) return total.error();
  // How many keys will match is not known, and a bar that lies is worse than none.
  const double left = plan_.match.empty()
                          ? std::max(1.0, *total - static_cast<double>(seen_before_))
                          : std::numeric_limits<double>::infinity();
  Progress progress(stderr, is_terminal(STDERR_FILENO), left);
  while (true) {
    const std::uint64_t before = state_.counts.seen;
    if (const Status status = batch(); !status) {
      if (noted_ns_ != 0) (void)note(true);
      return status.error();
    }
    if (source_.is_at_end()) return true;
    progress.begin(rate());
    progress.add(static_cast<double>(state_.counts.seen - before));
    const bool is_asked = stop.asked();
    if (const Status status = note(is_asked); !status) return status.error();
    if (is_asked) return false;
  }
}

Result<Exit> Copy::run(StopSignals& stop) {
  const Result<bool> got_to_the_end = copy_all(stop);
  if (!got_to_the_end) return with_advice(got_to_the_end.error());
  return *got_to_the_end ? finish() : interrupted();
}

}  // namespace

bool drop_due(CopyItem& item, Time now) {
  if (is_due(item.deadline, now)) return false;
  if (item.type == CopyType::string) return true;
  std::erase_if(item.members,
                [&](const CopyMember& member) { return is_due(member.deadline, now); });
  return !item.members.empty();
}

Result<Exit> run_copy(CopySource& source, CopyTarget& target, const CopyPlan& plan,
                      StopSignals& stop) {
  Copy copy(source, target, plan);
  if (const Status status = copy.begin(); !status) return status.error();
  return copy.run(stop);
}

}  // namespace mayfly
