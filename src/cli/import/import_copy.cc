// SPDX-License-Identifier: Apache-2.0
#include "cli/import/import_copy.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "cli/import/import_state.h"
#include "mayfly/internal/stopwatch.h"
#include "text/byte_text.h"
#include "tools/terminal/progress.h"
#include "tools/terminal/terminal.h"

namespace mayfly {
namespace {

// Between two writes of the state file.
constexpr std::int64_t kStateEveryNs = 200'000'000;

// One run. The state is that of the last batch that the target has stored.
class CopyRun {
 public:
  CopyRun(CopySource& source, CopyTarget& target, const CopyPlan& plan)
      : source_(source), target_(target), plan_(plan), start_ns_(monotonic_ns()) {}

  Status begin();
  Result<Exit> run(StopSignals& stop);

 private:
  Status resume(CopyState& before);
  Result<std::string> change_since(const CopyState& before) const;
  Status check_differences(const CopyState& before) const;
  Status check_forbidden(const CopyCounts& before) const;
  Status batch();
  Status check_skipped(const CopyCounts& counts) const;
  Result<bool> copy_all(StopSignals& stop);
  Status save_progress(bool at_once);
  Error with_advice(const Error& error) const;
  Result<Exit> finish();
  Exit interrupted() const;
  std::string rate() const;

