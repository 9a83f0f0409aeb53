// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster/watch/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "cli/cluster/watch/older_view.h"
#include "cli/cluster/watch/picture_problems.h"
#include "mayfly/internal/stopwatch.h"

namespace mayfly {
namespace {

constexpr std::size_t kSlotBarWidth = 96;

// 950, 12.3 K, 4.5 M
std::string with_unit(double value, double step, std::string_view unit) {
  constexpr std::array<std::string_view, 5> kScales = {"", "K", "M", "G", "T"};
  std::size_t scale = 0;
  while (value >= step && scale + 1 < kScales.size()) {
    value /= step;
    ++scale;
  }
  const bool has_fraction = scale > 0 && value < 100;
  const std::string number = fmt::format("{:.{}f}", value, has_fraction ? 1 : 0);
  const std::string tail = fmt::format("{}{}", kScales[scale], unit);
  return tail.empty() ? number : number + " " + tail;
}

// The host alone where that is enough.
std::string short_label(const ClusterView& view, const std::string& id) {
  const NodeRecord* const node = view.node(id);
  if (node == nullptr) return id.substr(0, 8);
  const auto same = std::ranges::count_if(
      view.nodes(), [&](const auto& other) { return other.second.record.host == node->host; });
  if (same > 1) return node_label(view, id);
  return node->hostname.empty() ? node->host : node->hostname;
}

std::string percent(const std::optional<double>& share) {
  return share ? fmt::format(", {:.0f} %", *share * 100) : "";
}

// A replica that is in the record: how far it is behind, and its clock.
std::string in_sync_text(const ClusterPicture& picture, const ClusterShard& shard,
                         const NodeMemory& member) {
  std::string text = short_label(picture.view, member.node);
  const auto itself = picture.facts.find(member.node);
  const NodeAnswer answer =
      itself == picture.facts.end() ? NodeAnswer::unknown : itself->second.answer;
  if (answer == NodeAnswer::answers && picture.view.live(member.node) == nullptr) {
    return text + " (forgotten by etcd)";
  }
  if (!picture.view.is_alive(member) || answer == NodeAnswer::refuses) return text + " (down)";
  if (answer == NodeAnswer::silent) return text + " (no answer)";
  if (answer == NodeAnswer::busy) return text + " (busy)";
  if (itself != picture.facts.end() && itself->second.health.is_link_down) {
    return text + " (no connection)";
  }
  const NodeFacts* const primary = facts_of(picture, shard.record.primary.node);
  if (primary == nullptr) return text;
  const auto found = primary->members.find(member.node);
  if (found == primary->members.end()) return text;
  const MemberFacts& facts = found->second;
  return text + fmt::format(" ({}, {:+} ms)", short_bytes(static_cast<double>(facts.lag_bytes)),
                            facts.clock_ahead.count());
}

// A node of the shard that is not in the record, and why.
std::string outside_text(const ClusterPicture& picture, const ClusterShard& shard,
                         const std::string& node) {
  const std::string label = short_label(picture.view, node);
  const NodeRecord* const record = picture.view.node(node);
  if (record != nullptr && record->state == NodeState::leaving) return label + " leaves";
  const NodeFacts* const facts = facts_of(picture, node);
  if (picture.view.live(node) == nullptr) {
    return label + (facts == nullptr ? " is down" : " is forgotten by etcd");
  }
  if (facts == nullptr) {
    const auto found = picture.facts.find(node);
    const bool is_gone =
        found != picture.facts.end() && found->second.answer == NodeAnswer::refuses;
    const bool is_busy = found != picture.facts.end() && found->second.answer == NodeAnswer::busy;
    return label + (is_gone ? " is down" : is_busy ? " is busy" : " gives no answer");
  }
  if (facts->is_loading) return label + " loads" + percent(facts->loaded_share);
  if (facts->is_syncing) return label + " copies" + percent(facts->synced_share);
  if (facts->health.is_link_down) return label + " has no connection";
  const NodeFacts* const primary = facts_of(picture, shard.record.primary.node);
  if (primary != nullptr) {
    const auto member = primary->members.find(node);
    const bool is_wrong = member != primary->members.end() && member->second.has_wrong_clock;
    if (is_wrong)
      return label +
             fmt::format(" has a wrong clock ({:+} ms)", member->second.clock_ahead.count());
  }
  return label + " joins";
}

std::string replicas_text(const ClusterPicture& picture, const ClusterShard& shard) {
  std::string text = "in sync:";
  for (const NodeMemory& member : shard.record.insync) {
    text += (text.back() == ':' ? " " : ", ") + in_sync_text(picture, shard, member);
  }
  if (shard.record.insync.empty()) text += " none";
  for (const std::string& node : picture.view.members(shard)) {
    const bool is_named = node == shard.record.primary.node ||
                          std::ranges::any_of(shard.record.insync, [&](const NodeMemory& member) {
                            return member.node == node;
                          });
    if (!is_named) text += "   " + outside_text(picture, shard, node);
  }
  return text;
}

std::string etcd_text(const ClusterPicture& picture) {
  const EtcdCount count = count_etcd(picture);
  std::string text = fmt::format("etcd {}/{}", count.up, count.all);
  std::set<std::string> versions;
  std::optional<double> latency;
  std::string leader;
  for (const EtcdEndpointStatus& member : picture.etcd) {
    if (!member.error.empty()) continue;
    versions.insert(member.version);
    latency = std::min(latency.value_or(member.latency_ms), member.latency_ms);
    if (member.is_leader) leader = member.name.empty() ? member.endpoint : member.name;
  }
  if (count.up == 0) return text;
  text += leader.empty() ? ", no leader" : ", leader " + leader;
  return text + fmt::format(", {:.1f} ms, {}", *latency, fmt::join(versions, " and "));
}

std::string head_text(const ClusterPicture& picture) {
  const ClusterView& view = picture.view;
  if (!is_known(picture)) {
    return fmt::format("{:<45}   {}", picture.name + "   nodes, shards and slots: unknown",
                       etcd_text(picture));
  }
  const ClusterService service = service_of(picture);
  std::string slots = fmt::format("{} of {} slots {}", service.served_slots, kHashSlots,
                                  service.is_known ? "served" : "known to be served");
  if (service.served_slots == kHashSlots) {
    slots = fmt::format("{} slots ok", kHashSlots);
    const std::size_t refused = service.served_slots - service.writable_slots;
    if (refused > 0) slots = fmt::format("{} slots, {} refuse writes", kHashSlots, refused);
    if (!view.owned_twice().empty()) {
      slots = fmt::format("{} slots, {} owned twice", kHashSlots, view.owned_twice().count());
    }
  }
  const std::string nodes =
      service.answering == service.nodes
          ? plural(service.nodes, "node")
          : fmt::format("{} of {} answer", service.answering, plural(service.nodes, "node"));
  const std::string left = fmt::format("{}   {}, {}, {}", picture.name, nodes,
                                       plural(view.shards().size(), "shard"), slots);
  return fmt::format("{:<45}   {}", left, etcd_text(picture));
}

std::string scale_text() {
  constexpr int kMarks = 8;
  std::string text;
  for (int i = 0; i < kMarks; ++i) {
    const std::size_t at = static_cast<std::size_t>(i) * kSlotBarWidth / kMarks;
    text.resize(std::max(text.size(), at), ' ');
    text += std::to_string(i * kHashSlots / kMarks);
  }
  text.resize(kSlotBarWidth - 4, ' ');
  return "  " + text + "16383";
}

Emphasis emphasis_of(const std::string& state) {
  if (state == kServing) return Emphasis::good;
  return state == "loading" || state == "joins" ? Emphasis::none : Emphasis::bad;
}

std::string shard_lines(const ClusterPicture& picture, const Colours& colours,
                        std::vector<std::string>& lines) {
  const ClusterView& view = picture.view;
  const std::map<std::string, char> letters = shard_letters(view);
  std::size_t name_width = 1;
  std::size_t label_width = 1;
  std::size_t state_width = 7;
  for (const ClusterShard& shard : view.shards()) {
    name_width = std::max(name_width, shard.id.size() + (shard.id.size() > 1 ? 2 : 0));
    label_width = std::max(label_width, node_label(view, shard.record.primary.node).size());
    state_width = std::max(state_width, shard_state(picture, shard).size());
  }
  for (const ClusterShard& shard : view.shards()) {
    const std::string& node = shard.record.primary.node;
    const NodeFacts* const facts = facts_of(picture, node);
    const std::string name =
        shard.id.size() == 1 ? shard.id : fmt::format("{} {}", letters.at(shard.id), shard.id);
    const std::string state = shard_state(picture, shard);
    lines.push_back(fmt::format(
        "  {:<{}}  {:<{}}  {}{}  epoch {:<3} {:>5} slots  {:>7} keys  {:>8}   {}", name, name_width,
        node_label(view, node), label_width, colours.apply(state, emphasis_of(state)),
        std::string(state_width - state.size(), ' '), shard.record.epoch,
        shard.record.slots.count(),
        facts && facts->keys ? short_count(static_cast<double>(*facts->keys)) : "?",
        facts && facts->memory_bytes ? short_bytes(static_cast<double>(*facts->memory_bytes)) : "?",
        replicas_text(picture, shard)));
  }
  return {};
}

void move_lines(const ClusterPicture& picture, std::vector<std::string>& lines) {
  for (const std::string& job : picture.view.active_moves()) {
    const MoveRecord& move = picture.view.moves().at(job).record;
    std::string line = fmt::format("  move {} -> {}  {}  {}", move.source, move.target,
                                   plural(move.slots.count(), "slot"), name_of(move.state));
    if (const auto found = picture.progress.find(job);
        found != picture.progress.end() && found->second.share) {
      line += fmt::format("  {:.0f} %", *found->second.share * 100);
    }
    if (const auto found = picture.rates.find(job); found != picture.rates.end()) {
      const MoveRates::Rate& rate = found->second;
      if (rate.keys_per_s) line += fmt::format("  {} keys/s", short_count(*rate.keys_per_s));
      if (rate.seconds_left) line += fmt::format("  about {:.0f} s left", *rate.seconds_left);
    }
    if (move.attempts > 1) line += fmt::format("  attempt {}", move.attempts);
    if (!move.error.empty()) line += "  " + move.error;
    lines.push_back(line);
  }
}

}  // namespace

const NodeFacts* facts_of(const ClusterPicture& picture, const std::string& node) {
  const auto found = picture.facts.find(node);
  return found == picture.facts.end() || !found->second.is_up() ? nullptr : &found->second;
}

std::string short_bytes(double bytes) { return with_unit(bytes, 1024, "B"); }
std::string short_count(double count) { return with_unit(count, 1000, ""); }

ClusterPicture take_picture(ClusterSession& session, const PictureOptions& options,
                            const ClusterPicture* before, MoveRates& rates) {
  ClusterPicture picture;
  picture.is_cache = options.is_cache;
  picture.name = session.name;
  picture.now = session.clock.now();
  if (auto members = session.records.members()) picture.etcd = *std::move(members);
  auto view = read_view_once(session);
  if (view) {
    picture.view = *std::move(view);
  } else {
    picture.error = view.error().message;
    take_older_view(session, options, before, picture);
  }
  picture.facts = ask_facts(session, picture.view);
  picture.progress = ask_progress(session, picture.view);
  picture.rates = rates.update(picture.progress, monotonic_ns());
  return picture;
}

bool is_known(const ClusterPicture& picture) {
  return picture.error.empty() || !picture.view.shards().empty();
}

EtcdCount count_etcd(const ClusterPicture& picture) {
  EtcdCount count;
  std::set<std::uint64_t> seen;  // a member may be named twice, by a name and by an address
  for (const EtcdEndpointStatus& member : picture.etcd) {
    count.all = std::max(count.all, member.members);
    if (member.error.empty() && (member.member == 0 || seen.insert(member.member).second)) {
      ++count.up;
    }
  }
  if (count.all == 0) count.all = picture.etcd.size();
  return count;
}

std::map<std::string, char> shard_letters(const ClusterView& view) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  std::map<std::string, char> letters;
  std::set<char> used;
  for (const ClusterShard& shard : view.shards()) {
    if (shard.id.size() == 1) {
      letters[shard.id] = shard.id[0];
      used.insert(shard.id[0]);
    }
  }
  std::size_t next = 0;
  for (const ClusterShard& shard : view.shards()) {
    if (letters.contains(shard.id)) continue;
    while (next < kLetters.size() && used.contains(kLetters[next])) ++next;
    letters[shard.id] = next < kLetters.size() ? kLetters[next++] : '#';
  }
  return letters;
}

