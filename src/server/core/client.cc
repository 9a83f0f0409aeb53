// SPDX-License-Identifier: Apache-2.0
// Taking requests off a connection.

#include "server/core/client.h"

#include "server/core/requests.h"

namespace mayfly {
namespace {

// A pipeline whose replies are larger goes on in the next turn, when they have been written.
constexpr std::size_t kOutputAtOnce = 1 << 20;

// Memory that a client keeps for the next request.
constexpr std::size_t kMessagesKept = 16 * 1024;
constexpr std::size_t kQueueKept = 64;  // requests

constexpr std::size_t kStrangerStep = 1024;  // that the input of a stranger grows by

}  // namespace

Client::Client(Requests& requests, Link& link, std::uint64_t id, Time now,
               const RequestLimits& request_limits)
    : requests_(requests), link_(link), id_(id), parser_(request_limits) {
  info.created = now;
  info.used = now;
}

Client::~Client() = default;

void Client::set_authenticated(bool is) {
  is_authenticated_ = is;
  parser_.limits().authenticated = is;
}

void Client::received(InputBuffer& input) {
  const std::size_t before = input.size();
  const std::size_t waiting_before = link_.pending();
  const auto consume = [&](std::size_t count) {
    if (is_primary) requests_.applied(input.view().substr(0, count));
    if (is_import) import_bytes += count;
    input.consume(count);
  };
  requests_.begin_batch();
  std::size_t looked_ahead = 0;  // for so many requests
  while (!input.empty() && !link_.closing() && !blocked) {
    if (looked_ahead == 0) looked_ahead = requests_.look_ahead(*this, input.view());
    --looked_ahead;
    const Parsed parsed = parser_.parse(input.view());
    if (parsed == Parsed::request) {
      if (!requests_.handle(*this, parser_.words())) {  // it waits for the end of a pause
        parser_.reset();
        limits.is_paused = true;
        link_.pause_reading();
        break;
      }
      consume(parser_.consumed());
      if (link_.pending() > waiting_before + kOutputAtOnce && !blocked) {
        link_.pause_reading();
        link_.resume_reading();  // the rest comes in the next turn
        break;
      }
    } else if (parsed == Parsed::incomplete) {
      consume(parser_.consumed());
      want_more(input);
      break;
    } else {
      input.consume(input.size());
      requests_.refuse_protocol(*this, parser_.error());
      break;
    }
  }
  requests_.end_batch(*this, before - input.size(), input.size());
}

// The rest of a request. Memory grows towards it; for strangers not further than they may go.
void Client::want_more(InputBuffer& input) {
  std::size_t wanted = parser_.wanted();
  if (limits.is_stranger) {
    if (wanted > Strangers::kInputMost || input.size() >= Strangers::kInputMost) {
      input.consume(input.size());
      return requests_.refuse_protocol(*this,
                                       "Protocol error: unauthenticated request is too long");
    }
    if (wanted == 0) wanted = std::min(input.size() + kStrangerStep, Strangers::kInputMost);
  }
  if (wanted > 0) input.want(wanted);
}

void Client::drained() {
  if (is_attached_replica()) requests_.feed_replica(*this);
}

void Client::closed(std::string_view) { requests_.closed(*this); }

void Client::forget() { requests_.forget(*this); }

void Client::check_output() { requests_.check_output(*this); }

void Client::end_request() {
  is_running_ = false;
  if (waiting_messages_.empty()) return;
  output() += waiting_messages_;
  waiting_messages_.clear();
  if (waiting_messages_.capacity() > kMessagesKept) std::string().swap(waiting_messages_);
}

void Client::Transaction::clear_queue() {
  queue.clear();
  if (queue.capacity() > kQueueKept) std::vector<Queued>().swap(queue);
  queued_bytes = 0;
  queued_flags = 0;
  queued_lacks = 0;
  slot = {};
  sees_all = false;
}

void Client::reset(bool is_authenticated) {
  const bool can_redirect = options.can_redirect;
  transaction = {};
  options = {};
  options.can_redirect = can_redirect;
  info.name.clear();
  database_ = 0;
  protocol_ = 2;
  set_authenticated(is_authenticated);
}

}  // namespace mayfly
