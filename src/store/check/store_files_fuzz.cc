// SPDX-License-Identifier: Apache-2.0
// Fuzzes the opening of a store whose files are damaged: the data file, the log, the shared page
// and LMDB's lock file; or the data file and the undo log of format version 1, after a power cut.
// It must end with an error, or with a store that check() calls sound; then all of it can be read
// and changed, and it is still sound.
//
// An input is a byte of options and a list of patches, 14 bytes each, which are applied to the
// files of a good store. So nearly every input gets past the magic numbers.

#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/clock.h"
#include "mayfly/store.h"
#include "store/check/store_damage.h"
#include "store/log/log_damage.h"
#include "store/log/undo_recovery.h"

namespace mayfly::internal {
namespace {

constexpr Time kNow = Time(Millis(1'800'000'000'000));
constexpr std::size_t kPage = 4096;
constexpr std::size_t kUndoAreas = 4 * kPage;  // of an undo log, after its headers
constexpr std::size_t kUndoHeader = 248;       // with the checksum in its last 8 bytes
constexpr std::size_t kUndoSalt = 40;          // in that
constexpr std::size_t kUndoBatchHead = 48;     // the same
constexpr char kGolden[] = "tests/golden/store_v1/";

// The first byte of an input.
constexpr std::uint8_t kHasLog = 1;
constexpr std::uint8_t kIsSigned = 2;
constexpr std::uint8_t kIsReadOnly = 4;
constexpr std::uint8_t kIsNormal = 8;
constexpr std::uint8_t kIsVersion1 = 16;

template <class T>
void must(const Result<T>& result) {
  if (result) return;
  std::fprintf(stderr, "the good store: %s\n", result.error().message.c_str());
  std::abort();
}

[[noreturn]] void finding(std::string_view what) {
  std::fprintf(stderr, "finding: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

// What stands beside each other. A patch names one of the first four; in version 1 the undo log
// takes the place of the log.
enum Part : std::uint8_t { data, wal, shm, lock, undo };
constexpr std::array<std::string_view, 5> kSuffixes = {"", "-wal", "-shm", "-lock", "-undo"};
using Files = std::array<std::string, kSuffixes.size()>;

class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() /
              ("mayfly-fuzz-" + std::to_string(getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string store() const { return path_ / "store"; }

  void write(const Files& files) const {
    for (std::size_t i = 0; i < files.size(); ++i) {
      const std::string path = store().append(kSuffixes[i]);
      if (files[i].empty()) {
        std::filesystem::remove(path);
      } else {
        std::ofstream(path, std::ios::binary | std::ios::trunc) << files[i];
      }
    }
  }

 private:
  std::filesystem::path path_;
};

// Two families, keys with and without deadlines, a long key, a large value, and free pages. Half of
// what is in the log is in the data file, too.
void fill(Store& store) {
  const auto other = store.create_family("other");
  must(other);
  for (int i = 0; i < 180; ++i) {
    std::string key = "key" + std::to_string(i % 90);
    if (i % 90 == 50) key.append(600, 'k');
    const std::string value(static_cast<std::size_t>(i % 90 == 60 ? 9000 : 10 + i % 90), 'v');
    const Expiry expires = i % 3 == 0 ? Expiry(Millis(1000 * (i % 90 - 5))) : Expiry();
    must(store.put(key, value, expires, i % 2 == 0 ? Family() : *other));
    if (i == 90) must(store.checkpoint());
  }
  for (int i = 0; i < 90; i += 4) must(store.erase("key" + std::to_string(i)));
}

// As a process leaves them that is killed.
Files make_good(const Folder& folder) {
  const ManualClock clock(kNow);
  auto store = Store::open(folder.store(), clock,
                           {.map_bytes = 1 << 22, .log_segment_bytes = kLogSegmentBytesMin});
  must(store);
  fill(*store);
  Files files;
  for (std::size_t i = 0; i < files.size(); ++i) {
    files[i] = file_bytes(folder.store().append(kSuffixes[i]));
  }
  files[Part::lock].resize(2 * kPage);
  must(store->close());
  return files;
}

// As a power cut left them.
Files make_version_1() {
  Files files;
  files[Part::data] = file_bytes(std::string(kGolden) + "cut");
  files[Part::undo] = file_bytes(std::string(kGolden) + "cut-undo");
  files[Part::shm].resize(kPage);
  files[Part::lock].resize(2 * kPage);
  if (!files[Part::data].empty() && !files[Part::undo].empty()) return files;
  finding("there is no tests/golden/store_v1 here (begin in the root of the repository)");
}

struct Patch {
  enum class Kind : std::uint8_t { set, add, cut, copy_page };
  static constexpr std::size_t kBytes = 14;

  explicit Patch(std::span<const std::uint8_t> bytes)
      : part(bytes[0] % 4), kind(static_cast<Kind>(bytes[0] / 4 % 4)), width(1u << bytes[1] % 4) {
    std::memcpy(&page, &bytes[2], sizeof page);
    std::memcpy(&offset, &bytes[4], sizeof offset);
    std::memcpy(&value, &bytes[6], sizeof value);
  }

  std::size_t part;
  Kind kind;
  std::size_t width;  // of what is changed: 1, 2, 4 or 8 bytes
  std::uint16_t page = 0;
  std::uint16_t offset = 0;
  std::uint64_t value = 0;
};

void apply(const Patch& patch, std::string& file) {
  if (file.empty()) return;
  const std::size_t pages = (file.size() + kPage - 1) / kPage;
  const std::size_t at = patch.page % pages * kPage + patch.offset % kPage;
  switch (patch.kind) {
    case Patch::Kind::set:
    case Patch::Kind::add: {
      if (at + patch.width > file.size()) return;
      std::uint64_t value = 0;
      std::memcpy(&value, &file[at], patch.width);
      value = patch.kind == Patch::Kind::set ? patch.value : value + patch.value;
      std::memcpy(&file[at], &value, patch.width);
      return;
    }
    case Patch::Kind::cut:
      file.resize(std::min<std::size_t>(patch.value % (2 * file.size()), file.size() + kPage));
      return;
    case Patch::Kind::copy_page: {
      const std::size_t to = patch.value % pages * kPage;
      const std::string copy = file.substr(patch.page % pages * kPage, kPage);
      file.replace(to, std::min(copy.size(), file.size() - to), copy);
      return;
    }
  }
}

// Makes the checksums of an undo log right again, so that what it says is believed.
void sign_undo(std::string& file) {
  if (file.size() < kUndoAreas) return;
  for (const std::size_t slot : {kPage, 2 * kPage}) sign_header(file, slot, kUndoHeader);
  const auto salt = value_at<std::uint64_t>(file, kPage + kUndoSalt);
  for (std::size_t at = kUndoAreas; at + kUndoBatchHead < file.size();) {
    const auto count = value_at<std::uint64_t>(file, at + 24);
    const auto page_size = value_at<std::uint64_t>(file, at + 32);
    if (count == 0 || count > 1000 || page_size > 65536) return;
    const std::size_t size = (kUndoBatchHead + count * (8 + page_size) + kPage - 1) / kPage * kPage;
    if (at + size > file.size()) return;
    set_at(file, at + 40, 0);
    set_at(file, at + 40, XXH3_64bits_withSeed(&file[at], size, salt));
    at += size;
  }
}

void sign_log(std::string& file) {
  if (file.size() < LogFile::kHeaderBytes + 2 * kSegment) return;
  sign_headers(file);
  sign_records(file, LogFile::kHeaderBytes);
  sign_records(file, LogFile::kHeaderBytes + kSegment);
}

// Reads a family in all ways; all must tell the same. An error is fine.
void read_family(const ReadTxn& txn, Family family) {
  auto cursor = txn.cursor({}, family);
  if (!cursor) return;
  std::uint64_t forwards = 0;
  for (bool on = cursor->first(); on; on = cursor->next()) {
    const std::string key(cursor->key());
    const auto value = txn.get(key, family);
    if (value && (!*value || **value != cursor->value())) finding("get() and cursor differ");
    ++forwards;
  }
  if (!cursor->status()) return;
  std::uint64_t backwards = 0;
  for (bool on = cursor->last(); on; on = cursor->prev()) ++backwards;
  if (cursor->status() && forwards != backwards) finding("forwards and backwards differ");
  static_cast<void>(txn.expiring(Time::min(), kNever, SIZE_MAX, family));
  static_cast<void>(txn.next_deadline(family));
  static_cast<void>(txn.default_ttl(family));
  const auto count = txn.count(family);
  if (count && count->stored < forwards) finding("count() is less than what is there");
}

void read_all(const Store& store) {
  const auto txn = store.read();
  if (!txn) return;
  for (const Family family : txn->all_families()) read_family(*txn, family);
}

void change(Store& store) {
  auto txn = store.write();
  if (!txn) return;
  static_cast<void>(txn->put("key7", std::string(5000, 'n'), Millis(500)));
  static_cast<void>(txn->put("new", "value"));
  static_cast<void>(txn->erase("key2"));
  static_cast<void>(txn->commit());
  static_cast<void>(store.purge_expired_all());
}

bool is_sound(const Store& store) {
  const auto report = store.check();
  return report && report->ok();
}

// Opening and closing a store write to it: it is brought up to date, and what is in its log goes
// into the tree. LMDB trusts its file; so one that is not sound is only opened to be read.
bool can_write(const std::string& path, const Clock& clock, StoreOptions options) {
  options.read_only = true;
  auto store = Store::open(path, clock, options);
  if (!store && store.error().code == Code::denied && recover_version_1(path)) {
    store = Store::open(path, clock, options);
  }
  if (!store || !is_sound(*store)) return false;
  read_all(*store);
  return true;
}

void open_and_use(const std::string& path, std::uint8_t how) {
  const ManualClock clock(kNow);
  const StoreOptions options = {
      .durability = (how & kIsNormal) != 0 ? Durability::normal : Durability::full,
      .busy_timeout = Millis(0),
      .map_bytes = 1 << 22};
  if (!can_write(path, clock, options)) return;
  if ((how & kIsReadOnly) != 0) return;
  auto store = Store::open(path, clock, options);
  if (!store || !is_sound(*store)) return;
  read_all(*store);
  change(*store);
  static_cast<void>(store->checkpoint());
  change(*store);
  const auto report = store->check();
  if (report && !report->ok()) finding("a write has damaged it: " + report->problems.front());
  read_all(*store);
}

void run(std::span<const std::uint8_t> input) {
  static const Folder folder;
  static const std::array<Files, 2> good = {make_good(folder), make_version_1()};
  const std::uint8_t how = input[0];
  const bool is_version_1 = (how & kIsVersion1) != 0;
  const Part log = is_version_1 ? Part::undo : Part::wal;
  Files files = good[is_version_1 ? 1 : 0];
  if ((how & kHasLog) == 0) files[log].clear();
  for (input = input.subspan(1); input.size() >= Patch::kBytes;) {
    const Patch patch(input);
    apply(patch, files[patch.part == Part::wal ? static_cast<std::size_t>(log) : patch.part]);
    input = input.subspan(Patch::kBytes);
  }
  if ((how & kIsSigned) != 0 && is_version_1) sign_undo(files[log]);
  if ((how & kIsSigned) != 0 && !is_version_1) sign_log(files[log]);
  folder.write(files);
  open_and_use(folder.store(), how);
}

}  // namespace
}  // namespace mayfly::internal

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 0) mayfly::internal::run({data, size});
  return 0;
}