std::string slot_bar(const ClusterView& view, std::size_t width) {
  const std::map<std::string, char> letters = shard_letters(view);
  SlotSet moving;
  for (const std::string& job : view.active_moves()) moving |= view.moves().at(job).record.slots;
  std::string bar;
  for (std::size_t i = 0; i < width; ++i) {
    const auto slot = static_cast<HashSlot>((2 * i + 1) * kHashSlots / (2 * width));  // its middle
    const ClusterShard* const owner = view.owner(slot);
    bar += moving.contains(slot) ? '>' : owner == nullptr ? '.' : letters.at(owner->id);
  }
  // Every range that moves is seen, however small.
  for (const SlotRange& range : moving.ranges()) {
    const std::size_t middle = (std::size_t{range.first} + range.last) / 2;
    bar[middle * width / kHashSlots] = '>';
  }
  // A line between two shards, where there is room.
  std::string lined = bar;
  for (std::size_t i = 1; i + 2 < width; ++i) {
    const bool is_border = bar[i] != bar[i - 1] && bar[i] != '>' && bar[i - 1] != '>';
    if (is_border && bar[i + 1] == bar[i] && bar[i + 2] == bar[i]) lined[i] = '|';
  }
  return lined;
}

std::string shard_state(const ClusterPicture& picture, const ClusterShard& shard) {
  const NodeMemory& primary = shard.record.primary;
  const NodeFacts* const facts = facts_of(picture, primary.node);
  if (facts == nullptr) {
    const auto found = picture.facts.find(primary.node);
    const NodeAnswer answer =
        found == picture.facts.end() ? NodeAnswer::unknown : found->second.answer;
    if (answer == NodeAnswer::locked) return std::string(kLocked);
    if (answer == NodeAnswer::closed) return std::string(kClosed);
    if (answer == NodeAnswer::full) return std::string(kFull);
    if (answer == NodeAnswer::busy) return std::string(kBusy);
    const bool is_gone = !picture.view.is_alive(primary) || answer == NodeAnswer::refuses;
    return is_gone ? "down" : std::string(kNoAnswer);
  }
  if (facts->is_loading) return "loading";
  if (facts->incarnation != primary.incarnation) return "lost memory";
  if (facts->is_serving) {
    return std::string(facts->health.refused_writes.empty() ? kServing : kRefusesWrites);
  }
  return facts->role == "leading" ? "fenced" : "not leading";
}

