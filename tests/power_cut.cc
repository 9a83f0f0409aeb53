// SPDX-License-Identifier: Apache-2.0
// Cuts the power of a store, many times. A helper of power_cut_test.py.
//
//   power_cut WORKLOAD SEED IMAGES [--unguarded]
//
// WORKLOAD is full, normal, keeper (normal, with checkpoints made in the background) or mixed. It
// runs once, while all its writes and syncs are recorded: this program has functions of the same
// names as the system's, which LMDB then calls too. Then IMAGES power cuts are made of it (see
// power_cut_disk.h). Each must recover, on another boot, to exactly one of the committed
// states, and not to one that is older than the last that had been promised. One in three is cut
// again while it recovers. Prints a line for each image that is not sound, and the counts.

#include <dlfcn.h>
#include <fcntl.h>
#include <lmdb.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "mayfly/clock.h"
#include "power_cut_disk.h"
#include "store/check/page_check.h"
#include "store/log/power_guard.h"

namespace mayfly::internal {
namespace {

// The recording. There is one at a time, and none while images are made.
std::atomic<PowerCutDisk*> disk{nullptr};
std::string folder;                          // that is recorded, with a slash at its end
std::atomic<std::uint64_t> commits{0};       // so far
std::atomic<std::uint64_t> keeper_syncs{0};  // of the store, begun so far
std::atomic<bool> slows_keeper{false};       // whether they wait for some commits
const auto main_thread = std::this_thread::get_id();

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

// The name within the recorded folder; empty if it is elsewhere, or holds locks only.
std::string recorded_name(std::string_view path) {
  if (disk == nullptr || !path.starts_with(folder)) return {};
  path.remove_prefix(folder.size());
  return path.ends_with("-lock") ? std::string() : std::string(path);
}

std::string path_of(int descriptor) {
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  char path[4096];
  const ssize_t size = ::readlink(link.c_str(), path, sizeof path);
  return {path, size < 0 ? 0 : static_cast<std::size_t>(size)};
}

std::uint64_t inode_of(int descriptor) {
  struct stat facts {};
  ::fstat(descriptor, &facts);
  return facts.st_ino;
}

void record_write(int descriptor, std::uint64_t offset, const void* data, std::size_t size) {
  if (recorded_name(path_of(descriptor)).empty()) return;
  const bool is_synced = (::fcntl(descriptor, F_GETFL) & O_DSYNC) != 0;
  disk.load()->on_write(inode_of(descriptor), offset, {static_cast<const char*>(data), size},
                        is_synced);
}

// Gives up after a while, since the other thread may be waiting for this one.
template <class Condition>
void wait_for(Condition condition) {
  for (int turn = 0; turn < 20'000 && !condition(); ++turn) std::this_thread::yield();
}

int sync_and_record(int descriptor) {
  PowerCutDisk* const now = disk;
  if (now == nullptr) return 0;  // nothing here needs to last
  const std::string path = path_of(descriptor);
  const bool is_folder = path + '/' == folder;
  if (!is_folder && recorded_name(path).empty()) return 0;
  const std::size_t begun = now->on_sync_begin();
  // Writers go on while the keeper syncs the store; here they are given the time to.
  if (slows_keeper && std::this_thread::get_id() != main_thread && !path.ends_with("-undo")) {
    const std::uint64_t until = commits + 10 + ++keeper_syncs % 60;
    wait_for([until] { return !slows_keeper || commits >= until; });
  }
  if (is_folder) {
    now->on_folder_synced(begun);
  } else {
    now->on_sync_end(inode_of(descriptor), begun);
  }
  return 0;
}

}  // namespace
}  // namespace mayfly::internal

extern "C" {

ssize_t pwrite(int descriptor, const void* data, size_t size, off_t offset) {
  static auto* const system =
      mayfly::internal::real<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  const ssize_t count = system(descriptor, data, size, offset);
  if (mayfly::internal::disk != nullptr && count > 0) {
    mayfly::internal::record_write(descriptor, static_cast<std::uint64_t>(offset), data,
                                   static_cast<std::size_t>(count));
  }
  return count;
}

ssize_t writev(int descriptor, const iovec* parts, int count) {
  ssize_t done = 0;
  for (int i = 0; i < count; ++i) {
    const off_t offset = ::lseek(descriptor, 0, SEEK_CUR);
    const ssize_t written = ::pwrite(descriptor, parts[i].iov_base, parts[i].iov_len, offset);
    if (written < 0) return written;
    ::lseek(descriptor, offset + written, SEEK_SET);
    done += written;
  }
  return done;
}

int fdatasync(int descriptor) { return mayfly::internal::sync_and_record(descriptor); }
int fsync(int descriptor) { return mayfly::internal::sync_and_record(descriptor); }

int ftruncate(int descriptor, off_t size) noexcept {
  static auto* const system = mayfly::internal::real<int(int, off_t)>("ftruncate");
  if (!mayfly::internal::recorded_name(mayfly::internal::path_of(descriptor)).empty())
    std::abort();  // not modelled
  return system(descriptor, size);
}

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int mode = (flags & O_CREAT) != 0 ? va_arg(rest, int) : 0;
  va_end(rest);
  static auto* const system = mayfly::internal::real<int(const char*, int, ...)>("open");
  const std::string name = mayfly::internal::recorded_name(path);
  const bool creates = !name.empty() && (flags & O_CREAT) != 0 && ::access(path, F_OK) != 0;
  const int descriptor = system(path, flags, mode);
  if (creates && descriptor >= 0) {
    mayfly::internal::disk.load()->on_name_change("", name, mayfly::internal::inode_of(descriptor));
  }
  return descriptor;
}

int rename(const char* from, const char* to) noexcept {
  static auto* const system = mayfly::internal::real<int(const char*, const char*)>("rename");
  const int failed = system(from, to);
  const std::string name = mayfly::internal::recorded_name(from);
  if (failed == 0 && !name.empty()) {
    mayfly::internal::disk.load()->on_name_change(name, mayfly::internal::recorded_name(to), 0);
  }
  return failed;
}

int unlink(const char* path) noexcept {
  static auto* const system = mayfly::internal::real<int(const char*)>("unlink");
  const int failed = system(path);
  const std::string name = mayfly::internal::recorded_name(path);
  if (failed == 0 && !name.empty()) mayfly::internal::disk.load()->on_name_change(name, "", 0);
  return failed;
}

}  // extern "C"

