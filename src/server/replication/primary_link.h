// SPDX-License-Identifier: Apache-2.0
// PrimaryLink: a replica's connection to the server it follows.
//
//   waiting -> connecting -> handshake -> transfer -> loading -> streaming
//                                 \________ partial sync ________/
//
// When the connection breaks, it connects again, and asks to go on at the last offset. The data set
// is received into a file, then loaded in slices; clients get LOADING errors meanwhile.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/time.h"
#include "net/transport.h"
#include "persist/disk/disk.h"
#include "persist/rdb/verify/rdb_verify.h"
#include "server/persistence/storage_context.h"

namespace mayfly {

class AofWriter;
class Client;
class Clients;
class KeyEvents;
class LocalExpiries;
class Replication;

enum class LinkState { waiting, connecting, handshake, transfer, loading, streaming };

struct PrimaryContext : StorageContext {
  Replication& replication;
  Clients& clients;
  KeyEvents& events;
  LocalExpiries& local_expiries;
  AofWriter& aof;
};

class PrimaryLink;

// "REDIRECT host:port": to a client that wants what only the primary has.
std::string redirect_text(const PrimaryLink& primary);

class PrimaryLink {
 public:
  // `takes_over`: the other server is asked to become the primary (FAILOVER).
  PrimaryLink(const PrimaryContext& context, std::string host, int port, std::uint64_t number,
              bool takes_over);
  ~PrimaryLink();

  const std::string& host() const { return host_; }
  int port() const { return port_; }
  std::uint64_t number() const { return number_; }  // earlier links have smaller ones
  LinkState state() const { return state_; }
  Link* link() const { return link_; }  // null if there is none
  bool is_up() const { return state_ == LinkState::streaming; }
  Time last_received() const { return last_received_; }
  std::size_t unapplied_bytes() const;  // of the stream: received, and not in the log yet
  Time down_since() const { return down_since_; }  // if it is not up
  std::uint64_t transferred_bytes() const { return transferred_; }
  std::uint64_t bytes_to_transfer() const { return to_transfer_; }  // 0: not known

  // Bytes of the stream that were applied go to the log. Those of a transaction go there when it is
  // complete, as a replica cannot go on in the middle of one.
  void applied(std::string_view bytes);

  void ask_for_ack() { owes_ack_ = true; }
  void before_sleep(Time now);

  // ---- For its peer ----
  void connected(Link& link);
  void received(InputBuffer& input);
  void closed(std::string_view why);
  void failed(std::string_view why);  // to connect

 private:
  void connect(Time now);
  void disconnect(std::string_view why);  // and try again
  void send_ack();
  void begin_stream();

  // primary_handshake.cc
  static std::string shown_line(std::string_view line);  // of the primary, for the log
  void send_next_step();
  std::vector<std::string> words_of_step() const;
  bool read_line(InputBuffer& input, std::string& line);
  void step_answered(std::string_view line);
  void synchronise(std::string_view line);
  bool can_continue() const;  // the log has all data: PSYNC names an offset
  void accepted();
  void continue_with(std::string_view id);

  // primary_transfer.cc
  void begin_transfer(std::string_view id, std::uint64_t offset);
  void transfer_header(std::string_view line);
  void transfer(InputBuffer& input);
  void take_transfer(InputBuffer& input);
  bool store(std::string_view bytes);
  void verify();
  void refuse_data(const Error& error);
  bool holds_more() const;
  Status keep_data();
  void load();
  void loaded(const Status& status);
  std::string file_path() const;

  const PrimaryContext context_;
  const std::string host_;
  const int port_;
  const std::uint64_t number_;
  bool takes_over_;

  LinkState state_ = LinkState::waiting;
  Link* link_ = nullptr;
  std::unique_ptr<Client> client_;  // while streaming
  Time next_attempt_ = Time::min();
  Time last_received_ = Time::min();
  Time down_since_;
  Time next_ack_ = Time::min();
  bool owes_ack_ = false;
  std::string held_;               // of a transaction
  std::string held_mayfly_only_;   // a request that only Mayfly knows, not in the log yet
  std::uint64_t safe_offset_ = 0;  // of the stream: on our own disk

  int step_ = 0;  // of the handshake

  // While the data set is received.
  std::string new_id_;
  std::uint64_t new_offset_ = 0;
  bool has_header_ = false;
  std::string mark_;  // that ends it, if its length is not known
  std::string tail_;  // what may be part of the mark
  std::unique_ptr<DiskFile> file_;
  bool has_kept_data_ = false;  // see keep_data()
  std::uint64_t transferred_ = 0;
  std::uint64_t to_transfer_ = 0;  // 0: not known
  std::uint64_t unsynced_ = 0;     // of the file
  bool can_be_base_ = false;       // of the append-only file
  RdbSum sum_;                     // of the file so far
};

}  // namespace mayfly
