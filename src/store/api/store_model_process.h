// SPDX-License-Identifier: Apache-2.0
// RemoteStore: a handle of a store in another process, which does what it is told over a socket.
// One that has begun a transaction is that transaction, until it ends.

#pragma once

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mayfly/store.h"
#include "store/api/store_fixture.h"
#include "store/api/store_model_server.h"

namespace mayfly::internal {

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
    RemoteServer(socket_).serve(path, options);
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
  using Method = RemoteMethod;
  using Command = RemoteCommand;
  using Reply = RemoteReply;

  static std::uint64_t unsigned_number(const Reply& reply) {
    return static_cast<std::uint64_t>(reply.head.number);
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
    bool good = transfer(socket_, &command, sizeof command, true) &&
                transfer(socket_, texts.data(), texts.size(), true) &&
                transfer(socket_, &reply.head, sizeof reply.head, false);
    reply.text.resize(reply.head.size);
    good = good && transfer(socket_, reply.text.data(), reply.text.size(), false);
    if (!good) throw std::runtime_error("the other process has died");
    return reply;
  }
  Reply call(const Command& command, std::string_view first = {}, std::string_view second = {},
             std::string_view third = {}) {
    Reply reply = send(command, first, second, third);
    if (reply.head.failed) throw std::runtime_error("the other process: " + reply.text);
    return reply;
  }

  int socket_ = -1;
  pid_t child_ = -1;
  Time now_ = kStart;
};

}  // namespace mayfly::internal
