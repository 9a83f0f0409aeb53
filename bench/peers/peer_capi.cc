// SPDX-License-Identifier: Apache-2.0
// Mayfly's store through its C interface, where each get is a transaction and copies the value.

#include <string>
#include <string_view>

#include "bench/peers/peer.h"
#include "kvstore.h"

namespace mayfly {
namespace {

Error capi_failure(KVStore* store) {
  const char* const why = store != nullptr ? kvstore_errmsg(store) : "it cannot be opened";
  return {Code::io, std::string("C API: ") + why};
}

class CapiPeer final : public Peer {
 public:
  ~CapiPeer() override { kvstore_close(store_); }

  Status open(const PeerPlace& place) override {
    const std::string path = (place.directory / "mayfly.db").string();
    if (kvstore_open_v2(path.c_str(), &store_, nullptr) != KVSTORE_OK) return capi_failure(store_);
    return Done{};
  }

  Result<PeerTally> get_each(const StoreOps& ops) override {
    PeerTally tally;
    for (const StoreOp& op : ops.ops) {
      void* value = nullptr;
      int bytes = 0;
      const int code = kvstore_get(store_, op.key.data(), kBenchKeyBytes, &value, &bytes);
      if (code == KVSTORE_NOTFOUND) continue;
      if (code != KVSTORE_OK) return capi_failure(store_);
      tally.read({static_cast<const char*>(value), static_cast<std::size_t>(bytes)});
      snkv_free(value);
    }
    return tally;
  }

  Result<PeerTally> apply(const StoreOps&, std::size_t) override { return unused(); }
  Result<PeerTally> get(const StoreOps&) override { return unused(); }
  Result<PeerTally> scan() override { return unused(); }
  Result<PeerTally> purge() override { return unused(); }

 private:
  static Error unused() { return {Code::unsupported, "the C API is only asked for single gets"}; }

  KVStore* store_ = nullptr;
};

}  // namespace

std::unique_ptr<Peer> make_capi_peer(const Clock&) { return std::make_unique<CapiPeer>(); }

}  // namespace mayfly
