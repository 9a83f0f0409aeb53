// SPDX-License-Identifier: Apache-2.0
// The metrics of a server for Prometheus: GET /metrics. docs/metrics.md lists them.
//
// Names and units follow Prometheus's conventions: mayfly_ in front, base units (seconds, bytes),
// _total at the end of counters. No key, value or password is in them. Cost: some hundred
// microseconds, a look at each client, and at the index of deadlines of the coming day.

#pragma once

#include <string>

namespace mayfly {

class PrometheusText;
struct ServerParts;

std::string metrics_text(const ServerParts& server);

// Its parts.
void metrics_of_process(const ServerParts& server, PrometheusText& out);
void metrics_of_commands(const ServerParts& server, PrometheusText& out);
void metrics_of_clients(const ServerParts& server, PrometheusText& out);
void metrics_of_keys(const ServerParts& server, PrometheusText& out);
void metrics_of_expiry(const ServerParts& server, PrometheusText& out);
void metrics_of_memory(const ServerParts& server, PrometheusText& out);
void metrics_of_persistence(const ServerParts& server, PrometheusText& out);
void metrics_of_replication(const ServerParts& server, PrometheusText& out);
void metrics_of_cluster(const ServerParts& server, PrometheusText& out);

}  // namespace mayfly