  CopySource& source_;
  CopyTarget& target_;
  const CopyPlan& plan_;
  const std::int64_t start_ns_;
  CopyState state_;
  std::int64_t saved_ns_ = 0;     // when the state was written; 0: never
  std::uint64_t saved_keys_ = 0;  // copied keys of the written state
  std::uint64_t seen_before_ = 0;
  bool is_resumed_ = false;
};

void print_note(const std::string& text) { fmt::print(stderr, "mayfly: {}\n", text); }

// Resumes an interrupted run if there is one.
Status CopyRun::begin() {
  state_.from = on_one_line(source_.name());
  state_.to = on_one_line(target_.name());
  state_.match = on_one_line(plan_.match);
  state_.family = on_one_line(plan_.family);
  state_.if_absent = plan_.keeps ? "yes" : "no";
  state_.run = source_.identity();
  if (plan_.is_restart) return Done{};
  Result<std::optional<CopyState>> before = load_state(plan_.state_path);
  if (!before) return before.error();
  if (*before) return resume(**before);
  if (!plan_.must_resume) return Done{};
  return Error{Code::not_found,
               fmt::format("nothing to resume: state file '{}' not found", plan_.state_path)};
}

// Refuses to resume with other options.
Status CopyRun::check_differences(const CopyState& before) const {
  std::string all;
  const auto compare = [&](std::string_view then, std::string_view now) {
    if (then != now) all += fmt::format("{}{}, not {}", all.empty() ? "" : ", and ", then, now);
  };
  const auto option = [](std::string_view name, std::string_view value) {
    return value.empty() ? fmt::format("without {}", name) : fmt::format("with {} {}", name, value);
  };
  const auto if_absent = [](const CopyState& state) {
    return state.if_absent == "yes" ? "with --if-absent" : "without --if-absent";
  };
  compare(fmt::format("from {}", before.from), fmt::format("from {}", state_.from));
  compare(fmt::format("to {}", before.to), fmt::format("to {}", state_.to));
  compare(option("--match", before.match), option("--match", state_.match));
  compare(option("--cf", before.family), option("--cf", state_.family));
  compare(if_absent(before), if_absent(state_));
  if (all.empty()) return Done{};
  return Error{Code::invalid,
               fmt::format("cannot resume from '{}': that copy was started {} (use the same "
                           "options, another --state FILE, or --restart)",
                           plan_.state_path, all)};
}

// Some options forbid something. They may be added when resuming, unless it has already happened.
Status CopyRun::check_forbidden(const CopyCounts& before) const {
  if (plan_.is_strict && before.all_skipped() > 0) {
    return Error{Code::invalid,
                 fmt::format("cannot resume with --strict: {} keys were skipped before (omit "
                             "--strict, or use --restart)",
                             before.all_skipped())};
  }
  if (!plan_.drops_member_ttls && before.dropped > 0) {
    return Error{Code::invalid,
                 fmt::format("cannot resume: {} member TTLs were dropped before (use "
                             "--without-member-ttl or --restart)",
                             before.dropped)};
  }
  return Done{};
}

// What has changed since that state; empty: nothing.
Result<std::string> CopyRun::change_since(const CopyState& before) const {
  if (const std::string change = source_.change_since(before.run); !change.empty()) {
    return fmt::format("{} {}", source_.name(), change);
  }
  const Result<std::string> loss = target_.loss_since(before.target);
  if (!loss || loss->empty()) return loss;
  return fmt::format("{} {}", target_.name(), *loss);
}

Status CopyRun::resume(CopyState& before) {
  if (const Status status = check_differences(before); !status) return status;
  const Result<std::string> change = change_since(before);
  if (!change) return change.error();
  if (!change->empty()) {
    print_note(fmt::format("{}; starting over", *change));
    // If this run ends before it writes a state, the old one must not be used.
    std::error_code ignored;
    std::filesystem::remove(plan_.state_path, ignored);
    return Done{};
  }
  if (const Status status = check_forbidden(before.counts); !status) return status;
  if (const Status status = source_.go_to(before.place); !status) return status;
  state_ = std::move(before);
  state_.run = source_.identity();
  saved_keys_ = state_.counts.all_keys();
  seen_before_ = state_.counts.seen;
  is_resumed_ = true;
  if (!plan_.is_json) {
    print_note(fmt::format("resuming after {} keys", state_.counts.all_keys()));
  }
  return Done{};
}

Status CopyRun::check_skipped(const CopyCounts& counts) const {
  if (!plan_.is_strict || counts.last_skipped.empty()) return Done{};
  return Error{Code::unsupported,
               fmt::format("key {} cannot be copied: {} (omit --strict to skip it)",
                           bytes_as_json(counts.last_skipped), counts.skipped.begin()->first)};
}

// Copies up to the next place. Counted only if all of it is written.
Status CopyRun::batch() {
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

Status CopyRun::save_progress(bool at_once) {
  const std::int64_t now_ns = monotonic_ns();
  if (!at_once && saved_ns_ != 0 && now_ns - saved_ns_ < kStateEveryNs) return Done{};
  if (const Status status = target_.sync(); !status) return status;
  const Result<std::string> mark = target_.mark();
  if (!mark) return mark.error();
  state_.target = *mark;
  if (const Status status = save_state(plan_.state_path, state_); !status) return status;
  saved_ns_ = now_ns;
  saved_keys_ = state_.counts.all_keys();
  return Done{};
}

std::string CopyRun::rate() const {
  const double seconds = std::max(static_cast<double>(monotonic_ns() - start_ns_) / 1e9, 0.001);
  const double rate = static_cast<double>(state_.counts.seen - seen_before_) / seconds;
  const std::string a_second =
      rate >= 1000 ? fmt::format("{:.1f} K/s", rate / 1000) : fmt::format("{:.0f}/s", rate);
  return fmt::format("{} keys, {}", state_.counts.all_keys(), a_second);
}

Error CopyRun::with_advice(const Error& error) const {
  if (!std::filesystem::exists(plan_.state_path)) return error;
  const Code code = error.code == Code::invalid ? Code::io : error.code;
  return {code, fmt::format("{}\nmayfly: {} keys were copied (run the same command again to "
                            "resume; state in {})",
                            error.message, saved_keys_, plan_.state_path)};
}

Exit CopyRun::interrupted() const {
  print_note(
      fmt::format("interrupted after {} keys (run the same command again to resume; state in {})",
                  state_.counts.all_keys(), plan_.state_path));
  return Exit::failed;
}

Result<Exit> CopyRun::finish() {
  if (const Status status = target_.sync(); !status) return with_advice(status.error());
  std::error_code ignored;
  std::filesystem::remove(plan_.state_path, ignored);
  const double seconds = static_cast<double>(monotonic_ns() - start_ns_) / 1e9;
  const CopySummary summary = {source_.name(), target_.name(), seconds, is_resumed_,
                               plan_.left_out};
  fmt::print("{}", plan_.is_json ? summary_json(summary, state_.counts)
                                 : summary_text(summary, state_.counts));
  return Exit::ok;
}

// Returns true at the end, false if it was interrupted.
Result<bool> CopyRun::copy_all(StopSignals& stop) {
  const Result<double> total = source_.total();
  if (!total) return total.error();
  // With --match the number of keys is not known.
  const double left = plan_.match.empty()
                          ? std::max(1.0, *total - static_cast<double>(seen_before_))
                          : std::numeric_limits<double>::infinity();
  Progress progress(stderr, is_terminal(STDERR_FILENO), left);
  while (true) {
    const std::uint64_t before = state_.counts.seen;
    if (const Status status = batch(); !status) {
      if (saved_ns_ != 0) (void)save_progress(true);
      return status.error();
    }
    if (source_.is_at_end()) return true;
    progress.begin(rate());
    progress.add(static_cast<double>(state_.counts.seen - before));
    const bool is_asked = stop.asked();
    if (const Status status = save_progress(is_asked); !status) return status.error();
    if (is_asked) return false;
  }
}

Result<Exit> CopyRun::run(StopSignals& stop) {
  const Result<bool> is_complete = copy_all(stop);
  if (!is_complete) return with_advice(is_complete.error());
  return *is_complete ? finish() : interrupted();
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
  CopyRun copy(source, target, plan);
  if (const Status status = copy.begin(); !status) return status.error();
  return copy.run(stop);
}

}  // namespace mayfly
