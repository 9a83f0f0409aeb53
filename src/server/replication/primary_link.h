// SPDX-License-Identifier: Apache-2.0
// PrimaryLink: a replica's connection to the server it follows.
//
//   waiting -> connecting -> greeting -> transfer -> loading -> streaming
//                                 \_______ it can go on ________/
//
// When the connection breaks, it begins anew, and asks to go on where it was. While the data set
// comes it goes into a file, then it is loaded in slices; clients hear LOADING meanwhile.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/time.h"
#include "net/transport.h"
#include "persist/disk/disk.h"

namespace mayfly {

class Client;
class Server;

enum class LinkState { waiting, connecting, greeting, transfer, loading, streaming };

class PrimaryLink {
 public:
  // `takes_over`: the other one is asked to be the primary (FAILOVER).
  PrimaryLink(Server& server, std::string host, int port, std::uint64_t number, bool takes_over);
  ~PrimaryLink();

  const std::string& host() const { return host_; }
  int port() const { return port_; }
  std::uint64_t number() const { return number_; }  // tells it from earlier ones
  LinkState state() const { return state_; }
  bool is_up() const { return state_ == LinkState::streaming; }
  Time heard() const { return heard_; }            // of the primary, anything
  Time down_since() const { return down_since_; }  // if it is not up
  std::uint64_t transferred_bytes() const { return transferred_; }
  std::uint64_t bytes_to_transfer() const { return to_transfer_; }  // 0: not known
  Client* client() { return client_.get(); }

  // The database that the stream is about at the moment.
  int database() const;
  void set_database(int database) { database_ = database; }

  // Bytes of the stream that were applied go to the log; those of a transaction when it is
  // complete, for nobody can go on in the middle of one.
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

  // primary_greeting.cc
  void say_next();
  std::vector<std::string> words_of_step() const;
  bool read_line(InputBuffer& input, std::string& line);
  void greeted(std::string_view line);
  void synchronise(std::string_view line);

  // primary_transfer.cc
  void begin_transfer(std::string_view id, std::uint64_t offset);
  void transfer_header(std::string_view line);
  void transfer(InputBuffer& input);
  bool store(std::string_view bytes);
  void load();
  void loaded(const Status& status);
  std::string file_path() const;

  Server& server_;
  const std::string host_;
  const int port_;
  const std::uint64_t number_;
  bool takes_over_;

  LinkState state_ = LinkState::waiting;
  Link* link_ = nullptr;
  std::unique_ptr<Client> client_;  // while streaming
  Time next_attempt_ = Time::min();
  Time heard_ = Time::min();
  Time down_since_;
  Time next_ack_ = Time::min();
  bool owes_ack_ = false;
  int database_ = 0;
  std::string held_;               // of a transaction
  std::uint64_t safe_offset_ = 0;  // of the stream: on our own disk

  int step_ = 0;  // of the greeting

  // While the data set comes.
  std::string new_id_;
  std::uint64_t new_offset_ = 0;
  bool has_header_ = false;
  std::string mark_;  // that ends it, if its length is not known
  std::string tail_;  // what may be part of the mark
  std::unique_ptr<DiskFile> file_;
  std::uint64_t transferred_ = 0;
  std::uint64_t to_transfer_ = 0;  // 0: not known
};

}  // namespace mayfly
