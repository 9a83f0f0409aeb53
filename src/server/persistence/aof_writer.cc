// SPDX-License-Identifier: Apache-2.0
// Opening, flushing, rewriting and closing the append-only file.

#include "server/persistence/aof_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "persist/aof/aof_reader.h"
#include "persist/aof/aof_rewrite.h"
#include "server/core/clients.h"
#include "server/persistence/aside/files_aside.h"
#include "server/persistence/background.h"
#include "server/persistence/data_directory.h"
#include "server/persistence/loading.h"
#include "server/replication/replication_stream.h"

namespace mayfly {
namespace {

constexpr Millis kFlushRetryDelay{100};  // between attempts to write
constexpr Millis kRewriteDelay{5000};
constexpr Millis kToldInterval{60'000};
constexpr std::uint64_t kDoublings = 6;  // of that delay: at most 5 min 20 s

AofSync sync_of(std::string_view name) {
  if (name == "always") return AofSync::always;
  return name == "no" ? AofSync::no : AofSync::everysec;
}

// What the child does.
Status write_base(const StorageContext& context, const std::string& path,
                  const SaveOptions& options, bool rdb_preamble, const OnChildProgress& report) {
  const Result<SaveProgress> written = write_aof_base_file(
      context.host.disk(), path, context.keyspace, options, rdb_preamble,
      [&](const SaveProgress& at) { report({.keys = at.keys, .bytes = at.bytes}); });
  if (!written) return written.error();
  report({.keys = written->keys, .bytes = written->bytes});
  return Done{};
}

}  // namespace

AofWriter::~AofWriter() = default;

AofOptions AofWriter::options_of(const Config& config) {
  return {.directory = config.dir + "/" + config.appenddirname,
          .name = config.appendfilename,
          .sync = sync_of(config.appendfsync),
          .rdb_preamble = config.aof_use_rdb_preamble,
          .no_sync_on_rewrite = config.no_appendfsync_on_rewrite};
}

AofOptions AofWriter::options() const { return options_of(context_.config); }

void AofWriter::apply_config() {
  if (!aof_) return;
  const AofOptions now = options();
  aof_->set_sync(now.sync);
  aof_->set_rdb_preamble(now.rdb_preamble);
  aof_->set_no_sync_on_rewrite(now.no_sync_on_rewrite);
}

std::unique_ptr<Aof> AofWriter::make_log() const {
  return std::make_unique<Aof>(context_.host.disk(), options());
}

Status AofWriter::lock_directory(const std::string& directory) {
  if (lock_ && locked_ == directory) return Done{};
  Disk& disk = context_.host.disk();
  if (Status status = disk.make_directory(directory); !status) return status;
  Result<std::unique_ptr<DirectoryLock>> lock =
      directory_.lock(directory, "--dir or --appenddirname");
  if (!lock) return lock.error();
  lock_ = std::move(*lock);
  locked_ = directory;
  return Done{};
}

Status AofWriter::check_can_begin(const AofOptions& options) {
  Status status = lock_directory(options.directory);
  if (status) status = check_aof_directory(context_.host.disk(), options);
  if (!status) lock_.reset();
  return status;
}

Status AofWriter::open(bool goes_on) {
  if (Status status = lock_directory(options().directory); !status) return status;
  aof_ = make_log();
  if (Status status = goes_on ? aof_->open() : write_first_base(); !status) {
    drop();
    return status;
  }
  is_on_ = true;
  propagation_.add_sink(*this);
  return Done{};
}

// The steps before a base is written. Returns its path.
Result<std::string> AofWriter::begin_base() {
  Status ready = lock_directory(aof_->options().directory);
  if (ready && left_out_ != LeftOut::nothing) ready = keep_loaded();
  return ready ? aof_->begin_rewrite() : Result<std::string>(ready.error());
}

Status AofWriter::write_first_base() {
  const Result<std::string> path = begin_base();
  if (!path) return path.error();
  context_.log.notice("Writing the base of a new append-only file: '{}'", *path);
  const Status written = write_base(context_, *path, save_options(context_),
                                    aof_->options().rdb_preamble, [](const ChildProgress&) {});
  if (!written) {
    aof_->abort_rewrite();
    return written;
  }
  const Status finished = aof_->finish_rewrite();
  if (finished) mark_dump(context_);  // it was loaded
  return finished;
}

void AofWriter::switch_on() {
  if (aof_) stop_rewrite();  // of a log that was off
  marks_dump_ = true;
  aof_ = make_log();
  is_on_ = true;
  failures_ = 0;
  next_rewrite_ = Time::min();
  propagation_.add_sink(*this);
  context_.log.notice(
      "The append-only file was switched on: an AOF background was scheduled to write it");
}

void AofWriter::switch_off() {
  stop_rewrite();
  if (Status status = sync_now(); !status) {
    context_.log.warning(
        "The append-only file was switched off, but its end could not "
        "be written: {}",
        status.error().message);
  } else {
    context_.log.notice("The append-only file was switched off");
  }
  propagation_.remove_sink(*this);
  is_on_ = false;
  is_scheduled_ = false;
  failure_.reset();
  drop();
}

void AofWriter::restart() {
  stop_rewrite();
  if (!is_on_) return;
  drop();
  aof_ = make_log();
  failure_.reset();
  failures_ = 0;
  next_rewrite_ = Time::min();
}

void AofWriter::restart_with(const std::string& path) {
  restart();
  if (!is_on_ || !aof_->options().rdb_preamble) return;
  const Result<std::string> base = begin_base();
  Status installed = base ? context_.host.disk().rename(path, *base) : Status(base.error());
  if (base && !installed) aof_->abort_rewrite();
  if (installed) installed = aof_->finish_rewrite();
  if (installed) {
    context_.log.notice("The file that was received is the base of the append-only file now");
    return;
  }
  // For example, it is in another file system.
  context_.log.notice("The file that was received cannot be the base of the append-only file: {}",
                      installed.error().message);
}

// ---- The end ----

Status AofWriter::complete(Time now) {
  if (!is_on_) return Done{};
  if (!aof_->is_in_force()) {
    if (Status written = write_first_base(); !written) {
      record_rewrite_failure(written.error(), now);  // which logs it: it is tried again
      return Error{written.error().code,
                   fmt::format("it has no base yet, and none could be written: {} (make room, or "
                               "switch it off: CONFIG SET appendonly no)",
                               written.error().message)};
    }
    failures_ = 0;
  }
  note_end();
  return sync_now();
}

// Outside of a cluster the note counts only if nothing follows it. In one it is the last of those
// of add_note(), so that the node does not seem to have less than it has.
void AofWriter::note_end() {
  const ReplicationStream& stream = context_.stream;
  if (stream.epoch() > 0) return note_now();
  if (!stream.is_open()) return;
  aof_->append(kAnyDatabase, fmt::format("{}0 {} {} {}\r\n", AofReader::kNoteMark, stream.ids().id,
                                         stream.log().end(), std::max(stream.selected(), 0)));
}

void AofWriter::drop() {
  before_ = appended_offset();
  aof_.reset();
  if (!is_on_) lock_.reset();
}

Status AofWriter::sync_now() { return aof_ && aof_->is_open() ? aof_->sync_now() : Status(Done{}); }

void AofWriter::take(int database, std::string_view command) { aof_->append(database, command); }

void AofWriter::before_sleep(Time now) {
  flush(now);
  if (!is_time_to_rewrite(now)) return;
  // A failure has been logged, and is tried again later.
  if (Status status = start_rewrite(now); !status) is_scheduled_ = false;
}

// For the recovery of a cluster: which writes the file has up to here. Each flush has a note: a
// process that is killed shall not seem to have less than a replica that it has just sent a ping.
void AofWriter::add_note() {
  const ReplicationStream& stream = context_.stream;
  if (stream.epoch() == 0) return;
  if (stream.log().end() == noted_offset_ && stream.epoch() == noted_epoch_) return;
  note_now();
}

void AofWriter::note_now() {
  const ReplicationStream& stream = context_.stream;
  noted_offset_ = stream.log().end();
  noted_epoch_ = stream.epoch();
  aof_->append(kAnyDatabase, fmt::format("{}{} {} {}\r\n", AofReader::kNoteMark, stream.epoch(),
                                         stream.ids().id, noted_offset_));
}

void AofWriter::flush(Time now) {
  if (!is_on_ || !aof_->is_open()) return;
  add_note();
  // A clock that was set back must not keep it waiting.
  if (failure_ && is_due(failed_at_, now) && !is_due(failed_at_ + kFlushRetryDelay, now)) return;
  const Status status = aof_->flush(now);
  if (status && !failure_) return;
  if (status) {
    failure_.reset();
    context_.log.notice("The append-only file can be written again");
    return;
  }
  failed_at_ = now;
  if (!failure_ || !is_due(told_at_, now) || is_due(told_at_ + kToldInterval, now)) {
    told_at_ = now;
    context_.log.warning(
        "Cannot write the append-only file: {}. Writes are refused (MISCONF) until it works again "
        "(make room, or see to the disk: it is tried ten times a second)",
        status.error().message);
  }
  failure_ = status.error().message;
  if (aof_->is_in_force()) close_unsafe_clients();
}

void AofWriter::close_unsafe_clients() {
  // With `always` a reply means that it is on disk, otherwise that it is with the kernel.
  const bool is_always = aof_->options().sync == AofSync::always;
  const std::uint64_t safe = is_always ? synced_offset() : before_ + aof_->written_offset();
  for (const auto& [id, client] : clients_.all()) {
    if (client->written.aof <= safe || client->is_primary || client->link().closing()) continue;
    client->link().close_now("the append-only file could not be written");
  }
}

Status AofWriter::check_writable() const {
  if (!failure_) return Done{};
  return Error{Code::io, fmt::format("MISCONF Errors writing to the AOF file: {}", *failure_)};
}

bool AofWriter::is_scheduled() const {
  const bool needs_base = is_on_ && aof_ && !aof_->is_open();
  return is_scheduled_ || (needs_base && !context_.background.is_doing(Job::rewrite));
}

bool AofWriter::is_time_to_rewrite(Time now) const {
  if (context_.background.is_busy() || context_.loading.is_active()) return false;
  if (is_scheduled_) return true;
  if (!is_on_ || failure_ || !is_due(next_rewrite_, now)) return false;
  if (!aof_->is_open() || aof_->is_doubtful()) return true;
  const Config& config = context_.config;
  if (config.auto_aof_rewrite_percentage == 0) return false;
  if (aof_->size() < config.auto_aof_rewrite_min_size) return false;
  const std::uint64_t base = std::max<std::uint64_t>(aof_->base_size(), 1);
  const std::uint64_t grown = aof_->size() - std::min(aof_->size(), base);
  return grown / base * 100 + grown % base * 100 / base >=
         static_cast<std::uint64_t>(config.auto_aof_rewrite_percentage);
}

Status AofWriter::start_rewrite(Time now) {
  is_scheduled_ = false;
  rewrite_begun_ = now;
  if (!aof_) aof_ = make_log();
  const Result<std::string> path = begin_base();
  if (!path) {
    record_rewrite_failure(path.error(), now);
    return path.error();
  }
  const SaveOptions options = save_options(context_);
  const bool rdb_preamble = aof_->options().rdb_preamble;
  const Status started = context_.background.start(
      Job::rewrite, now,
      [this, path = *path, options, rdb_preamble](const OnChildProgress& report) {
        return write_base(context_, path, options, rdb_preamble, report);
      },
      [this](const Status& status, const ChildProgress& progress) { rewritten(status, progress); });
  if (!started) {
    aof_->abort_rewrite();
    record_rewrite_failure(started.error(), now);
    return started;
  }
  context_.log.notice("Background append only file rewriting started by pid {}",
                      context_.background.pid());
  return Done{};
}

void AofWriter::rewritten(const Status& status, const ChildProgress& progress) {
  const Time now = context_.clock.now();
  last_took_ = now - rewrite_begun_;
  last_copied_bytes_ = progress.copied_bytes;
  Status done = status;
  if (status) {
    done = aof_->finish_rewrite();
  } else {
    aof_->abort_rewrite();
  }
  if (is_stopping_) {
    context_.log.notice("Background append only file rewriting was cancelled");
  } else if (!done) {
    return record_rewrite_failure(done.error(), now);
  } else {
    ++rewrites_;
    if (std::exchange(marks_dump_, false)) mark_dump(context_);
    failures_ = 0;
    next_rewrite_ = Time::min();
    context_.log.notice(
        "Background append only file rewriting terminated with "
        "success: {} keys, {} bytes",
        progress.keys, progress.bytes);
  }
  if (!is_on_) drop();
}

// Each attempt leaves one more increment behind: they must not become many.
void AofWriter::record_rewrite_failure(const Error& error, Time now) {
  next_rewrite_ = now + kRewriteDelay * (1 << std::min(failures_, kDoublings));
  ++failures_;
  context_.log.warning("Rewriting the append-only file failed: {}", error.message);
  if (!is_on_) drop();
}

void AofWriter::stop_rewrite() {
  if (!context_.background.is_doing(Job::rewrite)) return;
  is_stopping_ = true;
  context_.background.stop();
  is_stopping_ = false;
}

}  // namespace mayfly
