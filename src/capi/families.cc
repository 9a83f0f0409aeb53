// SPDX-License-Identifier: Apache-2.0
// Column families: creating, opening, dropping and listing them.

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "capi/call.h"
#include "mayfly/store_options.h"

namespace mayfly::internal {
namespace {

constexpr std::string_view kDefault = "default";

bool is_reserved(std::string_view name) {
  return name.starts_with("__") || name.starts_with("_snkv_");
}

int check_name(KVStore& kv, const char* name) {
  const std::string_view text = name == nullptr ? std::string_view() : std::string_view(name);
  if (text.empty() || text.size() > kFamilyNameMax) {
    return fail(kv, KVSTORE_ERROR, "the name of a column family must have 1 to 255 bytes");
  }
  if (is_reserved(text)) {
    return fail(kv, KVSTORE_ERROR, "names that begin with __ or _snkv_ are reserved");
  }
  return KVSTORE_OK;
}

// An unknown name is KVSTORE_NOTFOUND here.
int fail_name(KVStore& kv, const Error& error) {
  const int code = error.code == Code::not_found ? KVSTORE_NOTFOUND : to_code(error.code);
  return fail(kv, code, error.message);
}

struct FamilyCloser {
  void operator()(KVColumnFamily* cf) const {
    KVStore* const kv = cf->kv;
    kv->unuse(cf->name);
    delete cf;
    kv->release();
  }
};
using Handle = std::unique_ptr<KVColumnFamily, FamilyCloser>;

Handle make_handle(KVStore& kv, Family family, const char* name) {
  auto handle = std::make_unique<KVColumnFamily>(KVColumnFamily{&kv, family, name});
  kv.use(handle->name);
  kv.retain();
  return Handle(handle.release());
}

int check_unused(KVStore& kv, const char* name) {
  if (!kv.is_used(name)) return KVSTORE_OK;
  return fail(kv, KVSTORE_BUSY,
              "cannot drop the column family: a handle or an iterator of it is open");
}

void free_names(char** names, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) std::free(names[i]);
  std::free(names);
}

char** copy_names(const std::vector<std::string>& names) {
  auto** const copies = static_cast<char**>(std::malloc(names.size() * sizeof(char*)));
  if (copies == nullptr) throw std::bad_alloc();
  for (std::size_t i = 0; i < names.size(); ++i) {
    copies[i] = ::strdup(names[i].c_str());
    if (copies[i] != nullptr) continue;
    free_names(copies, i);
    throw std::bad_alloc();
  }
  return copies;
}

}  // namespace

extern "C" {

int kvstore_cf_create(KVStore* kv, const char* name, KVColumnFamily** out) {
  if (out != nullptr) *out = nullptr;
  return call(kv, [&](KVStore& store) {
    if (const int code = check_result(store, out)) return code;
    if (const int code = check_name(store, name)) return code;
    Handle handle = make_handle(store, {}, name);  // before there is a family: it cannot fail then
    int code = KVSTORE_OK;
    if (name != kDefault) {
      code = with_write(store, {}, [&](WriteTxn& txn) {
        const auto family = txn.create_family(name);
        if (!family) return fail(store, family.error());
        handle->family = *family;
        return KVSTORE_OK;
      });
    }
    if (code == KVSTORE_OK) *out = handle.release();
    return code;
  });
}

int kvstore_cf_open(KVStore* kv, const char* name, KVColumnFamily** out) {
  if (out != nullptr) *out = nullptr;
  return call(kv, [&](KVStore& store) {
    if (const int code = check_result(store, out)) return code;
    if (const int code = check_name(store, name)) return code;
    return with_read(store, [&](const ReadTxn& txn) {
      const auto family = txn.family(name);
      if (!family) return fail_name(store, family.error());
      *out = make_handle(store, *family, name).release();
      return KVSTORE_OK;
    });
  });
}

int kvstore_cf_get_default(KVStore* kv, KVColumnFamily** out) {
  return kvstore_cf_open(kv, kDefault.data(), out);
}

int kvstore_cf_drop(KVStore* kv, const char* name) {
  return call(kv, [&](KVStore& store) {
    if (const int code = check_name(store, name)) return code;
    if (name == kDefault) {
      return fail(store, KVSTORE_ERROR, "cannot drop the column family default");
    }
    if (const int code = check_unused(store, name)) return code;
    return with_write(store, {}, [&](WriteTxn& txn) {
      const Status dropped = txn.drop_family(name);
      return dropped ? KVSTORE_OK : fail_name(store, dropped.error());
    });
  });
}

int kvstore_cf_list(KVStore* kv, char*** names, int* count) {
  if (names != nullptr) *names = nullptr;
  if (count != nullptr) *count = 0;
  return call(kv, [&](KVStore& store) {
    if (const int code = check_result(store, names)) return code;
    if (const int code = check_result(store, count)) return code;
    return with_read(store, [&](const ReadTxn& txn) {
      std::vector<std::string> found = txn.families();
      std::erase_if(found, [](const std::string& name) { return is_reserved(name); });
      if (found.empty()) return KVSTORE_OK;
      *names = copy_names(found);
      *count = static_cast<int>(found.size());
      return KVSTORE_OK;
    });
  });
}

void kvstore_cf_close(KVColumnFamily* cf) {
  if (cf != nullptr && !cf->kv->mark.is_foreign()) FamilyCloser()(cf);
}

}  // extern "C"
}  // namespace mayfly::internal
