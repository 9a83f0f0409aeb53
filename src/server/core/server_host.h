// SPDX-License-Identifier: Apache-2.0
// ServerHost: the process around a server. ServerContext: what nearly every part of a server needs.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/register.h"
#include "mayfly/clock.h"
#include "mayfly/result.h"
#include "net/blocking_stream.h"
#include "net/transport.h"
#include "persist/disk/disk.h"
#include "server/config/config.h"
#include "server/core/log.h"
#include "server/http/http_files.h"
#include "server/persistence/child.h"

namespace mayfly {

class ServerHost {
 public:
  virtual ~ServerHost() = default;
  virtual void shut_down() = 0;  // the loop ends after this turn
  virtual void ready() {}        // the data is loaded: clients are served
  virtual std::int64_t port() const { return 0; }
  virtual std::int64_t http_port() const { return 0; }
  virtual std::span<const HttpFile> web_files() const { return {}; }  // of the console

  // Listens where `config` says. After an error it listens where it did before.
  virtual Status relisten(const Config&) { return Done{}; }
  virtual std::string executable() const { return {}; }
  // Whether a crash leaves a report in the log, and the INFO that it shows.
  virtual void report_crashes(bool) {}
  virtual void keep_info(std::string_view) {}
  virtual LoopCounts loop_counts() const { return {}; }
  virtual Disk& disk() = 0;

  // Serves other connections from within a request that takes long. Nothing is read of those whose
  // links are paused.
  virtual void serve_others() {}

  // The child keeps the descriptors `kept` open, and no others.
  virtual Result<std::unique_ptr<Child>> start_child(const ChildWork& work,
                                                     const std::vector<int>& kept) = 0;

  // As Loop::connect(), but `host` may be a name.
  virtual void connect(const std::string& host, int port, Acceptor connected,
                       std::function<void(const Error&)> failed) = 0;

  // See net/blocking_stream.h.
  virtual Result<std::unique_ptr<BlockingStream>> connect_blocking(const std::string& host,
                                                                   int port, Millis longest) = 0;

  // ---- For a cluster ----

  // The register that the configuration names. When it has something to deliver, Server::wake() is
  // called in the loop's thread.
  virtual Result<std::unique_ptr<Register>> open_register(const Config&) {
    return Error{Code::unsupported,
                 "this program was built without support for clusters (MAYFLY_CLUSTER)"};
  }

  // A clock that is immune to steps and counts the time that the machine sleeps.
  virtual const Clock& lease_clock() const = 0;

  // The clock of the server shows this moment at least, from now on. limit_clock() sets it back if
  // it is further ahead of the machine's clock than that.
  virtual void raise_clock(Time) {}
  virtual void limit_clock(Millis) {}
  virtual Millis clock_ahead() const { return Millis(0); }  // of the machine's, by that
};

struct ServerContext {
  const Clock& clock;
  Time& now;  // when this request, or this turn of the loop, began
  Config& config;
  Log& log;
  ServerHost& host;
};

}  // namespace mayfly
