// SPDX-License-Identifier: Apache-2.0
// Mayfly's own store as one of the systems that are compared, through its C interface, where each
// get is a transaction and copies the value.

#include <string>

#include "bench/peers/peer.h"
#include "bench/report/must.h"
#include "kvstore.h"

namespace mayfly::bench {
namespace {

[[noreturn]] void capi_failure(KVStore* store) {
  const char* const why = store != nullptr ? kvstore_errmsg(store) : "it cannot be opened";
  throw Failure(std::string("C API: ") + why);
}

class CapiPeer final : public Peer {
 public:
  ~CapiPeer() override { kvstore_close(store_); }

  void open(const PeerPlace& place) override {
    const std::string path = (place.directory / "mayfly.db").string();
    if (kvstore_open_v2(path.c_str(), &store_, nullptr) != KVSTORE_OK) capi_failure(store_);
  }

  PeerTally get_each(const StoreOps& ops) override {
    PeerTally tally;
    for (const StoreOp& op : ops.ops) {
      void* value = nullptr;
      int bytes = 0;
      const int code = kvstore_get(store_, op.key.data(), kBenchKeyBytes, &value, &bytes);
      if (code == KVSTORE_NOTFOUND) continue;
      if (code != KVSTORE_OK) capi_failure(store_);
      tally.read({static_cast<const char*>(value), static_cast<std::size_t>(bytes)});
      snkv_free(value);
    }
    return tally;
  }

  PeerTally apply(const StoreOps&, std::size_t) override { return unused(); }
  PeerTally get(const StoreOps&) override { return unused(); }
  PeerTally scan() override { return unused(); }
  PeerTally purge() override { return unused(); }

 private:
  [[noreturn]] static PeerTally unused() { throw Failure("the C API only does single gets"); }

  KVStore* store_ = nullptr;
};

}  // namespace

std::unique_ptr<Peer> make_capi_peer(const Clock&) { return std::make_unique<CapiPeer>(); }

}  // namespace mayfly::bench
