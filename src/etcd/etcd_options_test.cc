// SPDX-License-Identifier: Apache-2.0
// The small parts: options, the loading of libcurl, the meter.

#include "etcd/etcd_options.h"

#include <gtest/gtest.h>

#include <string>

#include "etcd/etcd_meter.h"
#include "etcd/etcd_register.h"
#include "etcd/http/curl_library.h"

namespace mayfly {
namespace {

TEST(EtcdOptions, TakesAListOfUrls) {
  const auto list = parse_etcd_endpoints("http://a:2379, https://[::1]:2379/");

  ASSERT_TRUE(list);
  EXPECT_EQ(*list, (std::vector<std::string>{"http://a:2379", "https://[::1]:2379"}));
}

TEST(EtcdOptions, RefusesWhatIsNoUrl) {
  for (const std::string_view list : {"", "a:2379", "http://", "http://a,", "ftp://a",
                                      "http://a/path", "http://user@a", "http://a b"}) {
    EXPECT_FALSE(parse_etcd_endpoints(list)) << list;
  }
}

TEST(EtcdOptions, AreCheckedBeforeAThreadIsStarted) {
  EtcdOptions options{.endpoints = {"http://127.0.0.1:1"}, .prefix = etcd_prefix("main")};
  EXPECT_EQ(options.prefix, "/mayfly/main/");
  EXPECT_TRUE(check(options));

  options.cert = "client.pem";
  EXPECT_FALSE(open_etcd_register(options, [] {}));
  options.cert.clear();
  options.endpoints = {"a"};
  EXPECT_FALSE(open_etcd_register(options, [] {}));
  options.endpoints.clear();
  EXPECT_FALSE(open_etcd_register(options, [] {}));
}

TEST(CurlLibrary, ThatIsNotThereIsNamedWithItsPackage) {
  const auto library = load_curl_library("libcurl-that-is-not-there.so.4");

  ASSERT_FALSE(library);
  EXPECT_TRUE(library.error().message.starts_with("cannot load libcurl-that-is-not-there.so.4: "));
  EXPECT_TRUE(library.error().message.ends_with("(install the package libcurl4)"));
}

TEST(CurlLibrary, ThatIsAnotherLibraryIsRefused) {
  const auto library = load_curl_library("libm.so.6");

  ASSERT_FALSE(library);
  EXPECT_NE(library.error().message.find("it has no curl_"), std::string::npos);
}

TEST(EtcdMeter, HasTheLastLatenciesAndTheLastError) {
  EtcdMeter meter;
  EXPECT_FALSE(meter.stats().is_connected);
  for (int i = 0; i < 1000; ++i) meter.add_answer(1000);
  for (int i = 1; i <= 256; ++i) meter.add_answer(i);
  EXPECT_TRUE(meter.stats().is_connected);
  EXPECT_EQ(meter.stats().latency_ms_p50, 129);
  EXPECT_EQ(meter.stats().latency_ms_p99, 254);

  meter.add_failure("gone");
  EXPECT_FALSE(meter.stats().is_connected);
  EXPECT_EQ(meter.stats().error, "gone");
}

}  // namespace
}  // namespace mayfly