bool may_serve(std::string_view state) {
  return state == kNoAnswer || state == kLocked || state == kClosed || state == kFull;
}

std::vector<std::string> picture_lines(const ClusterPicture& picture, const Colours& colours) {
  std::vector<std::string> lines = {head_text(picture)};
  if (!picture.view.shards().empty()) {
    lines.push_back(scale_text());
    lines.push_back(fmt::format("  |{}|", slot_bar(picture.view, kSlotBarWidth)));
    shard_lines(picture, colours, lines);
    move_lines(picture, lines);
  }
  const auto warn = [&](const std::string& what, Emphasis emphasis) {
    lines.push_back("  " + colours.apply("! " + what, emphasis));
  };
  if (!picture.error.empty()) {
    warn("etcd cannot be read; nodes go on without it: " + picture.error, Emphasis::bad);
    if (!is_known(picture)) {
      warn("to see them without etcd: mayfly cluster status --node HOST:PORT", Emphasis::strong);
      return lines;
    }
    warn("the records shown are from " + picture.source, Emphasis::strong);
  }
  const std::vector<ClusterProblem> problems = all_problems(picture);
  for (const ClusterProblem& problem : problems) {
    warn(problem.what, problem.severity == Severity::fault ? Emphasis::bad : Emphasis::strong);
  }
  if (!problems.empty()) lines.emplace_back("  what to do: mayfly cluster check");
  return lines;
}

}  // namespace mayfly
