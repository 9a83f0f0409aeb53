// SPDX-License-Identifier: Apache-2.0
// Is the text what Prometheus reads, whatever the labels and numbers are?

#include "base/prometheus_text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace mayfly {
namespace prometheus_text_test {

using Limits = std::numeric_limits<double>;

TEST(PrometheusText, AFamilyHasItsHelpItsTypeAndThenItsSamples) {
  PrometheusText metrics;
  metrics.family("a_total", "How many.", MetricType::counter);
  metrics.sample({}, 7);
  metrics.family("b_bytes", "Room, by kind.", MetricType::gauge);
  metrics.sample({{"kind", "x"}, {"db", "0"}}, 1.5);
  const std::vector<MetricLabel> labels = {{"kind", "y"}};
  metrics.sample(labels, 2);
  EXPECT_EQ(metrics.text(),
            "# HELP a_total How many.\n"
            "# TYPE a_total counter\n"
            "a_total 7\n"
            "# HELP b_bytes Room, by kind.\n"
            "# TYPE b_bytes gauge\n"
            "b_bytes{kind=\"x\",db=\"0\"} 1.5\n"
            "b_bytes{kind=\"y\"} 2\n");
}

std::string only_value(auto number) {
  PrometheusText metrics;
  metrics.sample({}, number);
  return metrics.text();
}

TEST(PrometheusText, NumbersAreExact) {
  EXPECT_EQ(only_value(std::uint64_t{UINT64_MAX}), " 18446744073709551615\n");
  EXPECT_EQ(only_value(std::int64_t{INT64_MIN}), " -9223372036854775808\n");
  EXPECT_EQ(only_value(0.1), " 0.1\n");
  EXPECT_EQ(only_value(0.0), " 0\n");
  EXPECT_EQ(only_value(Limits::denorm_min()), " 5e-324\n");
  EXPECT_EQ(only_value(-Limits::max()), " -1.7976931348623157e+308\n");
  EXPECT_EQ(only_value(Limits::infinity()), " +Inf\n");
  EXPECT_EQ(only_value(-Limits::infinity()), " -Inf\n");
  EXPECT_EQ(only_value(Limits::quiet_NaN()), " NaN\n");
}

TEST(PrometheusText, TheCountsOfAHistogramIncludeTheBucketsBefore) {
  PrometheusText metrics;
  metrics.family("late_seconds", "Lateness.", MetricType::histogram);
  const std::vector<MetricBucket> buckets = {{0.001, 2}, {0.5, 0}, {1, 3}};
  metrics.histogram({{"of", "key"}}, buckets, 2.25, 4);
  EXPECT_EQ(metrics.text(),
            "# HELP late_seconds Lateness.\n"
            "# TYPE late_seconds histogram\n"
            "late_seconds_bucket{of=\"key\",le=\"0.001\"} 2\n"
            "late_seconds_bucket{of=\"key\",le=\"0.5\"} 2\n"
            "late_seconds_bucket{of=\"key\",le=\"1\"} 5\n"
            "late_seconds_bucket{of=\"key\",le=\"+Inf\"} 9\n"
            "late_seconds_sum{of=\"key\"} 2.25\n"
            "late_seconds_count{of=\"key\"} 9\n");
}

TEST(PrometheusText, AHistogramHasTheBucketWithoutBoundOnce) {
  PrometheusText metrics;
  const std::vector<MetricBucket> buckets = {{1, 2}, {Limits::infinity(), 3}};
  metrics.histogram({}, buckets, 0);
  EXPECT_EQ(metrics.text(),
            "_bucket{le=\"1\"} 2\n"
            "_bucket{le=\"+Inf\"} 5\n"
            "_sum 0\n"
            "_count 5\n");
}

TEST(PrometheusText, HelpStaysOnItsLine) {
  PrometheusText metrics;
  metrics.family("a", "one\ntwo \\ \"three\"", MetricType::gauge);
  EXPECT_EQ(metrics.text(), "# HELP a one\\ntwo \\\\ \"three\"\n# TYPE a gauge\n");
}

TEST(EscapedLabel, EscapesWhatEndsAValue) {
  EXPECT_EQ(escaped_label("a\\b\"c\nd"), "a\\\\b\\\"c\\nd");
  EXPECT_EQ(escaped_label(""), "");
}

TEST(EscapedLabel, KeepsUtf8AndShowsOtherBytesAsText) {
  EXPECT_EQ(escaped_label("gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\xA6\x9F"),
            "gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\xA6\x9F");
  EXPECT_EQ(escaped_label(std::string_view("a\0b\x7F", 4)), "a\\\\x00b\\\\x7f");
  EXPECT_EQ(escaped_label("\xFF"), "\\\\xff");
  EXPECT_EQ(escaped_label("\xC3"), "\\\\xc3");             // cut off
  EXPECT_EQ(escaped_label("\xC0\xAF"), "\\\\xc0\\\\xaf");  // overlong
  EXPECT_EQ(escaped_label("\xE0\x80\xAF"), "\\\\xe0\\\\x80\\\\xaf");
  EXPECT_EQ(escaped_label("\xED\xA0\x80"), "\\\\xed\\\\xa0\\\\x80");  // a surrogate
  EXPECT_EQ(escaped_label("\xF4\x90\x80\x80"), "\\\\xf4\\\\x90\\\\x80\\\\x80");
}

}  // namespace prometheus_text_test
}  // namespace mayfly
