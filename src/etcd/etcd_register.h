// SPDX-License-Identifier: Apache-2.0
// A Register (cluster/register.h) in etcd, by its JSON gateway.
//
//   auto opened = open_etcd_register(options, [&] { loop.wake(); });
//   if (!opened) return opened.error();         // a wrong option, or no libcurl on this machine
//   (*opened)->read([](const Result<RegisterSnapshot>& all) { ... });
//   ...                                         // woken: (*opened)->deliver();
//
// It does not wait for etcd here: what is asked while etcd cannot be reached is answered with the
// reason. Its work is done in a thread of its own, which ends with it, at once; if a record was
// announced, some 200 ms may go by in which its lease is revoked.

#pragma once

#include <functional>
#include <memory>

#include "cluster/register.h"
#include "etcd/etcd_options.h"
#include "mayfly/result.h"

namespace mayfly {

// `wake` is called from another thread when deliver() has something to do; it must not block.
Result<std::unique_ptr<Register>> open_etcd_register(const EtcdOptions& options,
                                                     std::function<void()> wake);

}  // namespace mayfly
