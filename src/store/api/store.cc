// SPDX-License-Identifier: Apache-2.0
// Store: opening, closing, transactions. Single calls are in store_calls.cc, maintenance
// in store_maintenance.cc.

#include "mayfly/store.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <new>
#include <utility>

#include "store/api/state.h"

namespace mayfly {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kMapBytesLeast = std::uint64_t{64} << 10;

Status check_options(const StoreOptions& options) {
  if (options.purge_batch == 0) {
    return Error{Code::invalid, "purge_batch must be at least 1"};
  }
  if (options.busy_timeout < Millis::zero()) {
    return Error{Code::invalid, "busy_timeout must not be negative (0 means not to wait)"};
  }
  if (options.sync_interval <= Millis::zero()) {
    return Error{Code::invalid, "sync_interval must be at least 1 ms"};
  }
  if (options.map_bytes != 0 && options.map_bytes < kMapBytesLeast) {
    return Error{Code::invalid, "map_bytes must be at least 64 KiB (0 means what the disk has)"};
  }
  if (options.log_segment_bytes < kLogSegmentBytesMin ||
      options.log_segment_bytes > kLogSegmentBytesMax) {
    return Error{Code::invalid, "log_segment_bytes must be between 64 KiB and 1 GiB"};
  }
  return Done{};
}

// The real path of the file. The names of its locks and of its log derive from it, so that a
// process that opens it through a symbolic link finds the same ones.
Result<std::string> real_path(const std::filesystem::path& path) {
  constexpr int kLinksMost = 40;
  std::error_code problem;
  std::filesystem::path real = std::filesystem::absolute(path, problem);
  if (problem) return Error{Code::invalid, "the path is bad: " + problem.message()};
  for (int i = 0; i < kLinksMost; ++i) {
    if (!std::filesystem::is_symlink(real, problem)) return real.string();
    const std::filesystem::path target = std::filesystem::read_symlink(real, problem);
    if (problem) return internal::system_error(problem.value(), "follow the link " + real.string());
    real = real.parent_path() / target;
  }
  return internal::system_error(ELOOP, "open the store " + path.string());
}

// Removes the files when it is left, in whichever way, unless that was cancelled.
class Removal {
 public:
  explicit Removal(const std::vector<std::string>& files) : files_(&files) {}
  ~Removal() {
    if (files_ == nullptr) return;
    for (const std::string& file : *files_) ::unlink(file.c_str());
  }
  Removal(const Removal&) = delete;
  Removal& operator=(const Removal&) = delete;
  void cancel() { files_ = nullptr; }

 private:
  const std::vector<std::string>* files_;
};

}  // namespace

Store::State::State(const Clock& its_clock, StoreOptions its_options,
                    std::filesystem::path its_path)
    : clock(its_clock), options(its_options), path(std::move(its_path)) {}

// Without memory for the last checkpoint the log stays, which loses nothing.
Store::State::~State() {
  try {
    static_cast<void>(close());
  } catch (const std::bad_alloc&) {
  }
}

Status Store::State::open(const std::string& file) {
  auto acquired = internal::acquire_environment(file, options);
  if (!acquired) return acquired.error();
  environment = *acquired;
  return Done{};
}

// The store is gone when it is closed. All names are there before there is a file.
Status Store::State::open_temporary() {
  std::error_code problem;
  std::string name = std::filesystem::temp_directory_path(problem).string();
  if (problem) name = "/tmp";
  name += "/mayfly-XXXXXX";
  std::vector<std::string> names;
  for (const char* const suffix : {"", "-lock", "-shm", "-wal"}) names.push_back(name + suffix);
  const int file = ::mkstemp(names.front().data());
  if (file < 0) return internal::system_error(errno, "make a temporary store");
  ::close(file);
  for (std::string& each : names) each.replace(0, name.size(), names.front(), 0, name.size());
  temporary_files = std::move(names);
  Removal removal(temporary_files);
  Status opened = open(temporary_files.front());
  if (opened) removal.cancel();
  return opened;
}

Status Store::State::close() {
  if (environment == nullptr) return Done{};
  if (environment->is_foreign()) {  // the parent goes on using all of it
    environment = nullptr;
    return Done{};
  }
  const Removal removal(temporary_files);
  return internal::release_environment(std::exchange(environment, nullptr), clock.now());
}

Result<Store> Store::open(const std::filesystem::path& path, const Clock& clock,
                          const StoreOptions& options) {
  if (const Status good = check_options(options); !good) return good.error();
  StoreOptions used = options;
  used.log_segment_bytes = (options.log_segment_bytes + kPage - 1) / kPage * kPage;
  const bool temporary = path.empty();
  if (temporary && options.read_only) {
    return Error{Code::invalid, "a store without a path cannot be opened read-only"};
  }
  if (temporary) used.durability = Durability::off;
  auto state = std::make_unique<State>(clock, used, path);
  if (temporary) {
    if (const Status opened = state->open_temporary(); !opened) return opened.error();
  } else {
    const auto file = real_path(path);
    if (!file) return file.error();
    if (const Status opened = state->open(*file); !opened) return opened.error();
  }
  return Store(std::move(state));
}

Store::Store(std::unique_ptr<State> state) : state_(std::move(state)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

Status Store::close() { return state_->close(); }

const std::filesystem::path& Store::path() const { return state_->path; }
const StoreOptions& Store::options() const { return state_->options; }

Result<ReadTxn> Store::read() const {
  if (state_->environment == nullptr) return closed_error();
  auto txn = Txn::begin_read(state_->owner());
  if (!txn) return txn.error();
  return ReadTxn(std::move(*txn));
}

Result<WriteTxn> Store::write() { return write(state_->options.busy_timeout); }

Result<WriteTxn> Store::write(Millis busy_timeout) {
  if (state_->environment == nullptr) return closed_error();
  auto txn = Txn::begin_write(state_->owner(), busy_timeout);
  if (!txn) {
    state_->tally.add(Count::errors);
    return txn.error();
  }
  return WriteTxn(std::move(*txn));
}

}  // namespace mayfly
