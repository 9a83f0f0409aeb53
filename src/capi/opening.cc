// SPDX-License-Identifier: Apache-2.0
// Opening and closing a store, its messages, and memory.

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>

#include "capi/call.h"
#include "mayfly/clock.h"

namespace mayfly::internal {
namespace {

// What the first version of KVStoreOptions had.
constexpr std::size_t kOptionsLeast =
    offsetof(KVStoreOptions, errorTextSize) + sizeof(KVStoreOptions::errorTextSize);

struct Releaser {
  void operator()(KVStore* kv) const { kv->release(); }
};
using Opening = std::unique_ptr<KVStore, Releaser>;

// Copies as much of the message as the caller has room for.
void report(const KVStoreOptions& options, std::string_view message) {
  if (options.errorText == nullptr || options.errorTextSize <= 0) return;
  const auto room = static_cast<std::size_t>(options.errorTextSize) - 1;
  const std::size_t length = std::min(room, message.size());
  std::memcpy(options.errorText, message.data(), length);
  options.errorText[length] = '\0';
}

// The fields that have an effect. The others are not touched: early headers of SNKV lack the last.
KVStoreConfig read_config(const KVStoreConfig* given) {
  KVStoreConfig config{};
  if (given == nullptr) return config;
  config.syncLevel = given->syncLevel;
  config.readOnly = given->readOnly;
  config.busyTimeout = given->busyTimeout;
  config.walSizeLimit = given->walSizeLimit;
  return config;
}

// What there is of the caller's struct, which may be of an older or a newer header than this one.
Status read_options(const KVStoreOptions* given, KVStoreOptions& options) {
  options = {};
  if (given == nullptr) return Done{};
  const std::size_t size = given->size;
  if (size < kOptionsLeast) {
    return Error{Code::invalid, "KVStoreOptions.size must be sizeof(KVStoreOptions)"};
  }
  std::memcpy(&options, given, std::min(size, sizeof options));
  const char* const bytes = reinterpret_cast<const char*>(given);
  for (std::size_t i = sizeof options; i < size; ++i) {
    if (bytes[i] != 0) {
      return Error{Code::unsupported,
                   "KVStoreOptions has a setting that this version does not know"};
    }
  }
  return Done{};
}

Result<Durability> to_durability(int level) {
  switch (level) {
    case KVSTORE_SYNC_OFF:
    case KVSTORE_SYNC_NORMAL:
      return Durability::normal;
    case KVSTORE_SYNC_FULL:
      return Durability::full;
    case KVSTORE_SYNC_NONE:
      return Durability::off;
    default:
      return Error{Code::invalid, "syncLevel must be one of KVSTORE_SYNC_..."};
  }
}

// A commit of SNKV writes a page at least.
std::uint64_t to_segment_bytes(int wal_size_limit) {
  if (wal_size_limit <= 0) return StoreOptions().log_segment_bytes;
  return std::clamp(static_cast<std::uint64_t>(wal_size_limit) * 4096, kLogSegmentBytesMin,
                    kLogSegmentBytesMax);
}

Result<StoreOptions> to_options(const KVStoreConfig& config) {
  const auto durability = to_durability(config.syncLevel);
  if (!durability) return durability.error();
  if (config.busyTimeout < 0) return Error{Code::invalid, "busyTimeout must not be negative"};
  StoreOptions options;
  options.durability = *durability;
  options.busy_timeout = Millis(config.busyTimeout);
  options.read_only = config.readOnly != 0;
  options.create = !options.read_only;
  options.log_segment_bytes = to_segment_bytes(config.walSizeLimit);
  return options;
}

Status open_store(KVStore& kv, const std::filesystem::path& path, const KVStoreConfig& config) {
  const auto options = to_options(config);
  if (!options) return options.error();
  if (options->read_only && path.empty()) {
    return Error{Code::invalid, "a temporary store cannot be opened read-only"};
  }
  auto store = Store::open(path, kv.chosen_clock(), *options);
  if (!store) return store.error();
  const auto reader = KeyReader::of(*store);
  if (!reader) return reader.error();
  kv.reader.emplace(*reader);
  kv.store.emplace(std::move(*store));
  return Done{};
}

int open(const char* path, KVStore** out, const KVStoreConfig& config,
         const KVStoreOptions* given) noexcept {
  if (out == nullptr) return KVSTORE_ERROR;
  *out = nullptr;
  KVStoreOptions options{};
  try {
    Status opened = read_options(given, options);
    Opening kv(new KVStore(config, options));
    if (opened) opened = open_store(*kv, path == nullptr ? "" : path, config);
    if (!opened) {
      report(options, opened.error().message);
      return to_code(opened.error().code);
    }
    *out = kv.release();
    return KVSTORE_OK;
  } catch (const std::bad_alloc&) {
    report(options, "out of memory");
    return KVSTORE_NOMEM;
  } catch (const std::exception& error) {
    report(options, error.what());
    return KVSTORE_ERROR;
  }
}

// Whether all transactions can be ended by this thread. From then on none is begun.
bool start_closing(KVStore& kv) {
  const std::lock_guard lock(kv.txns_mutex);
  for (const auto& txn : kv.txns) {
    if (txn->write && txn->owner != thread_number()) return false;
  }
  kv.closing = true;
  return true;
}

// REQUIRES: the gate is closed.
Status empty(KVStore& kv) {
  {
    const std::lock_guard lock(kv.handles_mutex);
    for (KVIterator* const iterator : kv.iterators) {
      iterator->valid = false;
      iterator->txn = nullptr;
      iterator->cursor.reset();
    }
  }
  kv.txns.clear();
  kv.txn_count = 0;
  kv.reader.reset();
  struct Reset {
    std::optional<Store>& store;
    ~Reset() { store.reset(); }
  };
  const Reset reset{kv.store};
  return kv.store->close();
}

}  // namespace

extern "C" {

int kvstore_open(const char* path, KVStore** out, int journal_mode) {
  KVStoreConfig config{};
  config.journalMode = journal_mode;
  return open(path, out, config, nullptr);
}

int kvstore_open_v2(const char* path, KVStore** out, const KVStoreConfig* config) {
  return open(path, out, read_config(config), nullptr);
}

int kvstore_open_ex(const char* path, KVStore** out, const KVStoreConfig* config,
                    const KVStoreOptions* options) {
  return open(path, out, read_config(config), options);
}

int kvstore_close(KVStore* kv) {
  if (kv == nullptr || kv->mark.is_foreign()) return KVSTORE_OK;
  if (!start_closing(*kv)) {
    return fail(*kv, KVSTORE_BUSY, "cannot close: another thread has a write transaction open");
  }
  kvstore_rollback(kv);  // of this thread, which need not remember it any more
  kv->gate.close();
  int code = KVSTORE_NOMEM;
  try {
    const Status closed = empty(*kv);
    code = closed ? KVSTORE_OK : to_code(closed.error().code);
  } catch (const std::bad_alloc&) {  // it is closed; its log stays
  }
  kv->release();
  return code;
}

const char* kvstore_errmsg(KVStore* kv) {
  const char* const text = kv == nullptr ? nullptr : kv->messages.get();
  return text == nullptr ? "no error" : text;
}

int64_t kvstore_now_ms(void) { return SystemClock().now().time_since_epoch().count(); }

void* snkv_malloc(size_t bytes) { return std::calloc(1, bytes); }

void snkv_free(void* memory) { std::free(memory); }

}  // extern "C"
}  // namespace mayfly::internal
