// SPDX-License-Identifier: Apache-2.0
#include "capi/call.h"

namespace mayfly {

int to_code(Code code) {
  switch (code) {
    case Code::busy:
      return KVSTORE_BUSY;
    case Code::full:
      return KVSTORE_FULL;
    case Code::denied:
      return KVSTORE_READONLY;
    case Code::corrupt:
      return KVSTORE_CORRUPT;
    case Code::invalid:
    case Code::not_found:
    case Code::unsupported:
    case Code::io:
      break;
  }
  return KVSTORE_ERROR;
}

int fail(KVStore& kv, int code, std::string_view message) noexcept {
  kv.messages.set(message);
  kv.errors.fetch_add(1, std::memory_order_relaxed);
  return code;
}

int fail(KVStore& kv, const Error& error) noexcept {
  return fail(kv, to_code(error.code), error.message);
}

int refuse_closed(KVStore& kv) noexcept { return fail(kv, KVSTORE_ERROR, "the store is closed"); }

int refuse_foreign(KVStore& kv) noexcept { return fail(kv, foreign_error()); }

int check_key(KVStore& kv, const void* key, int length) {
  if (key != nullptr && length >= 1 && length <= kKeyMax) return KVSTORE_OK;
  return fail(kv, KVSTORE_ERROR, "a key must have 1 to 65536 bytes");
}

int check_value(KVStore& kv, const void* value, int length) {
  if (length >= 0 && length <= kValueMax && (value != nullptr || length == 0)) return KVSTORE_OK;
  return fail(kv, KVSTORE_ERROR, "a value must have 0 to 10485760 bytes");
}

int check_result(KVStore& kv, const void* pointer) {
  if (pointer != nullptr) return KVSTORE_OK;
  return fail(kv, KVSTORE_ERROR, "there must be a pointer for the result");
}

int check_status(KVStore& kv, const Status& status) {
  return status ? KVSTORE_OK : fail(kv, status.error());
}

int check_writable(KVStore& kv, OpenTxn& open) {
  if (open.write) return check_status(kv, open.write->status());
  return fail(kv, KVSTORE_READONLY,
              "this thread has a read transaction open; end it, or begin one that writes");
}

// Asked before a write, since one to a family that is gone would spoil the transaction.
int check_family(KVStore& kv, const ReadTxn& txn, Family family) {
  if (family == Family()) return KVSTORE_OK;
  const auto known = txn.default_ttl(family);
  return known ? KVSTORE_OK : fail(kv, known.error());
}

}  // namespace mayfly
