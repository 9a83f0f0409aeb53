// SPDX-License-Identifier: Apache-2.0
#include "base/prometheus_text.h"

#include <cmath>

#include "base/hex.h"

namespace mayfly {

namespace {

std::string_view metric_type_word(MetricType type) {
  switch (type) {
    case MetricType::counter:
      return "counter";
    case MetricType::gauge:
      return "gauge";
    case MetricType::histogram:
      return "histogram";
  }
  return "untyped";
}

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
}

// How many bytes the character takes with which `text` begins; 0 if that is not UTF-8. Overlong
// forms, surrogates and what is above U+10FFFF are not.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [text](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first < 0xC2   ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0u) != 0x80) return 0;
  }
  const unsigned second = byte(1);
  if (first == 0xE0 && second < 0xA0) return 0;
  if (first == 0xED && second > 0x9F) return 0;
  if (first == 0xF0 && second < 0x90) return 0;
  if (first == 0xF4 && second > 0x8F) return 0;
  return length;
}

}  // namespace

std::string escaped_label(std::string_view value) {
  std::string text;
  while (!value.empty()) {
    const char letter = value.front();
    const std::size_t length = utf8_length(value);
    const bool control = static_cast<unsigned char>(letter) < 0x20 || letter == 0x7F;
    if (letter == '\\' || letter == '"') {
      text += '\\';
      text += letter;
    } else if (letter == '\n') {
      text += "\\n";
    } else if (length == 0 || control) {
      text += "\\\\x" + hex(value.substr(0, 1));
    } else {
      text += value.substr(0, length);
    }
    value.remove_prefix(length == 0 ? 1 : length);
  }
  return text;
}

void PrometheusText::family(std::string_view name, std::string_view help, MetricType type) {
  name_ = name;
  text_.append("# HELP ").append(name).append(" ");
  for (const char letter : help) {
    if (letter == '\n') {
      text_ += "\\n";
      continue;
    }
    if (letter == '\\') text_ += '\\';
    text_ += letter;
  }
  text_.append("\n# TYPE ").append(name).append(" ").append(metric_type_word(type)).append("\n");
}

void PrometheusText::histogram(std::span<const MetricLabel> labels,
                               std::span<const MetricBucket> buckets, double sum,
                               std::uint64_t above) {
  std::uint64_t count = 0;
  for (const MetricBucket& bucket : buckets) {
    count += bucket.count;
    if (!std::isinf(bucket.upper)) line("_bucket", labels, number_text(bucket.upper), count);
  }
  count += above;
  line("_bucket", labels, "+Inf", count);
  line("_sum", labels, {}, sum);
  line("_count", labels, {}, count);
}

void PrometheusText::begin_line(std::string_view suffix, std::span<const MetricLabel> labels,
                                std::string_view le) {
  text_.append(name_).append(suffix);
  char before = '{';
  for (const MetricLabel& label : labels) {
    append_label(before, label.name, escaped_label(label.value));
    before = ',';
  }
  if (!le.empty()) {
    append_label(before, "le", le);
    before = ',';
  }
  if (before == ',') text_ += '}';
  text_ += ' ';
}

void PrometheusText::append_label(char before, std::string_view name, std::string_view value) {
  text_ += before;
  text_.append(name).append("=\"").append(value).append("\"");
}

void PrometheusText::append_number(double value) { text_ += number_text(value); }

}  // namespace mayfly
