// SPDX-License-Identifier: Apache-2.0
// The half of a RemoteStore that is in the other process: it has the store open, and does what
// comes over the socket.

#pragma once

#include <sys/socket.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "mayfly/store.h"
#include "store/api/store_fixture.h"
#include "store/api/store_model.h"
#include "store/lmdb/environment.h"
#include "store/log/redo_log.h"

namespace mayfly::internal {

class LogTestAccess {
 public:
  // A cut of which the checkpoint is still to come.
  static void cut(Environment& environment, Time now) {
    must(environment.log().cut(now, Session::kLeastWait));
  }

  // What a writer does that finds both segments full: everything goes into LMDB, without a cut.
  static void apply_all(Environment& environment) {
    RedoLog& log = environment.log();
    const WriteTurn writing = must(environment.begin_write(Session::kLeastWait));
    Environment::drop_snapshot(*writing.snapshot);
    const CheckpointTurn turn = must(CheckpointTurn::take(log, Session::kLeastWait));
    must(log.apply_all(true));
  }

  // Stops the thread; what it was asked for is forgotten. REQUIRES: nobody writes meanwhile.
  static void quiet(Environment& environment) {
    RedoLog& log = environment.log();
    log.stop_thread();
    log.wanted_ = RedoLog::kNotWanted;
    log.unsynced_ = false;
  }
};

// REQUIRES: this process has the store at `path` open.
template <class Use>
void with_environment(const std::filesystem::path& path, Use use) {
  Environment* const environment = must(acquire_environment(path.string(), {}));
  use(*environment);
  must(release_environment(environment, Time{}));
}

inline void quiet_log(const std::filesystem::path& path) {
  with_environment(path, LogTestAccess::quiet);
}

inline void cut_log(const std::filesystem::path& path, Time now) {
  with_environment(path, [now](Environment& at) { LogTestAccess::cut(at, now); });
}

enum class RemoteMethod {
  open,
  close,
  quiet,
  cut,
  checkpoint,
  lazily,
  check,
  describe,
  begin,
  commit,
  rollback,
  put,
  put_if_absent,
  compare_and_set,
  increment,
  erase,
  erase_many,
  expire,
  persist,
  touch,
  clear,
  purge,
  purge_all,
  get_entry,
  get,
  create_family,
  drop_family,
  set_default_ttl,
};

// Both processes are of one program, so they can exchange what is in memory.
struct RemoteCommand {
  RemoteMethod method{};
  Family family{};
  Expiry expiry{};
  When when = When::always;
  std::int64_t number = 0;
  Time now{};
  std::size_t sizes[3]{};
};
struct RemoteHead {
  bool failed = false;
  Code code{};
  bool flag = false;
  std::int64_t number = 0;
  Family family{};
  std::size_t size = 0;
};
struct RemoteReply {
  RemoteHead head;
  std::string text;
};
static_assert(std::is_trivially_copyable_v<RemoteCommand> &&
              std::is_trivially_copyable_v<RemoteHead>);

// False: the other side has gone.
inline bool transfer(int socket, void* bytes, std::size_t size, bool writes) {
  char* at = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t done =
        writes ? ::send(socket, at, size, MSG_NOSIGNAL) : ::recv(socket, at, size, 0);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    at += done;
    size -= static_cast<std::size_t>(done);
  }
  return true;
}

class RemoteServer {
 public:
  explicit RemoteServer(int socket) : socket_(socket) {}

  // Returns when the other side has gone.
  void serve(const std::filesystem::path& path, const StoreOptions& options) const {
    Served served;
    Command command;
    while (transfer(socket_, &command, sizeof command, false)) {
      std::string texts[3];
      for (std::size_t i = 0; i < 3; ++i) {
        texts[i].resize(command.sizes[i]);
        if (!transfer(socket_, texts[i].data(), texts[i].size(), false)) return;
      }
      Reply reply;
      try {
        served.clock.set(command.now);
        const auto done = maintain(served, path, options, command, reply);
        if (!done && served.txn) change(*served.txn, command, texts, reply);
        if (!done && !served.txn) change(*served.store, command, texts, reply);
      } catch (const std::exception& error) {
        reply.head.failed = true;
        reply.text = error.what();
      }
      reply.head.size = reply.text.size();
      if (!transfer(socket_, &reply.head, sizeof reply.head, true) ||
          !transfer(socket_, reply.text.data(), reply.text.size(), true)) {
        return;
      }
    }
    served.txn.reset();
  }

 private:
  using Method = RemoteMethod;
  using Command = RemoteCommand;
  using Reply = RemoteReply;

  struct Served {
    ManualClock clock{kStart};
    std::optional<Store> store;
    std::optional<WriteTxn> txn;
  };

