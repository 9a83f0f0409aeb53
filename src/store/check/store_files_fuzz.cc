// SPDX-License-Identifier: Apache-2.0
// Fuzzes the opening of a store whose files are damaged: the data file, the undo log of an earlier
// boot, the shared page and LMDB's lock file. It must end with an error, or with a store that
// check() calls sound; then all of it can be read and changed, and it is still sound.
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
#include "store/lmdb/lmdb.h"
#include "store/log/undo_log.h"
#include "store/txn/catalog.h"

namespace mayfly::internal {
namespace {

constexpr Time kNow = Time(Millis(1'800'000'000'000));
constexpr std::size_t kPage = 4096;
constexpr std::size_t kAreas = 4 * kPage;  // of the undo log, after its headers
constexpr std::size_t kHeaderBody = 240;   // of an undo log, before its checksum
constexpr std::size_t kBatchHead = 48;
constexpr std::uint64_t kSalt = 7;

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

// What stands beside each other, in the order of the numbers in a patch.
enum class Part : std::uint8_t { data, undo, shm, lock };
constexpr std::array<std::string_view, 4> kSuffixes = {"", "-undo", "-shm", "-lock"};
using Files = std::array<std::string, 4>;

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

// Two families, keys with and without deadlines, a long key, a large value, and free pages. The
// catalog is written first, so that its seed is the same each time.
void fill(const std::string& path, const Clock& clock) {
  {
    RawFile raw(path);
    raw.put(nullptr, kCatalogKey, Catalog::fresh(42).encode());
    raw.put(table_name(1).c_str(), "first", "1");
  }
  auto store = Store::open(path, clock, {.durability = Durability::full, .map_bytes = 1 << 22});
  must(store);
  const auto other = store->create_family("other");
  must(other);
  for (int round = 0; round < 2; ++round) {
    auto txn = store->write();
    must(txn);
    for (int i = 0; i < 90; ++i) {
      std::string key = "key" + std::to_string(i);
      if (i == 50) key.append(600, 'k');
      const std::string value(static_cast<std::size_t>(i == 60 ? 9000 : 10 + i), 'v');
      const Expiry expires = i % 3 == 0 ? Expiry(Millis(1000 * (i - 5))) : Expiry();
      txn->put(key, value, expires, i % 2 == 0 ? Family() : *other);
    }
    must(txn->commit());
  }
  for (int i = 0; i < 90; i += 4) must(store->erase("key" + std::to_string(i)));
  must(store->close());
}

// An undo log that another boot has left open: three pages lead back to the store as it is.
void leave_undo_log(const std::string& path) {
  const std::string undo = path + "-undo";
  auto log = UndoLog::create(undo, "another boot");
  must(log);
  auto file = UndoFile::open(path);
  must(file);
  UndoHeader header;
  header.generation = 2;
  header.is_open = true;
  header.first_sequence = 1;
  header.salt = kSalt;
  header.boot_id = "another boot";
  std::array<LmdbMeta, 2> metas;
  for (std::size_t i = 0; i < 2; ++i) must((*file)->read_at(i * kPage, metas[i].bytes));
  header.meta = metas[metas[0].transaction() < metas[1].transaction() ? 1 : 0];
  must(log->write_header(header));
  UndoControl control;
  control.confirmed = control.captured = 2;
  const std::array<std::uint64_t, 3> pages = {3, 4, 5};
  must(log->append(control, kSalt, pages, **file, kPage));
}

Files make_good(const Folder& folder) {
  const ManualClock clock(kNow);
  fill(folder.store(), clock);
  leave_undo_log(folder.store());
  Files files;
  for (std::size_t i = 0; i < files.size(); ++i) {
    files[i] = file_bytes(folder.store().append(kSuffixes[i]));
  }
  files[static_cast<std::size_t>(Part::shm)].resize(kPage);
  files[static_cast<std::size_t>(Part::lock)].resize(2 * kPage);
  return files;
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

// Makes the checksums of the undo log right again, so that what it says is believed.
void sign(std::string& undo) {
  for (const std::size_t slot : {kPage, 2 * kPage}) {
    if (slot + kHeaderBody + 8 > undo.size()) return;
    const std::uint64_t sum = XXH3_64bits(&undo[slot], kHeaderBody);
    std::memcpy(&undo[slot + kHeaderBody], &sum, sizeof sum);
  }
  if (undo.size() < kAreas + kBatchHead) return;
  std::uint64_t count = 0;
  std::uint64_t page_size = 0;
  std::memcpy(&count, &undo[kAreas + 24], sizeof count);
  std::memcpy(&page_size, &undo[kAreas + 32], sizeof page_size);
  if (count > 1000 || page_size > 65536) return;
  const std::size_t size = (kBatchHead + count * (8 + page_size) + kPage - 1) / kPage * kPage;
  if (kAreas + size > undo.size()) return;
  std::memset(&undo[kAreas + 40], 0, 8);
  const std::uint64_t sum = XXH3_64bits_withSeed(&undo[kAreas], size, kSalt);
  std::memcpy(&undo[kAreas + 40], &sum, sizeof sum);
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

void open_and_use(const std::string& path, std::uint8_t how) {
  const ManualClock clock(kNow);
  const StoreOptions options = {
      .durability = (how & 8) != 0 ? Durability::normal : Durability::full,
      .busy_timeout = Millis(0),
      .read_only = (how & 4) != 0,
      .map_bytes = 1 << 22};
  auto store = Store::open(path, clock, options);
  if (!store || !is_sound(*store)) return;
  read_all(*store);
  if (options.read_only) return;
  change(*store);
  const auto report = store->check();
  if (report && !report->ok()) finding("a write has damaged it: " + report->problems.front());
  read_all(*store);
}

void run(std::span<const std::uint8_t> input) {
  static const Folder folder;
  static const Files good = make_good(folder);
  const std::uint8_t how = input[0];
  Files files = good;
  std::string& undo = files[static_cast<std::size_t>(Part::undo)];
  if ((how & 1) == 0) undo.clear();
  for (input = input.subspan(1); input.size() >= Patch::kBytes;) {
    const Patch patch(input);
    apply(patch, files[patch.part]);
    input = input.subspan(Patch::kBytes);
  }
  if ((how & 2) != 0) sign(undo);
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
