// SPDX-License-Identifier: Apache-2.0
// The frame of every call: whether it may run, in which transaction, and how it fails.
//
//   int kvstore_cf_exists(KVColumnFamily* cf, const void* key, int key_length, int* exists) {
//     return call(cf, [&](KVStore& kv) {
//       if (const int code = check_key(kv, key, key_length)) return code;
//       return with_read(kv, [&](const ReadTxn& txn) { ... });
//     });
//   }
//
// Arguments are checked before a transaction is touched: a bad argument would make a WriteTxn
// impossible to commit, but here only the call that has it fails.

#pragma once

#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include "capi/handles.h"
#include "mayfly/expiry.h"
#include "mayfly/result.h"

namespace mayfly::internal {

inline constexpr int kKeyMax = 65'536;
inline constexpr int kValueMax = 10'485'760;  // 10 MiB

// The number for an error of the store. Code::not_found is a family that is gone, or a file.
int to_code(Code code);

// Each keeps the message, counts the failure, and returns the code.
int fail(KVStore& kv, int code, std::string_view message) noexcept;
int fail(KVStore& kv, const Error& error) noexcept;
int refuse_closed(KVStore& kv) noexcept;
int refuse_foreign(KVStore& kv) noexcept;

// Each returns KVSTORE_OK, or fails.
int check_key(KVStore& kv, const void* key, int length);
int check_value(KVStore& kv, const void* value, int length);
int check_result(KVStore& kv, const void* pointer);
int check_status(KVStore& kv, const Status& status);

inline std::string_view view(const void* bytes, int length) {
  return {static_cast<const char*>(bytes), static_cast<std::size_t>(length)};
}

// Runs `body(kv)`, whose result it returns, unless the store is closed, or is the parent's in the
// child of a fork, where even a lock may never be free. No exception gets out.
template <class Body>
int call(KVStore* kv, Body body) noexcept {
  if (kv == nullptr) return KVSTORE_ERROR;
  if (kv->mark.is_foreign()) return refuse_foreign(*kv);
  int code = KVSTORE_ERROR;
  const bool entered = kv->gate.pass([&] {
    try {
      code = kv->store ? body(*kv) : refuse_closed(*kv);
    } catch (const std::bad_alloc&) {
      code = fail(*kv, KVSTORE_NOMEM, "out of memory");
    } catch (const std::exception& error) {
      code = fail(*kv, KVSTORE_ERROR, error.what());
    }
  });
  return entered ? code : refuse_closed(*kv);
}

template <class Body>
int call(KVColumnFamily* cf, Body body) noexcept {
  return cf == nullptr ? KVSTORE_ERROR : call(cf->kv, std::move(body));
}

// Runs `body(txn)`, with a const ReadTxn&, in this thread's transaction or one of its own.
template <class Body>
int with_read(KVStore& kv, Body body) {
  if (const OpenTxn* const open = kv.open_txn()) return body(open->txn());
  const auto txn = kv.store->read();
  if (!txn) return fail(kv, txn.error());
  return body(*txn);
}

int check_writable(KVStore& kv, OpenTxn& open);
int check_family(KVStore& kv, const ReadTxn& txn, Family family);

// Runs `body(txn)`, with a WriteTxn&, in this thread's transaction, or in one of its own, which is
// committed unless the body fails. What the body returns is returned if the write went well.
template <class Body>
int with_write(KVStore& kv, Family family, Body body) {
  if (OpenTxn* const open = kv.open_txn()) {
    if (const int code = check_writable(kv, *open)) return code;
    if (const int code = check_family(kv, *open->write, family)) return code;
    ++open->writes;
    const int code = body(*open->write);
    const int status = check_status(kv, open->write->status());
    return status != KVSTORE_OK ? status : code;
  }
  const auto turn = kv.take_turn();
  auto txn = kv.store->write();
  if (!txn) return fail(kv, txn.error());
  if (const int code = check_family(kv, *txn, family)) return code;
  const int code = body(*txn);
  if (code != KVSTORE_OK && code != KVSTORE_NOTFOUND) return code;
  const int status = check_status(kv, txn->commit());
  return status != KVSTORE_OK ? status : code;
}

// Whether `delta` can be added to the number that the key holds. An increment that fails would make
// a WriteTxn impossible to commit.
int check_sum(KVStore& kv, const ReadTxn& txn, std::string_view key, Family family,
              std::int64_t delta);

// When an entry expires, as `expire_ms` and `ttl_ms` of kvstore.h say it. A bad value is kept for
// check_moment().
struct Moment {
  static Moment by_default() { return {}; }
  static Moment at(std::int64_t expire_ms);           // must be above 0
  static Moment at_or_never(std::int64_t expire_ms);  // 0 is never
  static Moment in(std::int64_t ttl_ms);              // must be above 0

  Expiry expiry{};
  std::optional<Time> deadline{};  // if it is known before the clock is read
  const char* problem = nullptr;
};

int check_moment(KVStore& kv, const Moment& moment);

// A deadline as kvstore.h gives it out: 0 is none.
inline std::int64_t to_expire_ms(Time deadline) {
  return deadline == kNever ? 0 : deadline.time_since_epoch().count();
}

}  // namespace mayfly::internal