  // Whether it was something other than a read or a change of entries.
  static bool maintain(Served& served, const std::filesystem::path& path,
                       const StoreOptions& options, const Command& command, Reply& reply) {
    switch (command.method) {
      case Method::open:
        served.store = must(Store::open(path, served.clock, options));
        return true;
      case Method::close:
        must(served.store->close());
        served.store.reset();
        return true;
      case Method::quiet:
        if (served.store) quiet_log(path);
        return true;
      case Method::cut:
        cut_log(path, served.clock.now());
        return true;
      case Method::checkpoint:
        must(served.store->checkpoint());
        return true;
      case Method::lazily:
        reply.head.number = static_cast<std::int64_t>(must(served.store->stats()).expired_lazily);
        return true;
      case Method::check:
        for (const std::string& problem : must(served.store->check()).problems) {
          reply.text += problem + "; ";
        }
        return true;
      case Method::describe: {
        const bool all = command.number != 0;
        reply.text = served.txn
                         ? internal::describe(*served.txn, command.family, all)
                         : internal::describe(must(served.store->read()), command.family, all);
        return true;
      }
      case Method::begin:
        served.txn = must(served.store->write());
        return true;
      case Method::commit:
        must(served.txn->status());
        must(served.txn->commit());
        served.txn.reset();
        return true;
      case Method::rollback:
        served.txn.reset();
        return true;
      default:
        return false;
    }
  }

  template <class T>
  static T plain(Result<T> result) {
    return must(std::move(result));
  }
  template <class T>
  static T plain(T value) {
    return value;
  }
  static void put(Store& store, const Command& command, const std::string& key,
                  const std::string& value) {
    must(store.put(key, value, command.expiry, command.family));
  }
  static void put(WriteTxn& txn, const Command& command, const std::string& key,
                  const std::string& value) {
    txn.put(key, value, command.expiry, command.family);
  }
  static void clear(Store& store, Family family) { must(store.clear(family)); }
  static void clear(WriteTxn& txn, Family family) { txn.clear(family); }
  static std::uint64_t purge(Store& store, std::uint64_t limit, Family family) {
    return must(store.purge_expired({.entries = limit}, family)).removed;
  }
  static std::uint64_t purge(WriteTxn& txn, std::uint64_t limit, Family family) {
    return txn.purge_expired(limit, family);
  }
  static std::uint64_t purge_all(Store& store) { return must(store.purge_expired_all()).removed; }
  static std::uint64_t purge_all(WriteTxn& txn) { return txn.purge_expired_all(); }

  template <class Target>
  static void change(Target& target, const Command& command, const std::string (&texts)[3],
                     Reply& reply) {
    const std::string& key = texts[0];
    const Family family = command.family;
    RemoteHead& head = reply.head;
    switch (command.method) {
      case Method::put:
        return put(target, command, key, texts[1]);
      case Method::put_if_absent:
        head.flag = plain(target.put_if_absent(key, texts[1], command.expiry, family));
        return;
      case Method::compare_and_set: {
        std::optional<std::string_view> expected;
        if (command.number != 0) expected = texts[2];
        head.flag = plain(target.compare_and_set(key, expected, texts[1], command.expiry, family));
        return;
      }
      case Method::increment:
        head.number = plain(target.increment(key, command.number, command.expiry, family));
        return;
      case Method::erase:
        head.flag = plain(target.erase(key, family));
        return;
      case Method::erase_many: {
        const std::vector<std::string_view> keys{key, texts[1]};
        head.number = static_cast<std::int64_t>(plain(target.erase_many(keys, family)));
        return;
      }
      case Method::expire:
        head.flag = plain(target.expire(key, command.expiry, command.when, family));
        return;
      case Method::persist:
        head.flag = plain(target.persist(key, family));
        return;
      case Method::touch:
        head.flag = plain(target.touch(key, command.expiry, family));
        return;
      case Method::clear:
        return clear(target, family);
      case Method::purge:
        head.number = static_cast<std::int64_t>(
            purge(target, static_cast<std::uint64_t>(command.number), family));
        return;
      case Method::purge_all:
        head.number = static_cast<std::int64_t>(purge_all(target));
        return;
      default:
        return look(target, command, key, reply);
    }
  }

  template <class Target>
  static void look(Target& target, const Command& command, const std::string& key, Reply& reply) {
    const Family family = command.family;
    RemoteHead& head = reply.head;
    if (command.method == Method::get_entry) {
      const auto entry = must(target.get_entry(key, family));
      head.flag = entry.has_value();
      if (entry) reply.text = entry->value;
      if (entry) head.number = entry->deadline.time_since_epoch().count();
    } else if (command.method == Method::get) {
      const auto value = target.get(key, family);
      head.failed = !value.ok();
      if (head.failed) head.code = value.error().code;
      if (head.failed) reply.text = value.error().message;
      if (head.failed) return;
      head.flag = value->has_value();
      if (head.flag) reply.text = **value;
    } else if (command.method == Method::create_family) {
      head.family = must(target.create_family(key));
    } else if (command.method == Method::drop_family) {
      must(target.drop_family(key));
    } else {
      std::optional<Millis> ttl;
      if (Millis(command.number) != Millis::max()) ttl = Millis(command.number);
      must(target.set_default_ttl(ttl, family));
    }
  }

  const int socket_;
};

}  // namespace mayfly::internal