namespace mayfly::internal {
namespace {

void require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "power_cut: %s\n", what.c_str());
  std::exit(3);
}
void require_code(int code, const char* what) {
  require(code == MDB_SUCCESS, std::string(what) + ": " + mdb_strerror(code));
}
template <class T>
void require_ok(const Result<T>& result, const char* what) {
  require(result.ok(), result.ok() ? "" : std::string(what) + ": " + result.error().message);
}

PowerCutDisk::Bytes read_file(const std::filesystem::path& path) {
  PowerCutDisk::Bytes bytes(std::filesystem::file_size(path));
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

void add_file(PowerCutDisk& recorded, const std::filesystem::path& path) {
  struct stat facts {};
  ::stat(path.c_str(), &facts);
  recorded.add(path.filename(), facts.st_ino, read_file(path));
}

// The contents of the store after each transaction, and what each of them does. Transaction n puts
// n under the key "n", and puts or erases some others; long values need overflow pages.
using Contents = std::map<std::string, std::string>;

void change(Contents& contents, std::uint64_t n, std::uint64_t seed, std::set<std::string>& keys) {
  std::mt19937_64 random(seed * 1'000'003 + n);
  contents["n"] = std::to_string(n);
  keys = {"n"};
  const std::uint64_t count = 1 + random() % (n % 50 == 0 ? 60 : 5);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string key = "key" + std::to_string(random() % 700);
    keys.insert(key);
    if (random() % 4 == 0) {
      contents.erase(key);
    } else {
      const std::uint64_t size = random() % 20 == 0 ? 3000 + random() % 9000 : random() % 300;
      contents[key] = std::string(size, static_cast<char>('a' + random() % 26)) + std::to_string(n);
    }
  }
}

struct Env {
  explicit Env(const std::string& path, unsigned flags) {
    require_code(mdb_env_create(&env), "create");
    require_code(mdb_env_set_mapsize(env, 256 << 20), "map size");
    require_code(mdb_env_open(env, path.c_str(), MDB_NOSUBDIR | MDB_NOTLS | flags, 0644), "open");
  }
  ~Env() { mdb_env_close(env); }
  Env(const Env&) = delete;
  Env& operator=(const Env&) = delete;

  MDB_env* env = nullptr;
};

MDB_val to_val(const std::string& text) { return {text.size(), const_cast<char*>(text.data())}; }

