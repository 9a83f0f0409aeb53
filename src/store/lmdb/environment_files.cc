// SPDX-License-Identifier: Apache-2.0
// Whether the files of an open store still have their names. If one has been removed or replaced, a
// process that opens the path opens other files, and the writes of both would be lost, or destroy
// the store.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "mayfly/internal/stopwatch.h"
#include "store/lmdb/environment.h"
#include "store/lmdb/store_files.h"
#include "store/log/try_until.h"

namespace mayfly::internal {
namespace {

constexpr std::int64_t kLookEvery = 1000 * kNanosInMilli;
constexpr std::int64_t kLookAtLimitEvery = kNanosInMilli;

// Whether another process has locked the file, as all that have the store open do (LMDB does it).
bool is_locked_elsewhere(const std::string& lock_path) {
  const int file = ::open(lock_path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return false;
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  const bool known = ::fcntl(file, F_GETLK, &lock) == 0;
  ::close(file);
  return known && lock.l_type != F_UNLCK;
}

Error in_use_error(const std::string& path) {
  return {Code::io, "cannot open " + path + ": another process has it open, but " + path +
                        " or a file beside it was removed or replaced (end that process first)"};
}

}  // namespace

Error gone_error(const std::string& doing, const std::string& path) {
  return {Code::io, "cannot " + doing + ": " + path +
                        " was removed or replaced while the store was open (close the store, and "
                        "open it again)"};
}

bool is_used_elsewhere(const std::string& path) {
  return is_locked_elsewhere(path + "-lock") || is_held(path + "-wal");
}

int Environment::descriptor() const {
  int file = -1;
  if (env_ != nullptr) ::mdb_env_get_fd(env_, &file);
  return file;
}

// The only process publishes the identities of its files to later ones. REQUIRES: LMDB has been
// started.
void Environment::note_files() {
  {
    const std::scoped_lock lock(mutex_);
    file_id_ = file_id(descriptor());
    lock_id_ = is_detached_ ? FileId() : file_id(path_ + "-lock");
  }
  if (!session_->alone()) return;
  session_->words().store_file = file_id_.number;
  session_->words().lock_file = lock_id_.number;
}

FileId Environment::id() const {
  const std::scoped_lock lock(mutex_);
  return file_id_;
}

// Before LMDB is started. Who is not alone must have the files that the others have. Who is alone
// by -shm may not be, if that was removed; a process that is just ending gets a moment. The lock is
// set first, and others are looked for then: of two processes at least one sees the other.
Status Environment::check_company() {
  if (is_detached_) return is_held(path_) ? Status(in_use_error(path_)) : Status(Done{});
  auto hold = FileHold::on(path_);
  if (!hold) return hold.error();
  session_->hold(std::move(*hold));
  if (!session_->alone()) {
    const SharedWords& words = session_->words();
    const auto is_other = [](const std::string& path, std::uint64_t known) {
      return known != 0 && file_id(path).number != known;
    };
    if (is_other(path_, words.store_file.load())) return gone_error("open " + path_, path_);
    const std::string lock = path_ + "-lock";
    if (is_other(lock, words.lock_file.load())) return gone_error("open " + path_, lock);
    return Done{};
  }
  const auto is_alone = [&] { return !session_->store().is_shared() && !is_used_elsewhere(path_); };
  if (try_until(Session::kLeastWait, is_alone)) return Done{};
  return in_use_error(path_);
}

// At most once a second, since it asks for four names.
Status Environment::check_files(bool now) {
  if (is_detached_) return Done{};
  const std::int64_t moment = monotonic_ns();
  if (moment >= look_at_limit_) {
    look_at_limit_ = moment + kLookAtLimitEvery;
    log_->look_at_limit();
  }
  if (lost_.empty() && !now && moment < look_at_) return Done{};
  look_at_ = moment + kLookEvery;
  if (lost_.empty()) lost_ = find_lost();
  if (lost_.empty()) return Done{};
  return gone_error("write to " + path_, lost_);
}

// The path of a file that is not there any more.
std::string Environment::find_lost() const {
  const std::scoped_lock lock(mutex_);
  if (file_id(path_) != file_id_) return path_;
  if (file_id(path_ + "-lock") != lock_id_) return path_ + "-lock";
  if (!session_->is_named()) return path_ + "-shm";
  if (!log_->is_named()) return log_->path();
  return {};
}

}  // namespace mayfly::internal
