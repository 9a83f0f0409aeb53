// SPDX-License-Identifier: Apache-2.0
#include "store/lmdb/turns.h"

#include "store/lmdb/environment.h"

namespace mayfly::internal {

Inside::Inside(Environment& environment) : environment_(&environment) { environment.enter(); }

void Inside::leave() noexcept {
  if (environment_ != nullptr) std::exchange(environment_, nullptr)->leave();
}

void EndRead::operator()(Snapshot* snapshot) const noexcept {
  std::unique_ptr<Snapshot> owned(snapshot);
  if (!environment->is_foreign()) environment->end_read(std::move(owned));
}

WriteTurn& WriteTurn::operator=(WriteTurn&& other) noexcept {
  std::swap(environment_, other.environment_);
  std::swap(patience_, other.patience_);
  std::swap(snapshot, other.snapshot);
  std::swap(own, other.own);
  std::swap(tree, other.tree);
  return *this;
}

void WriteTurn::end() noexcept {
  Environment* const environment = std::exchange(environment_, nullptr);
  if (environment == nullptr) return;
  if (environment->is_foreign()) {
    static_cast<void>(tree.release());  // the parent's
  } else if (environment->may_end_write()) {
    if (own != nullptr) environment->log().give_own_table(std::move(own));
    snapshot.reset();
    environment->unlock_write(std::move(tree));
  } else {
    if (snapshot != nullptr) Environment::drop_snapshot(*snapshot);
    snapshot.reset();
    environment->leave_write(std::move(tree));
  }
}

}  // namespace mayfly::internal
