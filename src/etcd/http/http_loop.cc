// SPDX-License-Identifier: Apache-2.0
#include "etcd/http/http_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace mayfly {
namespace {

constexpr std::size_t kBodyBytesMax = 64u << 20;
constexpr long kConnectionsMax = 16;
constexpr long kTcpKeepaliveSeconds = 5;
constexpr Millis kLongestWait{60'000};

std::string system_error_text(int number) {
  std::string text = std::strerror(number);  // NOLINT(concurrency-mt-unsafe): glibc's is safe
  if (!text.empty() && text.front() >= 'A' && text.front() <= 'Z') text.front() += 'a' - 'A';
  return text;
}

}  // namespace

struct HttpLoop::Transfer {
  const CurlLibrary& curl;
  HttpCall request;
  OnReply on_reply;
  Id id = 0;
  CURL* easy = nullptr;
  curl_slist* headers = nullptr;
  std::size_t body_sent = 0;
  std::string received;
  std::array<char, CURL_ERROR_SIZE> error{};

  Transfer(const CurlLibrary& the_curl, HttpCall the_request, OnReply the_on_reply)
      : curl(the_curl), request(std::move(the_request)), on_reply(std::move(the_on_reply)) {}
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer() {
    if (easy != nullptr) curl.easy_cleanup(easy);
    curl.slist_free_all(headers);
  }

  static std::size_t send(char* to, std::size_t size, std::size_t count, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    const std::string& body = transfer.request.body;
    const std::size_t bytes = std::min(size * count, body.size() - transfer.body_sent);
    transfer.body_sent += body.copy(to, bytes, transfer.body_sent);
    return bytes;
  }

  // To send the body again would be to repeat the request.
  static int rewind(void*, curl_off_t, int) { return CURL_SEEKFUNC_FAIL; }

  static std::size_t receive(char* from, std::size_t size, std::size_t count, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    const std::size_t bytes = size * count;
    if (transfer.received.size() + bytes > kBodyBytesMax) return 0;  // an error, for libcurl
    transfer.received.append(from, bytes);
    return bytes;
  }
};

HttpLoop::HttpLoop(const CurlLibrary& curl, HttpTls tls)
    : curl_(curl), tls_(std::move(tls)), multi_(curl.multi_init()) {
  if (multi_ == nullptr) throw std::bad_alloc();
  curl_.multi_setopt(multi_, CURLMOPT_MAXCONNECTS, kConnectionsMax);
}

HttpLoop::~HttpLoop() {
  cancel_all();
  curl_.multi_cleanup(multi_);
}

HttpLoop::Id HttpLoop::post(HttpCall request, OnReply on_reply) {
  auto transfer = std::make_unique<Transfer>(curl_, std::move(request), std::move(on_reply));
  transfer->id = ++last_id_;
  transfer->easy = curl_.easy_init();
  if (transfer->easy == nullptr) throw std::bad_alloc();
  set_options(*transfer);
  curl_.multi_add_handle(multi_, transfer->easy);
  const Id id = transfer->id;
  transfers_.emplace(id, std::move(transfer));
  return id;
}

void HttpLoop::set_options(Transfer& transfer) {
  const HttpCall& request = transfer.request;
  const auto set = [&](CURLoption option, auto value) {
    curl_.easy_setopt(transfer.easy, option, value);
  };
  const auto add_header = [&](const char* header) {
    curl_slist* const longer = curl_.slist_append(transfer.headers, header);
    if (longer != nullptr) transfer.headers = longer;
  };
  add_header("Content-Type: application/json");
  add_header("Expect:");  // never wait for "100 Continue"
  for (const std::string& header : request.headers) add_header(header.c_str());

  set(CURLOPT_PRIVATE, &transfer);
  set(CURLOPT_ERRORBUFFER, transfer.error.data());
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_PROXY, "");
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_TCP_KEEPIDLE, kTcpKeepaliveSeconds);
  set(CURLOPT_TCP_KEEPINTVL, kTcpKeepaliveSeconds);
  set(CURLOPT_URL, request.url.c_str());
  set(CURLOPT_HTTPHEADER, transfer.headers);
  set(CURLOPT_POST, 1L);
  set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  set(CURLOPT_READFUNCTION, &Transfer::send);
  set(CURLOPT_READDATA, &transfer);
  set(CURLOPT_SEEKFUNCTION, &Transfer::rewind);
  set(CURLOPT_WRITEFUNCTION, &Transfer::receive);
  set(CURLOPT_WRITEDATA, &transfer);
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.count()));
  if (request.connect_timeout > Millis(0)) {
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.connect_timeout.count()));
  }
  if (!tls_.ca.empty()) set(CURLOPT_CAINFO, tls_.ca.c_str());
  if (!tls_.cert.empty()) set(CURLOPT_SSLCERT, tls_.cert.c_str());
  if (!tls_.key.empty()) set(CURLOPT_SSLKEY, tls_.key.c_str());
}

