// SPDX-License-Identifier: Apache-2.0
// HTTP without sockets: what is answered, what is refused, and how long things last.

#include "server/http/http_server.h"

#include <gtest/gtest.h>

#include "server/core/server_fixture.h"
#include "server/http/http_connection.h"
#include "server/http/http_files.h"
#include "server/http/http_origin.h"
#include "server/http/reply_json.h"
#include "text/byte_text.h"

namespace mayfly {
namespace {

using namespace std::chrono_literals;

constexpr HttpFile kTestFiles[] = {
    {"/index.html", "text/html; charset=utf-8", "\"e1\"", "<p>page", "zip"},
    {"/app.js", "text/javascript; charset=utf-8", "\"e2\"", "js", ""}};

class HttpFixture : public ServerFixture {
 public:
  using ServerFixture::ServerFixture;
  std::span<const HttpFile> web_files() const override { return kTestFiles; }
  std::int64_t http_port() const override { return port_of_http; }
  std::int64_t port_of_http = 0;
};

class HttpClient {
 public:
  explicit HttpClient(ServerFixture& server, const std::string& address = "127.0.0.1:6000")
      : link_(address), peer_(server.server().accept_http(link_)) {}
  ~HttpClient() {
    if (peer_) peer_->closed("the test ends");
  }