// Writes transaction n, by the level at which the store is.
void write(MDB_env* env, const Contents& contents, const std::set<std::string>& keys) {
  MDB_txn* txn = nullptr;
  MDB_dbi table = 0;
  require_code(mdb_txn_begin(env, nullptr, 0, &txn), "begin");
  require_code(mdb_dbi_open(txn, nullptr, 0, &table), "table");
  for (const std::string& key : keys) {
    MDB_val name = to_val(key);
    const auto found = contents.find(key);
    if (found == contents.end()) {
      const int code = mdb_del(txn, table, &name, nullptr);
      require_code(code == MDB_NOTFOUND ? MDB_SUCCESS : code, "erase");
    } else {
      MDB_val value = to_val(found->second);
      require_code(mdb_put(txn, table, &name, &value, 0), "put");
    }
  }
  require_code(mdb_txn_commit(txn), "commit");
}

PowerGuardOptions options_of(const char* boot_id) {
  PowerGuardOptions options;
  options.growth_bytes = 64 << 10;
  options.undo_bytes = 256 << 10;
  options.boot_id = boot_id;
  return options;
}

// What had been promised when: after time `first`, transaction `second` must survive.
using Promises = std::vector<std::pair<std::size_t, std::uint64_t>>;

struct Workload {
  std::string kind;
  std::uint64_t seed;
  std::uint64_t transactions;
  bool is_guarded;
};

// Runs the workload, recorded by `recorded`, and tells what it promised.
Promises run(const Workload& workload, const std::string& path, PowerCutDisk& recorded) {
  std::mt19937_64 random(workload.seed);
  ManualClock clock;
  const bool is_full = workload.kind == "full";
  Env env(path, is_full ? 0 : MDB_NOSYNC);
  add_file(recorded, path);
  auto guard = std::make_unique<PowerGuard>(env.env, path, clock, options_of("first"));
  Promises promises{{0, 0}};
  disk = &recorded;
  slows_keeper = workload.kind == "keeper";
  Contents contents;
  std::set<std::string> keys;
  for (std::uint64_t n = 1; n <= workload.transactions; ++n) {
    change(contents, n, workload.seed, keys);
    const bool syncs = is_full || (workload.kind == "mixed" && random() % 8 == 0);
    if (workload.kind == "mixed") mdb_env_set_flags(env.env, MDB_NOSYNC, syncs ? 0 : 1);
    if (workload.is_guarded) {
      require_ok(syncs ? guard->before_full_write() : guard->before_write(), "before the write");
    }
    write(env.env, contents, keys);
    if (workload.is_guarded && syncs) require_ok(guard->after_full_commit(), "after the commit");
    if (workload.is_guarded && !syncs) guard->after_commit();
    ++commits;
    if (syncs) promises.emplace_back(recorded.tick(), n);
    if (workload.kind == "keeper" && random() % 30 == 0) {
      const std::uint64_t before = keeper_syncs;
      clock.advance(Millis(1000));
      wait_for([before] { return keeper_syncs != before; });
    }
    if (workload.kind != "full" && random() % 60 == 0) {
      require_ok(workload.is_guarded ? guard->sync() : Status(Done{}), "sync");
      if (!workload.is_guarded) require_code(mdb_env_sync(env.env, 1), "sync");
      promises.emplace_back(recorded.tick(), n);
    }
  }
  slows_keeper = false;
  if (workload.is_guarded) {
    require_ok(guard->close(true), "close");
    promises.emplace_back(recorded.tick(), workload.transactions);
  }
  guard.reset();
  disk = nullptr;
  return promises;
}

Contents read_all(MDB_env* env) {
  MDB_txn* txn = nullptr;
  MDB_dbi table = 0;
  MDB_cursor* cursor = nullptr;
  require_code(mdb_txn_begin(env, nullptr, MDB_RDONLY, &txn), "begin");
  require_code(mdb_dbi_open(txn, nullptr, 0, &table), "table");
  require_code(mdb_cursor_open(txn, table, &cursor), "cursor");
  Contents contents;
  MDB_val key{};
  MDB_val value{};
  int code = mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
  for (; code == MDB_SUCCESS; code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
    contents.emplace(std::string(static_cast<char*>(key.mv_data), key.mv_size),
                     std::string(static_cast<char*>(value.mv_data), value.mv_size));
  }
  mdb_cursor_close(cursor);
  mdb_txn_abort(txn);
  require(code == MDB_NOTFOUND, "the end of the table is not found");
  return contents;
}

