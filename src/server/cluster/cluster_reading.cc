// SPDX-License-Identifier: Apache-2.0
// Reading the records, from a register that is the right one.

#include <fmt/format.h>

#include <utility>

#include "server/cluster/cluster.h"
#include "server/cluster/node/register_check.h"

namespace mayfly {
namespace {

constexpr Millis kReadInterval{5000};
constexpr Millis kReadAgain{200};  // after a failure
constexpr Millis kReadWarning{10'000};

}  // namespace

void Cluster::read_records() {
  is_reading_ = true;
  next_read_ = steady_now() + kReadInterval;
  register_->read([this](const Result<RegisterSnapshot>& snapshot) {
    is_reading_ = false;
    records_read(snapshot);
  });
}

void Cluster::records_read(const Result<RegisterSnapshot>& snapshot) {
  if (!snapshot) {
    next_read_ = steady_now() + kReadAgain;
    note_refusal();
    return warn_about_register(snapshot.error().message);
  }
  if (!register_->stats().refused.empty()) return;  // an answer before the refusal
  if (stage_ == Stage::reading && !begin_with(*snapshot)) return;
  if (const std::string key = view_.contradiction(*snapshot); !key.empty()) {
    return distrust_register(fmt::format(
        "etcd is not usable: at revision {} it has an older record '{}' than before (if it was "
        "restored from a snapshot: stop all nodes, mayfly cluster accept, start them)",
        snapshot->version, key));
  }
  next_warning_ = Time::min();
  if (std::exchange(has_warned_of_records_, false)) {
    parts_.log.notice("Cluster: the records can be read again");
  }
  const Result<bool> changed = view_.replace(*snapshot);
  if (!changed) return fail(changed.error().message);
  if (stage_ == Stage::reading) stage_ = Stage::registering;
  records_changed();
  note_register(*snapshot);
}

void Cluster::warn_about_register(const std::string& why) {
  const Time now = steady_now();
  if (!is_due(next_warning_, now)) return;
  has_warned_of_records_ = true;
  parts_.log.warning(
      "Cluster: the records cannot be read: {}. This node goes on as it is, but no change and no "
      "takeover is possible (see to etcd, and to cluster-etcd)",
      why);
  next_warning_ = now + kReadWarning;
}

// ---- The right register ----

// The first reading. A register that does not fit may be replaced by the right one, so it is read
// again, and nothing else is done.
bool Cluster::begin_with(const RegisterSnapshot& snapshot) {
  const Result<ClusterView> view = ClusterView::parse(snapshot);
  Status status = view ? check_identity(*view) : Status(view.error());
  if (!status) {
    fail(status.error().message);
    return false;
  }
  const Result<NodeFile> file = check_register(file_, snapshot);
  unfit_register_ = file ? "" : file.error().message;
  if (!file) {
    warn_about_register(unfit_register_);
    return false;
  }
  if (file->accepted != file_.accepted) {
    parts_.log.notice("Cluster: takes the etcd with id {} and revision {}: it was accepted",
                      snapshot.id, snapshot.version);
  }
  // A node that belongs to no cluster yet may go to any.
  file_.cluster.empty() ? void(file_ = *file) : keep_file(*file);
  if (snapshot.id != 0) register_->trust({snapshot.id, snapshot.version});
  register_->watch([this](const std::vector<RegisterEntry>& entries) {
    if (!register_->stats().refused.empty()) return;
    const Result<bool> changed = view_.apply(entries);
    if (!changed) return fail(changed.error().message);
    if (*changed) records_changed();
  });
  return true;
}

// The folder must be of this cluster.
Status Cluster::check_identity(const ClusterView& view) const {
  const auto& config = view.config();
  if (!config || file_.cluster.empty() || file_.cluster == config->record.id) return Done{};
  return Error{
      Code::denied,
      fmt::format("the folder '{}' belongs to cluster {}, but etcd has cluster {} under "
                  "the name '{}' (check cluster-etcd and cluster-name, or use an empty "
                  "folder)",
                  parts_.config.dir, file_.cluster, config->record.id, parts_.config.cluster_name)};
}

void Cluster::distrust_register(const std::string& why) {
  if (register_->stats().is_refused_for_good || file_.is_register_refused) return;
  register_->distrust(why);
  parts_.log.warning("Cluster: {}", why);
  next_warning_ = steady_now() + kReadWarning;
  NodeFile file = file_;
  file.is_register_refused = true;
  keep_file(file);
}

std::string Cluster::register_problem() const {
  if (!unfit_register_.empty()) return unfit_register_;
  return register_ ? register_->stats().refused : std::string();
}

// The file keeps a state of the register in which this shard is as it is now. It is written seldom,
// as records of shards change seldom.
void Cluster::note_register(const RegisterSnapshot& snapshot) {
  const ClusterShard* const shard = view_.shard(node_.shard());
  NodeFile file = file_;
  file.reg = {snapshot.id, snapshot.version};
  if (shard != nullptr) {
    file.shard = shard->id;
    file.epoch = shard->record.epoch;
  }
  if (file_.cluster.empty()) {
    file_ = file;
  } else if (shard != nullptr && (shard->version > file_.reg.version || file_.shard != file.shard ||
                                  file_.epoch != file.epoch)) {
    keep_file(file);
  }
}

void Cluster::note_refusal() {
  if (file_.is_register_refused || !register_->stats().is_refused_for_good) return;
  NodeFile file = file_;
  file.is_register_refused = true;
  keep_file(file);
}

// It is written again later if that fails: a full disk stops no node.
void Cluster::keep_file(const NodeFile& file) {
  if (file == file_) return;
  const Status status = write_node_file(parts_.host.disk(), parts_.config.dir, file);
  if (status) {
    file_ = file;
  } else {
    warn_about_register("cannot write the file cluster-node: " + status.error().message);
  }
}

}  // namespace mayfly
