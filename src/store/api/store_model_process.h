// SPDX-License-Identifier: Apache-2.0
// RemoteStore: a handle of a store in another process, which does what it is told over a socket.
// One that has begun a transaction is that transaction, until it ends.
//
// LogQuiet: what stops the thread of a log for a test.

#pragma once

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <stdexcept>
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

// Stops the thread; what it was asked for is forgotten. REQUIRES: nobody writes meanwhile.
class LogTestAccess {
 public:
  static void quiet(RedoLog& log) {
    log.stop_thread();
    log.wanted_ = RedoLog::kNotWanted;
    log.unsynced_ = false;
  }
};

inline void quiet_log(const std::filesystem::path& path) {
  Environment* const environment = must(acquire_environment(path.string(), {}));
  LogTestAccess::quiet(environment->log());
  must(release_environment(environment, Time{}));
}

class RemoteStore {
 public:
  // Forks. REQUIRES: this process has no store open.
  RemoteStore(const std::filesystem::path& path, const StoreOptions& options) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) throw std::runtime_error("socketpair");
    child_ = ::fork();
    if (child_ < 0) throw std::runtime_error("fork");
    socket_ = ends[child_ == 0 ? 1 : 0];
    ::close(ends[child_ == 0 ? 0 : 1]);
    if (child_ != 0) return;
    serve(path, options);
    ::_exit(0);
  }
  ~RemoteStore() {
    ::close(socket_);
    ::waitpid(child_, nullptr, 0);
  }
  RemoteStore(const RemoteStore&) = delete;
  RemoteStore& operator=(const RemoteStore&) = delete;

  void set_clock(Time now) { now_ = now; }
  Time now() const { return now_; }

  void open() { call({Method::open}); }
  void close() { call({Method::close}); }
  void quiet() { call({Method::quiet}); }
  void checkpoint() { call({Method::checkpoint}); }
  std::uint64_t expired_lazily() { return unsigned_number(call({Method::lazily})); }
  std::string check() { return call({Method::check}).text; }
  std::string describe(Family family, bool all) {
    return call({.method = Method::describe, .family = family, .number = all ? 1 : 0}).text;
  }

  // A transaction, whose moment is that of its beginning.
  void begin() { call({Method::begin}); }
  void commit() { call({Method::commit}); }
  void rollback() { call({Method::rollback}); }

  void put(std::string_view key, std::string_view value, Expiry expiry, Family family) {
    call({.method = Method::put, .family = family, .expiry = expiry}, key, value);
  }
  bool put_if_absent(std::string_view key, std::string_view value, Expiry expiry, Family family) {
    return call({.method = Method::put_if_absent, .family = family, .expiry = expiry}, key, value)
        .head.flag;
  }
  bool compare_and_set(std::string_view key, const std::optional<std::string>& expected,
                       std::string_view desired, Expiry expiry, Family family) {
    return call({.method = Method::compare_and_set,
                 .family = family,
                 .expiry = expiry,
                 .number = expected ? 1 : 0},
                key, desired, expected.value_or(""))
        .head.flag;
  }
  std::int64_t increment(std::string_view key, std::int64_t delta, Expiry expiry, Family family) {
    return call({.method = Method::increment, .family = family, .expiry = expiry, .number = delta},
                key)
        .head.number;
  }
  bool erase(std::string_view key, Family family) {
    return call({.method = Method::erase, .family = family}, key).head.flag;
  }
  std::size_t erase_many(const std::vector<std::string_view>& keys, Family family) {
    return unsigned_number(
        call({.method = Method::erase_many, .family = family}, keys.at(0), keys.at(1)));
  }
  bool expire(std::string_view key, Expiry expiry, When when, Family family) {
    return call({.method = Method::expire, .family = family, .expiry = expiry, .when = when}, key)
        .head.flag;
  }
  bool persist(std::string_view key, Family family) {
    return call({.method = Method::persist, .family = family}, key).head.flag;
  }
  bool touch(std::string_view key, Expiry expiry, Family family) {
    return call({.method = Method::touch, .family = family, .expiry = expiry}, key).head.flag;
  }
  void clear(Family family) { call({.method = Method::clear, .family = family}); }
  std::uint64_t purge(std::uint64_t limit, Family family) {
    return unsigned_number(call(
        {.method = Method::purge, .family = family, .number = static_cast<std::int64_t>(limit)}));
  }
  std::uint64_t purge_all() { return unsigned_number(call({Method::purge_all})); }

  Result<std::optional<OwnedEntry>> get_entry(std::string_view key, Family family) {
    Reply reply = call({.method = Method::get_entry, .family = family}, key);
    if (!reply.head.flag) return std::optional<OwnedEntry>();
    OwnedEntry entry{std::move(reply.text), Time(Millis(reply.head.number))};
    if (entry.deadline != kNever) entry.ttl = entry.deadline - now_;
    return std::optional(std::move(entry));
  }
  Result<std::optional<std::string>> get(std::string_view key, Family family) {
    Reply reply = send({.method = Method::get, .family = family}, key);
    if (reply.head.failed) return Error{reply.head.code, reply.text};
    return reply.head.flag ? std::optional(std::move(reply.text)) : std::nullopt;
  }
  Result<std::optional<Time>> deadline(std::string_view key, Family family) {
    const auto entry = must(get_entry(key, family));
    return entry ? std::optional(entry->deadline) : std::nullopt;
  }
  Result<bool> contains(std::string_view key, Family family) {
    return must(get(key, family)).has_value();
  }
  Result<std::vector<std::optional<std::string>>> get_many(
      const std::vector<std::string_view>& keys, Family family) {
    return std::vector{must(get(keys.at(0), family)), must(get(keys.at(1), family))};
  }

  Result<Family> create_family(std::string_view name) {
    return call({Method::create_family}, name).head.family;
  }
  Status drop_family(std::string_view name) {
    call({Method::drop_family}, name);
    return Done{};
  }
  Status set_default_ttl(std::optional<Millis> ttl, Family family) {
    call({.method = Method::set_default_ttl,
          .family = family,
          .number = ttl.value_or(Millis::max()).count()});
    return Done{};
  }

 private:
  enum class Method {
    open,
    close,
    quiet,
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
  struct Command {
    Method method{};
    Family family{};
    Expiry expiry{};
    When when = When::always;
    std::int64_t number = 0;
    Time now{};
    std::size_t sizes[3]{};
  };
  struct ReplyHead {
    bool failed = false;
    Code code{};
    bool flag = false;
    std::int64_t number = 0;
    Family family{};
    std::size_t size = 0;
  };
  struct Reply {
    ReplyHead head;
    std::string text;
  };
  static_assert(std::is_trivially_copyable_v<Command> && std::is_trivially_copyable_v<ReplyHead>);

  static std::uint64_t unsigned_number(const Reply& reply) {
    return static_cast<std::uint64_t>(reply.head.number);
  }

  // False: the other side has gone.
  bool transfer(void* bytes, std::size_t size, bool writes) const {
    char* at = static_cast<char*>(bytes);
    while (size > 0) {
      const ssize_t done =
          writes ? ::send(socket_, at, size, MSG_NOSIGNAL) : ::recv(socket_, at, size, 0);
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) return false;
      at += done;
      size -= static_cast<std::size_t>(done);
    }
    return true;
  }

  Reply send(Command command, std::string_view first = {}, std::string_view second = {},
             std::string_view third = {}) {
    command.now = now_;
    std::string texts;
    for (std::size_t i = 0; const std::string_view text : {first, second, third}) {
      command.sizes[i++] = text.size();
      texts += text;
    }
    Reply reply;
    bool good = transfer(&command, sizeof command, true) &&
                transfer(texts.data(), texts.size(), true) &&
                transfer(&reply.head, sizeof reply.head, false);
    reply.text.resize(reply.head.size);
    good = good && transfer(reply.text.data(), reply.text.size(), false);
    if (!good) throw std::runtime_error("the other process has died");
    return reply;
  }
  Reply call(const Command& command, std::string_view first = {}, std::string_view second = {},
             std::string_view third = {}) {
    Reply reply = send(command, first, second, third);
    if (reply.head.failed) throw std::runtime_error("the other process: " + reply.text);
    return reply;
  }

  // --- In the child ------------------------------------------------------------------------------

  struct Served {
    ManualClock clock{kStart};
    std::optional<Store> store;
    std::optional<WriteTxn> txn;
  };

  void serve(const std::filesystem::path& path, const StoreOptions& options) const {
    Served served;
    Command command;
    while (transfer(&command, sizeof command, false)) {
      std::string texts[3];
      for (std::size_t i = 0; i < 3; ++i) {
        texts[i].resize(command.sizes[i]);
        if (!transfer(texts[i].data(), texts[i].size(), false)) return;
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
      if (!transfer(&reply.head, sizeof reply.head, true) ||
          !transfer(reply.text.data(), reply.text.size(), true)) {
        return;
      }
    }
    served.txn.reset();
  }

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
    ReplyHead& head = reply.head;
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
    ReplyHead& head = reply.head;
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

  int socket_ = -1;
  pid_t child_ = -1;
  Time now_ = kStart;
};

}  // namespace mayfly::internal
