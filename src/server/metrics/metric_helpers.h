// SPDX-License-Identifier: Apache-2.0
// A family of metrics with one sample and no labels.

#pragma once

#include <string_view>

#include "base/prometheus_text.h"
#include "mayfly/time.h"

namespace mayfly {

template <class Number>
void one_counter(PrometheusText& out, std::string_view name, std::string_view help, Number value) {
  out.family(name, help, MetricType::counter);
  out.sample({}, value);
}

template <class Number>
void one_gauge(PrometheusText& out, std::string_view name, std::string_view help, Number value) {
  out.family(name, help, MetricType::gauge);
  out.sample({}, value);
}

inline void one_flag(PrometheusText& out, std::string_view name, std::string_view help, bool is) {
  one_gauge(out, name, help, is ? 1 : 0);
}

constexpr double metric_seconds(Millis time) { return static_cast<double>(time.count()) / 1000; }

}  // namespace mayfly