  // The whole response; the loop has sent it.
  std::string send(std::string_view bytes) {
    arrive(link_, peer_.get(), bytes);
    return take();
  }
  std::string take() {
    std::string out = std::exchange(link_.output_, {});
    if (!out.empty() && peer_ && reads) peer_->drained();
    return out;
  }
  std::string get(const std::string& path, const std::string& headers = "") {
    return send("GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1:8379\r\n" + headers + "\r\n");
  }
  std::string post(const std::string& path, const std::string& body,
                   const std::string& headers = "X-Mayfly: console\r\n") {
    return send("POST " + path + " HTTP/1.1\r\nHost: 127.0.0.1:8379\r\n" + headers +
                "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  std::string command(const std::string& body, const std::string& cookie = "") {
    return body_of(post("/api/command", body, "X-Mayfly: console\r\nCookie: " + cookie + "\r\n"));
  }
  static std::string body_of(const std::string& response) {
    return response.substr(response.find("\r\n\r\n") + 4);
  }
  static int status_of(const std::string& response) {
    return response.empty() ? 0 : std::stoi(response.substr(9, 3));
  }

  TestLink& link() { return link_; }
  Peer* peer() { return peer_.get(); }
  bool reads = true;

 private:
  TestLink link_;
  std::unique_ptr<Peer> peer_;
};

int status(const std::string& response) { return HttpClient::status_of(response); }

std::string cookie_of(const std::string& response) {
  const std::size_t begin = response.find("mayfly_session_");
  return response.substr(begin, response.find(';', begin) - begin);
}

TEST(HttpServerTest, ServesFilesWithTheirEncodingAndEtag) {
  HttpFixture server;
  HttpClient http(server);
  const std::string plain = http.get("/");
  EXPECT_EQ(status(plain), 200);
  EXPECT_NE(plain.find("Content-Type: text/html; charset=utf-8\r\n"), plain.npos);
  EXPECT_TRUE(plain.ends_with("\r\n\r\n<p>page"));
  const std::string zipped = http.get("/", "Accept-Encoding: deflate, gzip\r\n");
  EXPECT_NE(zipped.find("Content-Encoding: gzip\r\n"), zipped.npos);
  EXPECT_TRUE(zipped.ends_with("\r\n\r\nzip"));
  EXPECT_TRUE(http.get("/", "Accept-Encoding: gzip;q=0\r\n").ends_with("<p>page"));
  EXPECT_TRUE(http.get("/app.js", "Accept-Encoding: gzip\r\n").ends_with("\r\n\r\njs"));
  EXPECT_EQ(status(http.get("/app.js", "If-None-Match: \"e2\"\r\n")), 304);
  EXPECT_EQ(status(http.get("/../etc/passwd")), 404);
  EXPECT_EQ(status(http.post("/", "")), 405);
  ServerFixture without;
  HttpClient other(without);
  EXPECT_NE(other.get("/").find("without the web console"), std::string::npos);
}

TEST(HttpServerTest, RunsCommandsAsAnyClientDoes) {
  HttpFixture server;
  HttpClient http(server);
  EXPECT_EQ(http.command(R"({"db":1,"commands":[["SET","a",5],["GET","a"],["DBSIZE"]]})"),
            R"({"replies":[{"ok":"OK"},{"ok":"5"},{"ok":1}]})"
            "\n");
  EXPECT_EQ(server.propagated, (std::vector<std::string>{"1: SET a 5"}));
  TestClient& client = server.connect();
  EXPECT_EQ(client.run("GET a"), "(nil)");
  EXPECT_EQ(client.run("MONITOR"), "OK");
  EXPECT_EQ(http.command(R"({"commands":[["HSET","h","f",{"$base64":"/w=="}],["HGETALL","h"]]})"),
            R"({"replies":[{"ok":1},{"ok":{"f":{"$base64":"/w=="}}}]})"
            "\n");
  EXPECT_NE(client.messages().find("\"HGETALL\" \"h\""), std::string::npos);
  EXPECT_EQ(server.server().parts().clients.all().size(), 1u);
}

TEST(HttpServerTest, ShowsWhatExpired) {
  HttpFixture server;
  HttpClient http(server);
  const auto expired = [&](const std::string& query) {
    return HttpClient::body_of(http.get("/api/expired" + query, "X-Mayfly: console\r\n"));
  };
  EXPECT_EQ(expired(""), "{\"last\":0,\"expired\":[]}\n");  // from now on they are kept
  server.sweep();
  TestClient& client = server.connect();
  EXPECT_EQ(client.run("SET a b PX 10"), "OK");
  EXPECT_EQ(client.run("HSETEX h PX 20 FIELDS 1 f v"), "(integer) 1");
  server.advance(30ms);
  server.sweep();
  const std::string all = expired("?since=0");
  EXPECT_TRUE(all.starts_with(R"({"last":2,"expired":[{"seq":1,"db":0,"key":"a","member":null,)"
                              R"("type":"string","deadline":)"))
      << all;
  EXPECT_NE(all.find(R"("how":"sweep"})"), all.npos) << all;
  EXPECT_NE(all.find(R"({"seq":2,"db":0,"key":"h","member":"f","type":"hash")"), all.npos) << all;
  EXPECT_EQ(expired("?since=2"), "{\"last\":2,\"expired\":[]}\n");
  EXPECT_EQ(expired("?since=18446744073709551615"), "{\"last\":2,\"expired\":[]}\n");
  EXPECT_EQ(status(http.get("/api/expired?since=x", "X-Mayfly: console\r\n")), 400);
}

TEST(HttpServerTest, NeverLetsTheConsoleWait) {
  HttpFixture server;
  HttpClient http(server);
  EXPECT_EQ(http.command(R"({"commands":[["BLPOP","q",0],["WAIT",1,0],["PING"]]})"),
            R"({"replies":[{"ok":null},{"ok":0},{"ok":"PONG"}]})"
            "\n");
  TestClient& client = server.connect();
  EXPECT_EQ(client.run("CLIENT PAUSE 10000 WRITE"), "OK");
  EXPECT_NE(http.command(R"({"commands":[["SET","a","b"]]})").find("clients are paused"),
            std::string::npos);
  EXPECT_EQ(server.server().parts().blocked.size(), 0u);
}

TEST(HttpServerTest, RefusesWhatChangesAConnection) {
  HttpFixture server;
  HttpClient http(server);
  for (const char* const command : {"MULTI", "EXEC", "SUBSCRIBE", "MONITOR", "PSYNC", "HELLO",
                                    "AUTH", "RESET", "QUIT", "WATCH", "SHUTDOWN"}) {
    const std::string reply =
        http.command(std::string(R"({"commands":[[")") + command + "\",\"a\"]]}");
    EXPECT_NE(reply.find("refused"), std::string::npos) << command << reply;
  }
  for (const char* const part : {"REPLY", "TRACKING", "SETNAME", "NO-EVICT"}) {
    const std::string reply =
        http.command(std::string(R"({"commands":[["CLIENT",")") + part + "\",\"ON\"]]}");
    EXPECT_NE(reply.find("refused"), std::string::npos) << part << reply;
  }
  EXPECT_FALSE(server.is_shut_down);
}

TEST(HttpServerTest, SaysWhatIsWrongWithABody) {
  HttpFixture server;
  HttpClient http(server);
  for (const char* const body :
       {"", "[]", "{}", R"({"commands":[[]]})", R"({"commands":["PING"]})",
        R"({"commands":[["GET",null]]})", R"({"db":16,"commands":[]})",
        R"({"db":"0","commands":[]})", R"({"commands":[["GET",{"$base64":"%"}]]})"}) {
    const std::string response = http.post("/api/command", body);
    EXPECT_EQ(status(response), 400) << body;
    EXPECT_TRUE(HttpClient::body_of(response).starts_with("{\"error\":\"")) << response;
  }
  std::string many = R"({"commands":[["PING"])";
  for (int i = 0; i < 128; ++i) many += R"(,["PING"])";
  EXPECT_EQ(status(http.post("/api/command", many + "]}")), 400);
}

TEST(HttpServerTest, BoundsReplies) {
  HttpFixture server;
  HttpClient http(server);
  EXPECT_NE(http.command(R"({"commands":[["SETRANGE","a",9000000,"x"],["GET","a"],["PING"]]})")
                .find(R"({"error":"ERR the reply is too large)"),
            std::string::npos);
}

TEST(HttpServerTest, RefusesOtherOriginsAndNames) {
  HttpFixture server;
  HttpClient http(server);
  const std::string own = "X-Mayfly: console\r\n";
  EXPECT_EQ(status(http.get("/api/session", own)), 200);
  EXPECT_EQ(status(http.get("/api/session")), 403);
  EXPECT_EQ(status(http.get("/api/session", own + "Origin: http://127.0.0.1:8379\r\n")), 200);
  EXPECT_EQ(status(http.get("/api/session", own + "Origin: http://evil.example\r\n")), 403);
  EXPECT_EQ(status(http.get("/api/session", own + "Origin: null\r\n")), 403);
  EXPECT_EQ(status(http.get("/api/session", own + "Sec-Fetch-Site: same-origin\r\n")), 200);
  EXPECT_EQ(status(http.get("/api/session", own + "Sec-Fetch-Site: cross-site\r\n")), 403);
  EXPECT_EQ(status(http.send("OPTIONS /api/command HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")), 403);
  const auto by_name = [&](const std::string& host, const std::string& path) {
    return status(http.send("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n"));
  };
  EXPECT_EQ(by_name("evil.example", "/"), 421);
  EXPECT_EQ(by_name("evil.example", "/metrics"), 421);
  const std::string basic = "\r\nAuthorization: Basic " + base64("default:");
  EXPECT_EQ(by_name("evil.example" + basic, "/metrics"), 421);
  EXPECT_EQ(by_name("127.0.0.1" + basic, "/metrics"), 200);
  server.server().parts().config.requirepass = "secret";
  const std::string right = "\r\nAuthorization: Basic " + base64("default:secret");
  EXPECT_EQ(by_name("evil.example" + right, "/metrics"), 421);
  EXPECT_EQ(by_name("127.0.0.1" + right, "/metrics"), 200);
  server.server().parts().config.requirepass = "";
  EXPECT_EQ(by_name("evil.example", "/health"), 200);
  EXPECT_EQ(by_name("[::1]:8379", "/"), 200);
  server.server().parts().config.http_hosts = {"Cache.example"};
  EXPECT_EQ(by_name("cache.EXAMPLE:80", "/"), 200);
  for (const char* const host : {"", "a", "localhost.evil", "127.0.0.1.evil", "[::1", "1:x"}) {
    EXPECT_FALSE(is_known_host(host, {})) << host;
  }
}

TEST(HttpServerTest, ServesOtherMachinesOnlyWithAPassword) {
  HttpFixture server;
  HttpClient http(server, "10.0.0.9:700");
  EXPECT_EQ(status(http.get("/health")), 200);
  EXPECT_EQ(status(http.get("/")), 403);
  EXPECT_EQ(status(http.get("/metrics")), 403);
  server.server().parts().config.requirepass = "secret";
  EXPECT_EQ(status(http.get("/")), 200);
  const std::string asked = http.get("/metrics");
  EXPECT_EQ(status(asked), 401);
  EXPECT_NE(asked.find("WWW-Authenticate: Basic"), asked.npos);
  const auto basic = [&](const std::string& text) {
    return status(http.get("/metrics", "Authorization: Basic " + base64(text) + "\r\n"));
  };
  EXPECT_EQ(basic("default:secret"), 200);
  EXPECT_EQ(basic(":secret"), 200);
  EXPECT_EQ(basic("other:secret"), 401);
  EXPECT_EQ(basic("default:wrong"), 401);
  HttpClient local(server);
  EXPECT_EQ(status(local.get("/metrics")), 200);
}

TEST(HttpServerTest, SessionsEnd) {
  Config config;
  config.requirepass = "secret";
  HttpFixture server(config);
  HttpClient http(server);
  EXPECT_EQ(status(http.post("/api/command", R"({"commands":[["PING"]]})")), 401);
  EXPECT_EQ(status(http.post("/api/login", R"({"password":"wrong"})")), 401);
  const auto log_in = [&] {
    return cookie_of(http.post("/api/login", R"({"password":"secret"})"));
  };
  const auto works = [&](const std::string& cookie) {
    return http.command(R"({"commands":[["PING"]]})", cookie).find("PONG") != std::string::npos;
  };
  const std::string response = http.post("/api/login", R"({"password":"secret"})");
  EXPECT_EQ(status(response), 204);
  EXPECT_NE(response.find("; Path=/; HttpOnly; SameSite=Strict"), response.npos);
  std::string cookie = cookie_of(response);
  EXPECT_EQ(cookie.size(), std::string("mayfly_session_0=").size() + 64);
  EXPECT_TRUE(works("other=1; " + cookie));
  EXPECT_FALSE(works("mayfly_session_0="));
  server.advance(59min);
  EXPECT_TRUE(works(cookie));
  server.advance(60min);
  EXPECT_FALSE(works(cookie));  // it idled
  cookie = log_in();
  for (int i = 0; i < 24; ++i) {
    EXPECT_TRUE(works(cookie)) << i;
    server.advance(30min);
  }
  EXPECT_FALSE(works(cookie));  // 12 hours
  cookie = log_in();
  EXPECT_EQ(status(http.post("/api/logout", "", "X-Mayfly: console\r\nCookie: " + cookie + "\r\n")),
            204);
  EXPECT_FALSE(works(cookie));
  cookie = log_in();
  server.server().parts().config.requirepass = "other";
  EXPECT_FALSE(works(cookie));
  server.server().parts().config.requirepass = "secret";
  EXPECT_FALSE(works(cookie));
}

TEST(HttpServerTest, HasACookieForEachPort) {
  Config config;
  config.requirepass = "secret";
  HttpFixture server(config);
  server.port_of_http = 8379;
  HttpClient http(server);
  const std::string cookie = cookie_of(http.post("/api/login", R"({"password":"secret"})"));
  EXPECT_TRUE(cookie.starts_with("mayfly_session_8379=")) << cookie;
  HttpFixture other(config);
  other.port_of_http = 8380;
  HttpClient second(other);
  const std::string its = cookie_of(second.post("/api/login", R"({"password":"secret"})"));
  const std::string ping = R"({"commands":[["PING"]]})";
  for (const std::string& both : {cookie + "; " + its, its + "; " + cookie}) {
    EXPECT_NE(http.command(ping, both).find("PONG"), std::string::npos) << both;
    EXPECT_NE(second.command(ping, both).find("PONG"), std::string::npos) << both;
  }
}

TEST(HttpServerTest, SlowsDownThoseWhoGuess) {
  Config config;
  config.requirepass = "secret";
  HttpFixture server(config);
  HttpClient http(server);
  const auto try_once = [&](HttpClient& from, const char* password) {
    return status(from.post("/api/login", std::string(R"({"password":")") + password + "\"}"));
  };
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(try_once(http, "wrong"), 401) << i;
    EXPECT_EQ(status(http.get("/metrics", "Authorization: Basic " + base64("a:b") + "\r\n")), 401);
  }
  EXPECT_EQ(try_once(http, "secret"), 0);  // not yet
  EXPECT_TRUE(http.link().paused());
  HttpClient other(server, "127.0.0.2:1");
  EXPECT_EQ(try_once(other, "secret"), 204);
  TestClient& resp = server.connect();
  EXPECT_EQ(resp.run("AUTH secret"), "");  // the tokens are shared
  server.advance(1s);
  server.sweep();
  EXPECT_FALSE(http.link().paused());
  http.peer()->received(http.link().input_);
  EXPECT_EQ(status(http.take()), 204);
  EXPECT_EQ(resp.resume(), "+OK\r\n");
  EXPECT_EQ(status(http.get("/health")), 200);
}

TEST(HttpServerTest, SessionsAreBounded) {
  HttpSessions sessions;
  Config config;
  config.requirepass = "secret";
  const Time now(Millis(1'700'000'000'000));
  const std::string first = sessions.begin(config, now);
  for (int i = 1; i <= 64; ++i) {
    EXPECT_FALSE(sessions.begin(config, now + Millis(i)).empty());
  }
  EXPECT_EQ(sessions.size(), HttpSessions::kSessionsMost);
  EXPECT_FALSE(sessions.is_logged_in(first, config, now + Millis(65)));
}

TEST(HttpServerTest, ReadyMeansThatDataCanBeServed) {
  HttpFixture server;
  HttpClient http(server);
  EXPECT_EQ(status(http.get("/ready")), 200);
  TestClient& client = server.connect();
  EXPECT_EQ(client.run("REPLICAOF 127.0.0.1 1"), "OK");
  EXPECT_EQ(status(http.get("/ready")), 200);
  EXPECT_NE(http.get("/api/session", "X-Mayfly: console\r\n").find("\"read_only\":true"),
            std::string::npos);
  server.server().parts().config.replica_serve_stale_data = false;
  const std::string stale = http.get("/ready");
  EXPECT_EQ(status(stale), 503);
  EXPECT_NE(stale.find("stale"), stale.npos);
  EXPECT_EQ(status(http.get("/health")), 200);
}

TEST(HttpServerTest, ClosesSlowAndIdleConnections) {
  HttpFixture server;
  HttpClient idle(server);
  HttpClient slow(server);
  HttpClient stuck(server);
  stuck.reads = false;
  EXPECT_EQ(slow.send("GET / HT"), "");
  EXPECT_EQ(status(stuck.get("/health")), 200);
  const auto wait = [&](Millis time) {
    server.advance(time);
    server.sweep();
  };
  HttpClient body(server);
  EXPECT_EQ(body.send("POST /api/login HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Mayfly: console\r\n"
                      "Content-Length: 10\r\n\r\n"),
            "");
  wait(4900ms);
  EXPECT_FALSE(slow.link().closing());
  wait(100ms);
  EXPECT_EQ(status(slow.take()), 408);
  EXPECT_TRUE(slow.link().closing());
  wait(14900ms);
  EXPECT_FALSE(body.link().closing());
  wait(100ms);
  EXPECT_EQ(status(body.take()), 408);
  wait(11s);
  EXPECT_TRUE(stuck.link().closing());
  EXPECT_FALSE(idle.link().closing());
  wait(30s);
  EXPECT_TRUE(idle.link().closing());
}

TEST(HttpServerTest, AnswersPipelinedRequestsOneByOne) {
  HttpFixture server;
  HttpClient http(server);
  const std::string one = "GET /health HTTP/1.1\r\nHost: a\r\n\r\n";
  http.reads = false;
  EXPECT_EQ(status(http.send(one + one)), 200);
  EXPECT_TRUE(http.link().paused());  // the second one waits until the answer is sent
  EXPECT_EQ(http.take(), "");
  http.peer()->drained();
  http.peer()->received(http.link().input_);
  EXPECT_EQ(status(http.take()), 200);
}

TEST(HttpServerTest, IgnoresTheBodyOfARefusedRequest) {
  HttpFixture server;
  HttpClient http(server);
  EXPECT_EQ(status(http.send("POST /api/command HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                             "Content-Length: 10\r\n\r\nGET")),
            403);
  EXPECT_EQ(http.send(" / HTT"), "");
  EXPECT_EQ(status(http.send("PGET /health HTTP/1.1\r\nHost: a\r\n\r\n")), 200);
}

TEST(HttpServerTest, KeepsNoLongBodyOfStrangers) {
  Config config;
  config.requirepass = "secret";
  HttpFixture server(config);
  for (const char* const path : {"/health", "/metrics", "/", "/api/login"}) {
    HttpClient http(server);
    EXPECT_EQ(status(http.send(std::string("GET ") + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\n" +
                               "X-Mayfly: console\r\nContent-Length: 5000\r\n\r\n" +
                               std::string(4000, 'a'))),
              413)
        << path;
    EXPECT_LT(http.link().input_.capacity(), 4000u);
  }
  HttpClient http(server);
  EXPECT_EQ(status(http.send("POST /api/command HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                             "X-Mayfly: console\r\nContent-Length: 5000\r\n\r\n")),
            401);
}

TEST(HttpServerTest, LimitsConnections) {
  Config config;
  config.http_maxconnections = 2;
  HttpFixture server(config);
  HttpClient first(server);
  HttpClient second(server);
  EXPECT_EQ(second.send("GET"), "");
  HttpClient third(server);
  EXPECT_TRUE(first.link().closing());  // it idled
  EXPECT_EQ(third.send("GET"), "");
  HttpClient fourth(server);
  EXPECT_TRUE(second.link().closing());  // the oldest request that is not complete
  EXPECT_EQ(status(fourth.get("/health")), 200);
}

TEST(ReplyJsonTest, WritesEveryKindOfValue) {
  const auto json = [](std::string_view bytes) {
    std::string out;
    return append_reply_json(out, bytes, 1000) ? out : "(failed)";
  };
  EXPECT_EQ(json("+a\"b\r\n"), R"("a\"b")");
  EXPECT_EQ(json(":9007199254740992\r\n"), "9007199254740992");
  EXPECT_EQ(json(":9007199254740993\r\n"), R"({"$int":"9007199254740993"})");
  EXPECT_EQ(json("(123\r\n"), R"({"$int":"123"})");
  EXPECT_EQ(json("(1\"x\r\n"), R"("1\"x")");
  EXPECT_EQ(json("(1.5\r\n"), R"("1.5")");
  EXPECT_EQ(json(",1.5\r\n"), "1.5");
  EXPECT_EQ(json(",-1e+20\r\n"), "-1e+20");
  EXPECT_EQ(json(",-inf\r\n"), R"("-inf")");
  EXPECT_EQ(json("_\r\n"), "null");
  EXPECT_EQ(json("#t\r\n"), "true");
  EXPECT_EQ(json("=7\r\ntxt:a\nb\r\n"), R"("a\nb")");
  EXPECT_EQ(json("%1\r\n$1\r\nk\r\n*2\r\n:1\r\n~0\r\n"), R"({"k":[1,[]]})");
  EXPECT_EQ(json("%1\r\n:1\r\n+a\r\n"), R"({"$map":[[1,"a"]]})");
  EXPECT_EQ(json("%1\r\n$4\r\n$int\r\n+a\r\n"), R"({"$map":[["$int","a"]]})");
  EXPECT_EQ(json("%1\r\n$1\r\n\xff\r\n+a\r\n"), R"({"$map":[[{"$base64":"/w=="},"a"]]})");
  EXPECT_EQ(json("*1\r\n-ERR x\r\n"), R"([{"error":"ERR x"}])");
  EXPECT_EQ(json("*2\r\n:1\r\n"), "(failed)");
  EXPECT_EQ(json("$1001\r\n" + std::string(1001, 'a') + "\r\n"), "(failed)");
}

}  // namespace
}  // namespace mayfly
