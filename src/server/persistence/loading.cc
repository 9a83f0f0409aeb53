// SPDX-License-Identifier: Apache-2.0
// Loading in slices.

#include "server/persistence/loading.h"

#include <cassert>
#include <utility>

#include "mayfly/internal/stopwatch.h"
#include "server/config/config.h"
#include "server/core/key_events.h"
#include "server/persistence/child.h"
#include "server/persistence/storage_context.h"
#include "server/scripting/functions.h"
#include "server/scripting/scripting.h"

namespace mayfly {
namespace {

constexpr std::int64_t kLoadSliceNs = 10'000'000;  // 10 ms: a client waits no longer
constexpr std::size_t kLoadedAtOnce = 64;          // keys or commands between readings of the clock

}  // namespace

RdbChecks rdb_checks(const Config& config) {
  return {.allows_newer = config.rdb_version_check == "relaxed",
          .checksum = !config.skips_checksums};
}

Status check_skipped(const ServerContext& context,
                     const std::map<std::string, std::uint64_t>& skipped, const std::string& file) {
  if (skipped.empty()) return Done{};
  std::string counts;  // "3 of type list, 1 of type set"
  for (const auto& [type, count] : skipped) {
    counts += fmt::format("{}{} of type {}", counts.empty() ? "" : ", ", count, type);
  }
  const std::string what = fmt::format("{} has keys of unsupported types: {}", file, counts);
  if (!context.config.drop_unsupported) {
    return Error{Code::unsupported,
                 what +
                     " (to leave them out: --drop-unsupported, or CONFIG SET drop-unsupported "
                     "yes)"};
  }
  context.log.warning("{}. They are left out (drop-unsupported)", what);
  return Done{};
}

void warn_of_empty_keys(const ServerContext& context, const RdbReport& report,
                        const std::string& file) {
  if (report.empty_keys == 0) return;
  context.log.warning(
      "{} keys of {} are left out: they have no members or elements. The file is damaged, or was "
      "written by a server with a defect",
      report.empty_keys, file);
}

Error bad_manifest(const Error& why) {
  if (why.code != Code::corrupt) return why;
  return {why.code,
          fmt::format("{} (restore it from a backup, or write it again: a line 'file NAME "
                      "seq 1 type b' for the base beside it, 'type i' for what follows)",
                      why.message)};
}

LoadFunction load_function(const StorageContext& context, bool replaces) {
  return [&scripting = context.scripting, &log = context.log, replaces](std::string_view code) {
    const Result<std::string> name = scripting.functions().load(code, replaces);
    if (!name) log.warning("Cannot load a library of functions: {}", name.error().message);
    return name.ok();
  };
}

Status verify_rdb(const StorageContext& context, const std::string& path) {
  const Result<std::unique_ptr<ByteSource>> source = context.host.disk().open(path);
  if (!source) return source.error();
  RdbVerifier verifier(**source, context.keyspace.count(), rdb_checks(context.config));
  Result<bool> ended = false;
  while (ended && !*ended) ended = verifier.step(1);
  if (ended) return Done{};
  return Error{ended.error().code,
               fmt::format("cannot load '{}': {}", path, ended.error().message)};
}

void clear_data(const StorageContext& context, KeyEvents& events) {
  events.clear_all();
  context.scripting.functions().flush();
}

void Loading::begin(std::unique_ptr<LoadTask> task, Time now, Ended ended) {
  assert(!is_active());
  task_ = std::move(task);
  since_ = now;
  ended_ = std::move(ended);
}

void Loading::step(std::size_t count) {
  const Result<bool> is_done = task_->step(count);
  if (is_done && !*is_done) return;
  // The task outlives the call, which may read its report and begin another one.
  const std::unique_ptr<LoadTask> task = std::exchange(task_, nullptr);
  const Ended ended = std::exchange(ended_, nullptr);
  ended(is_done ? Status(Done{}) : Status(is_done.error()));
}

void Loading::slice(std::int64_t delay) {
  const std::int64_t begin = monotonic_ns();
  const std::size_t at_once = delay > 0 ? 1 : kLoadedAtOnce;
  while (is_active() && monotonic_ns() - begin < kLoadSliceNs) {
    step(at_once);
    if (delay != 0) delay_keys(delay, at_once);
  }
}

void Loading::finish() {
  while (is_active()) step(kLoadedAtOnce);
}

void Loading::abandon() {
  task_.reset();
  ended_ = nullptr;
}

}  // namespace mayfly
