// SPDX-License-Identifier: Apache-2.0
// PrometheusText: writes metrics in the text format of Prometheus, version 0.0.4.
//
//   PrometheusText metrics;
//   metrics.family("mayfly_keys", "Keys that exist.", MetricType::gauge);
//   metrics.sample({{"db", "0"}}, keys);
//   send(PrometheusText::kContentType, metrics.text());
//
// A name has the unit as its suffix (_seconds, _bytes); that of a counter ends in _total.
//
// REQUIRES of its user: names of metrics and labels that the format allows, each family once, and
// all samples of a family after it and before the next one.

#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace mayfly {

enum class MetricType { counter, gauge, histogram };

// The value may be any bytes: see escaped_label().
struct MetricLabel {
  std::string_view name;
  std::string_view value;
};

// The number of observations that were at most `upper` and above the bucket before.
struct MetricBucket {
  double upper = 0;
  std::uint64_t count = 0;
};

class PrometheusText {
 public:
  static constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

  // Begins a family of samples.
  void family(std::string_view name, std::string_view help, MetricType type);

  // A sample of a counter or gauge. Integers are written exactly, and a double so that reading it
  // gives the same number again.
  template <class Number>
  requires std::integral<Number> || std::floating_point<Number>
  void sample(std::span<const MetricLabel> labels, Number value) { line("", labels, {}, value); }
  template <class Number>
  requires std::integral<Number> || std::floating_point<Number>
  void sample(std::initializer_list<MetricLabel> labels, Number value) {
    sample(std::span(labels.begin(), labels.size()), value);
  }

  // A sample of a histogram: its buckets, in ascending order, and the sum of all observations. What
  // is above the last bucket counts as `above`. The counts of the format, each of which includes
  // the buckets before, are made here.
  void histogram(std::span<const MetricLabel> labels, std::span<const MetricBucket> buckets,
                 double sum, std::uint64_t above = 0);
  void histogram(std::initializer_list<MetricLabel> labels, std::span<const MetricBucket> buckets,
                 double sum, std::uint64_t above = 0) {
    histogram(std::span(labels.begin(), labels.size()), buckets, sum, above);
  }

  const std::string& text() const { return text_; }

 private:
  template <class Number>
  void line(std::string_view suffix, std::span<const MetricLabel> labels, std::string_view le,
            Number value) {
    begin_line(suffix, labels, le);
    if constexpr (std::floating_point<Number>) {
      append_number(value);
    } else {
      char digits[24];
      text_.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
    }
    text_ += '\n';
  }

  void begin_line(std::string_view suffix, std::span<const MetricLabel> labels,
                  std::string_view le);
  void append_label(char before, std::string_view name, std::string_view value);
  void append_number(double value);

  std::string text_;
  std::string name_;  // of the family
};

// What stands between the quotes for `value`: backslash, quote and line feed are escaped. A label
// is UTF-8; a byte that is not, or a control character, becomes \xHH, as text.
std::string escaped_label(std::string_view value);

}  // namespace mayfly
