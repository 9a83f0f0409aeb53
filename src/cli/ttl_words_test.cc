// SPDX-License-Identifier: Apache-2.0
// TTLs and moments, as people write them.
#include "cli/ttl_words.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace mayfly {
namespace ttl_words_test {

using namespace std::chrono_literals;

constexpr Time kNow = std::chrono::sys_days(std::chrono::year(2026) / 11 / 15) + 12h;

Time deadline(std::string_view text) {
  const Result<Expiry> expires = parse_expires(text, kNow);
  EXPECT_TRUE(expires) << text;
  return expires ? expires->deadline(kNow, kNever, Millis::max()) : kNever;
}

TEST(TtlWords, UnderstandsDurationsAsPeopleWriteThem) {
  EXPECT_EQ(deadline("90"), kNow + 90s);
  EXPECT_EQ(deadline("90s"), kNow + 90s);
  EXPECT_EQ(deadline("15m"), kNow + 15min);
  EXPECT_EQ(deadline("2h30m"), kNow + 150min);
  EXPECT_EQ(deadline("7d"), kNow + 168h);
  EXPECT_EQ(deadline("1w2d"), kNow + 216h);
  EXPECT_EQ(deadline("250ms"), kNow + 250ms);
  EXPECT_EQ(deadline("1.5h"), kNow + 90min);
  EXPECT_EQ(deadline("0.0001"), kNow + 1ms);  // nothing is ever early
}

TEST(TtlWords, UnderstandsUnitsInMoreLettersAndWithSpaces) {
  for (const char* text : {"30min", "30mins", "30minute", "30 minutes", "30 Min", "30  m"}) {
    EXPECT_EQ(deadline(text), kNow + 30min) << text;
  }
  for (const char* text : {"1hr", "1 hrs", "1hour", "1 hour", "1 Hours", "1 h", "60min"}) {
    EXPECT_EQ(deadline(text), kNow + 1h) << text;
  }
  for (const char* text : {"5sec", "5secs", "5second", "5 seconds", "5 s", "5000 milliseconds"}) {
    EXPECT_EQ(deadline(text), kNow + 5s) << text;
  }
  for (const char* text : {"2w", "2wk", "2wks", "2week", "2 weeks", "14day", "14 days"}) {
    EXPECT_EQ(deadline(text), kNow + 336h) << text;
  }
  for (const char* text : {"20ms", "20msec", "20 msecs", "20millis", "20 millisecond"}) {
    EXPECT_EQ(deadline(text), kNow + 20ms) << text;
  }
  for (const char* text : {"1h30m", "1h 30m", "1 hour 30 minutes", "1hr30min", "1.5 hours"}) {
    EXPECT_EQ(deadline(text), kNow + 90min) << text;
  }
}

TEST(TtlWords, UnderstandsMoments) {
  const Time end = std::chrono::sys_days(std::chrono::year(2026) / 12 / 31) + 23h + 59min;
  EXPECT_EQ(deadline("2026-12-31T23:59Z"), end);
  EXPECT_EQ(deadline("2026-12-31 23:59:00Z"), end);
  EXPECT_EQ(deadline("2027-01-01T00:59+01:00"), end);
  EXPECT_EQ(deadline("2026-12-31T23:59:07.125Z"), end + 7125ms);
}

TEST(TtlWords, AMomentWithoutAZoneIsLocal) {
  ASSERT_EQ(setenv("TZ", "UTC-2", 1), 0);  // POSIX: two hours ahead of UTC
  tzset();
  EXPECT_EQ(moment_text(deadline("2026-12-31")), "2026-12-30T22:00:00.000Z");
  EXPECT_EQ(moment_text(deadline("2026-12-31T10:00")), "2026-12-31T08:00:00.000Z");
}

TEST(TtlWords, RefusesWhatIsNoTime) {
  for (const char* text : {"",
                           "abc",
                           "-5",
                           "5x",
                           "5m2h",
                           "5m5m",
                           "1h ",
                           "2026-13-01",
                           "nan",
                           "5M",
                           "1mo",
                           "1y",
                           "5ss",
                           "5mss",
                           "5 min 2 hours",
                           "1 hour, 5 min",
                           "1h 30",
                           "5 ",
                           " 5m",
                           "2026-12-31T25:00Z",
                           "2026-12-31T10:00+99:00",
                           "2026-12-31T1"}) {
    EXPECT_FALSE(parse_expires(text, kNow)) << text;
  }
  EXPECT_EQ(parse_expires("soon", kNow).error().message,
            "invalid time 'soon' (use 90s, 15m, 2h30m, 7d or 2099-12-31T23:59Z)");
}

TEST(TtlWords, RefusesWhatWouldBeGoneAtOnce) {
  EXPECT_EQ(parse_expires("0", kNow).error().message, "TTL must be greater than 0, not '0'");
  EXPECT_EQ(parse_expires("2020-01-01T00:00Z", kNow).error().message,
            "time '2020-01-01T00:00Z' is in the past (now is 2026-11-15T12:00:00.000Z)");
  EXPECT_EQ(*parse_moment("2020-01-01T00:00Z", kNow),
            std::chrono::sys_days(std::chrono::year(2020) / 1 / 1));
}

TEST(TtlWords, SaysWhatIsLeftInTwoUnits) {
  EXPECT_EQ(time_left_text(250ms), "0.250s");
  EXPECT_EQ(time_left_text(59s), "59.000s");
  EXPECT_EQ(time_left_text(150min), "2h 30m");
  EXPECT_EQ(time_left_text(168h), "1w");
  EXPECT_EQ(time_left_text(75s), "1m 15s");
  EXPECT_EQ(moment_text(kNever), "never");
}

}  // namespace ttl_words_test
}  // namespace mayfly
