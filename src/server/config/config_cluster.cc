// SPDX-License-Identifier: Apache-2.0
// The directives about the cluster.

#include <algorithm>

#include "server/config/config_table.h"

namespace mayfly {
namespace {

constexpr std::string_view kReplies[] = {"at-once", "in-sync"};
constexpr std::size_t kNameMost = 64;

// It is part of keys in etcd.
Status set_name(Config& config, Values values, bool) {
  auto word = only_word(values);
  if (!word) return word.error();
  const bool is_plain = std::ranges::all_of(*word, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
  if (word->empty() || word->size() > kNameMost || !is_plain) {
    return bad_value("cluster-name takes 1 to 64 letters, digits, dots, dashes and underscores");
  }
  config.cluster_name = std::move(*word);
  return Done{};
}

// With commas or spaces between them, as etcdctl takes them, or as a list of words.
Status set_etcd(Config& config, Values values, bool) {
  std::vector<std::string> endpoints;
  for (const std::string& word : split_words(values)) {
    std::string_view rest = word;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(','), rest.size());
      const std::string_view one = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (one.empty()) continue;
      if (one.find("://") == std::string_view::npos) {
        endpoints.push_back(std::string("http://").append(one));
      } else if (one.starts_with("http://") || one.starts_with("https://")) {
        endpoints.emplace_back(one);
      } else {
        return bad_value("cluster-etcd takes addresses such as http://10.0.0.1:2379");
      }
    }
  }
  if (endpoints.empty()) return bad_value("cluster-etcd takes at least one address");
  config.cluster_etcd = std::move(endpoints);
  return Done{};
}

constexpr Field kName{set_name, show_text<&Config::cluster_name>};
constexpr Field kEtcd{set_etcd, show_words<&Config::cluster_etcd>};

// clang-format off
constexpr Directive kClusterDirectives[] = {
    {"cluster-enabled",       "", boolean<&Config::cluster_enabled>,    mark::fixed},
    {"cluster-name",          "", kName,                                mark::fixed},
    {"cluster-etcd",          "", kEtcd, mark::fixed | mark::several},
    {"cluster-etcd-user",     "", text<&Config::cluster_etcd_user>,     mark::fixed},
    {"cluster-etcd-password", "", text<&Config::cluster_etcd_password>, mark::fixed | mark::secret},
    {"cluster-etcd-ca",       "", text<&Config::cluster_etcd_ca>,       mark::fixed},
    {"cluster-etcd-cert",     "", text<&Config::cluster_etcd_cert>,     mark::fixed},
    {"cluster-etcd-key",      "", text<&Config::cluster_etcd_key>,      mark::fixed},
    {"cluster-replies",       "", choice<&Config::cluster_replies, kReplies>},
    {"cluster-lease",         "", number<&Config::cluster_lease, 200, 60'000>, mark::fixed},
    {"cluster-max-clock-difference", "",
     number<&Config::cluster_max_clock_difference, 1, 60'000>, mark::fixed},
    {"cluster-announce-ip",       "", text<&Config::cluster_announce_ip>},
    {"cluster-announce-port",     "", number<&Config::cluster_announce_port, 0, 65'535>},
    {"cluster-announce-hostname", "", text<&Config::cluster_announce_hostname>},
    {"cluster-require-full-coverage", "", boolean<&Config::cluster_require_full_coverage>},
    {"cluster-allow-reads-when-down", "", boolean<&Config::cluster_allow_reads_when_down>},
};
// clang-format on

}  // namespace

std::span<const Directive> cluster_directives() { return kClusterDirectives; }

}  // namespace mayfly
