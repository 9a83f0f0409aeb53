// SPDX-License-Identifier: Apache-2.0
#include "capi/call.h"

#include <charconv>

namespace mayfly::internal {

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

int refuse_foreign(KVStore& kv) noexcept {
  try {
    return fail(kv, foreign_error());
  } catch (const std::bad_alloc&) {
    return fail(kv, KVSTORE_ERROR, "the store was opened before a fork");
  }
}

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
  return fail(kv, KVSTORE_ERROR, "the pointer for the result must not be NULL");
}

int check_status(KVStore& kv, const Status& status) {
  return status ? KVSTORE_OK : fail(kv, status.error());
}

int check_writable(KVStore& kv, OpenTxn& open) {
  if (open.write) return check_status(kv, open.write->status());
  return fail(kv, KVSTORE_READONLY,
              "this thread has a read transaction open (end it, or begin a write transaction)");
}

// Checked before a write, since a write to a dropped family would make the transaction fail.
int check_family(KVStore& kv, const ReadTxn& txn, Family family) {
  if (family == Family()) return KVSTORE_OK;
  const auto known = txn.default_ttl(family);
  return known ? KVSTORE_OK : fail(kv, known.error());
}

int check_sum(KVStore& kv, const ReadTxn& txn, std::string_view key, Family family,
              std::int64_t delta) {
  const auto found = txn.get(key, family);
  if (!found) return fail(kv, found.error());
  if (!*found) return KVSTORE_OK;
  std::int64_t number = 0;
  const char* const end = (*found)->data() + (*found)->size();
  const auto [stop, problem] = std::from_chars((*found)->data(), end, number);
  if (problem != std::errc() || stop != end) {
    return fail(kv, KVSTORE_ERROR,
                "cannot increment: the value is not a 64-bit integer");
  }
  if (__builtin_add_overflow(number, delta, &number)) {
    return fail(kv, KVSTORE_ERROR, "cannot increment: the sum does not fit into 64 bits");
  }
  return KVSTORE_OK;
}

Moment Moment::at(std::int64_t expire_ms) {
  if (expire_ms <= 0)
    return {.problem = "the expiry time must be greater than 0 (milliseconds since 1970)"};
  const Time deadline{Millis(expire_ms)};
  return {.expiry = Expiry(deadline), .deadline = deadline};
}

Moment Moment::at_or_never(std::int64_t expire_ms) {
  return expire_ms == 0 ? Moment{.expiry = Expiry::never()} : at(expire_ms);
}

Moment Moment::in(std::int64_t ttl_ms) {
  if (ttl_ms <= 0) return {.problem = "TTL must be greater than 0 (milliseconds)"};
  return {.expiry = Expiry(Millis(ttl_ms))};
}

int check_moment(KVStore& kv, const Moment& moment) {
  return moment.problem == nullptr ? KVSTORE_OK : fail(kv, KVSTORE_ERROR, moment.problem);
}

}  // namespace mayfly::internal