HttpLoop::Id HttpLoop::after(Millis delay, std::function<void()> act) {
  const Id id = ++last_id_;
  timers_.emplace(id, Timer{deadline_after(now(), delay), std::move(act)});
  return id;
}

void HttpLoop::cancel(Id id) {
  timers_.erase(id);
  const auto found = transfers_.find(id);
  if (found == transfers_.end()) return;
  curl_.multi_remove_handle(multi_, found->second->easy);
  transfers_.erase(found);
}

void HttpLoop::cancel_all() {
  timers_.clear();
  while (!transfers_.empty()) cancel(transfers_.begin()->first);
}

void HttpLoop::run_once() {
  curl_.multi_poll(multi_, nullptr, 0, wait_ms(), nullptr);
  int running = 0;
  curl_.multi_perform(multi_, &running);
  hand_out_data();
  hand_out_replies();
  run_timers();
}

void HttpLoop::wake() { curl_.multi_wakeup(multi_); }

int HttpLoop::wait_ms() const {
  Time first = kNever;
  for (const auto& [id, timer] : timers_) first = std::min(first, timer.deadline);
  if (first == kNever) return static_cast<int>(kLongestWait.count());
  return static_cast<int>(std::min(kLongestWait, remaining(first, now())).count());
}

void HttpLoop::run_timers() {
  std::vector<Id> due;
  const Time time = now();
  for (const auto& [id, timer] : timers_) {
    if (is_due(timer.deadline, time)) due.push_back(id);
  }
  for (const Id id : due) {
    auto timer = timers_.extract(id);
    if (!timer.empty()) timer.mapped().act();  // else another one has cancelled it
  }
}

// Not from within libcurl's callback: there, nothing may be cancelled.
void HttpLoop::hand_out_data() {
  std::vector<Id> ready;
  for (const auto& [id, transfer] : transfers_) {
    if (transfer->request.on_data != nullptr && !transfer->received.empty()) ready.push_back(id);
  }
  for (const Id id : ready) {
    const auto found = transfers_.find(id);
    if (found == transfers_.end()) continue;
    const std::string data = std::exchange(found->second->received, {});
    const auto on_data = found->second->request.on_data;  // it may cancel the transfer that has it
    on_data(data);
  }
}

void HttpLoop::hand_out_replies() {
  int left = 0;
  while (CURLMsg* const message = curl_.multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    Transfer* pointer = nullptr;
    curl_.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &pointer);
    auto node = transfers_.extract(pointer->id);
    Transfer& transfer = *node.mapped();
    curl_.multi_remove_handle(multi_, transfer.easy);
    HttpReply reply = reply_of(transfer, code);
    transfer.on_reply(std::move(reply));
  }
}

HttpReply HttpLoop::reply_of(Transfer& transfer, CURLcode code) {
  HttpReply reply;
  if (code == CURLE_OK) {
    reply.outcome = HttpReply::Outcome::answered;
    curl_.easy_getinfo(transfer.easy, CURLINFO_RESPONSE_CODE, &reply.status);
    reply.body = std::move(transfer.received);
    return reply;
  }
  long bytes_sent = 0;
  curl_.easy_getinfo(transfer.easy, CURLINFO_REQUEST_SIZE, &bytes_sent);
  reply.outcome = bytes_sent == 0 && transfer.body_sent == 0 ? HttpReply::Outcome::not_sent
                                                             : HttpReply::Outcome::lost;
  reply.error = error_of(transfer, code);
  return reply;
}

std::string HttpLoop::error_of(Transfer& transfer, CURLcode code) {
  const std::string detail =
      transfer.error.front() == '\0' ? curl_.easy_strerror(code) : transfer.error.data();
  switch (code) {
    case CURLE_COULDNT_CONNECT: {
      long number = 0;
      curl_.easy_getinfo(transfer.easy, CURLINFO_OS_ERRNO, &number);
      return number == 0 ? detail : system_error_text(static_cast<int>(number));
    }
    case CURLE_OPERATION_TIMEDOUT:
      return fmt::format("no answer in {} ms", transfer.request.timeout.count());
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_PARTIAL_FILE:
    case CURLE_SEND_FAIL_REWIND:
      return "the connection was lost";
    case CURLE_PEER_FAILED_VERIFICATION:
      return detail + " (is its certificate right? see cluster-etcd-ca)";
    case CURLE_SSL_CACERT_BADFILE:
      return fmt::format("cannot read the certificates of {} (see cluster-etcd-ca)", tls_.ca);
    case CURLE_SSL_CERTPROBLEM:
      return detail + " (see cluster-etcd-cert and cluster-etcd-key)";
    default:
      return detail;
  }
}

}  // namespace mayfly