void require_sound_pages(const std::string& path) {
  const PowerCutDisk::Bytes bytes = read_file(path);
  const PageCheck check = check_pages(std::as_bytes(std::span(bytes)), 0);
  require(check.problems.empty(), check.problems.empty() ? "" : check.problems.front());
}

// Opens the image in `place` as after a reboot, and exits unless it is sound.
void judge(const Workload& workload, const std::filesystem::path& place, std::uint64_t promised) {
  const std::string path = place / "store";
  if (workload.is_guarded) require_ok(PowerGuard::recover(path, options_of("second")), "recover");
  require_sound_pages(path);
  Env env(path, MDB_NOSYNC);
  const Contents found = read_all(env.env);
  const std::uint64_t n = found.contains("n") ? std::stoull(found.at("n")) : 0;
  require(n >= promised, "transaction " + std::to_string(promised) + " was promised, and " +
                             std::to_string(n) + " is the last one there");
  require(n <= workload.transactions, "a transaction that never was");
  Contents expected;
  std::set<std::string> keys;
  for (std::uint64_t i = 1; i <= n; ++i) change(expected, i, workload.seed, keys);
  require(found == expected, "the contents are not those of transaction " + std::to_string(n));

  for (std::uint64_t i = n + 1; i <= n + 10; ++i) {  // and life goes on
    change(expected, i, workload.seed, keys);
    write(env.env, expected, keys);
  }
  require(read_all(env.env) == expected, "the contents are wrong after more transactions");
}

// Recovers the image in `place`, cuts the power in the middle of that, and leaves the result in
// `again`.
void cut_recovery(const std::filesystem::path& place, const std::filesystem::path& again,
                  std::mt19937_64& random) {
  PowerCutDisk recorded;
  for (const auto& entry : std::filesystem::directory_iterator(place)) {
    add_file(recorded, entry.path());
  }
  folder = place.string() + '/';
  disk = &recorded;
  require_ok(PowerGuard::recover(place / "store", options_of("second")), "recover");
  disk = nullptr;
  recorded.make_image(recorded.choose_cut(random), random, again);
}

// In a process of its own, since LMDB may die of what it finds.
bool is_sound(const Workload& workload, const PowerCutDisk& recorded, const Promises& promises,
              const std::filesystem::path& place, std::uint64_t image) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    std::mt19937_64 random(workload.seed * 7'919 + image);
    const std::size_t cut = recorded.choose_cut(random);
    std::uint64_t promised = 0;
    for (const auto& [when, n] : promises) promised = when <= cut ? n : promised;
    recorded.make_image(cut, random, place / "cut");
    std::filesystem::path last = place / "cut";
    if (workload.is_guarded && image % 3 == 0) {
      cut_recovery(last, place / "again", random);
      last = place / "again";
    }
    judge(workload, last, promised);
    std::_Exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  std::filesystem::remove_all(place / "cut");
  std::filesystem::remove_all(place / "again");
  if (status == 0) return true;
  std::printf("%s, seed %llu, image %llu: not sound (status %d)\n", workload.kind.c_str(),
              static_cast<unsigned long long>(workload.seed),
              static_cast<unsigned long long>(image), status);
  return false;
}

}  // namespace
}  // namespace mayfly::internal

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: power_cut full|normal|keeper|mixed SEED IMAGES [--unguarded]\n");
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const mayfly::internal::Workload workload{argv[1], std::stoull(argv[2]), 300, argc == 4};
  const std::uint64_t images = std::stoull(argv[3]);
  std::string name =
      std::filesystem::exists("/dev/shm") ? "/dev/shm/power_cut.XXXXXX" : "/tmp/power_cut.XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) return 2;
  const std::filesystem::path place = name;
  std::filesystem::create_directory(place / "run");
  mayfly::internal::folder = (place / "run").string() + '/';

  mayfly::internal::PowerCutDisk recorded;
  const mayfly::internal::Promises promises =
      mayfly::internal::run(workload, place / "run" / "store", recorded);
  std::uint64_t unsound = 0;
  for (std::uint64_t image = 0; image < images; ++image) {
    unsound += mayfly::internal::is_sound(workload, recorded, promises, place, image) ? 0 : 1;
  }
  std::filesystem::remove_all(place);
  std::printf("%s: %llu images, %llu unsound, %zu things happened\n", argv[1],
              static_cast<unsigned long long>(images), static_cast<unsigned long long>(unsound),
              recorded.tick());
  return unsound == 0 ? 0 : 1;
}
