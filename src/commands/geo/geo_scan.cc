// SPDX-License-Identifier: Apache-2.0
#include "commands/geo/geo_scan.h"

#include <algorithm>

#include "commands/geo/geo_cover.h"

namespace mayfly {
namespace {

class GeoScan {
 public:
  GeoScan(const MembersOrder& order, const GeoShape& shape, bool with_distance, std::size_t limit,
          std::vector<GeoHit>& hits)
      : order_(order),
        shape_(shape),
        window_(shape.bounds()),
        with_distance_(with_distance),
        limit_(limit),
        hits_(hits) {}

  void run() {
    const GeoCover cover(shape_, window_);
    for (const GeoCell& cell : cover.cells()) {
      if (is_full()) return;
      const ScoreSpan scores = scores_of(cell);
      const std::size_t first = order_.below(scores.first);
      scan(cell, {first, first < order_.size() ? order_.below(scores.end) : first});
    }
    if (window_.is_at_edge()) visit_beyond();
  }

 private:
  struct Span {
    std::size_t first;
    std::size_t end;
  };

  bool is_full() const { return hits_.size() >= limit_; }

  // The members of a cell. If they are many, of its quarters that meet the window, in the order of
  // their scores.
  void scan(const GeoCell& cell, Span ranks) {
    constexpr std::size_t kFew = 48;  // cheaper to look at than to find out which are left out
    if (ranks.end - ranks.first <= kFew || cell.step == kGeoSteps || window_.encloses(cell)) {
      return visit(ranks);
    }
    for (std::uint32_t quarter = 0; quarter < 4 && !is_full(); ++quarter) {
      const GeoCell part{2 * cell.x + quarter / 2, 2 * cell.y + quarter % 2, cell.step + 1};
      if (!window_.meets(part)) continue;
      const ScoreSpan scores = scores_of(part);
      scan(part, {quarter == 0 ? ranks.first : order_.below(scores.first),
                  quarter == 3 ? ranks.end : order_.below(scores.end)});
    }
  }

  void visit(Span ranks) {
    if (ranks.first >= ranks.end || is_full()) return;
    order_.visit(ranks.first, ranks.end - ranks.first, Direction::forward,
                 [this](const Member& member) {
                   const double score = member.score();
                   const GeoPlace place = place_of(score);
                   return !window_.has(place) || take(member, score, point_of(place));
                 });
  }

  // Members whose longitude or latitude is the greatest. They are few, if there are any.
  void visit_beyond() {
    const std::size_t first = order_.below(kGridScoreEnd);
    if (first == order_.size() || is_full()) return;
    order_.visit(first, order_.below(kBeyondScoreEnd) - first, Direction::forward,
                 [this](const Member& member) {
                   return take(member, member.score(), point_of(member.score()));
                 });
  }

  // False if there are enough.
  bool take(const Member& member, double score, GeoPoint point) {
    if (with_distance_) {
      const std::optional<double> distance = shape_.distance_inside(point);
      if (distance) hits_.push_back({member.name, score, *distance});
    } else if (shape_.contains(point)) {
      hits_.push_back({member.name, score, 0});
    }
    return !is_full();
  }

  const MembersOrder& order_;
  const GeoShape& shape_;
  const GeoWindow window_;
  const bool with_distance_;
  const std::size_t limit_;
  std::vector<GeoHit>& hits_;
};

}  // namespace

// Members at the same distance stay in the order in which they were found.
void GeoHits::sort(const GeoWish& wish) {
  sorted_.reserve(hits_.size());
  const double sign = wish.order == GeoOrder::nearest ? 1 : -1;
  for (const GeoHit& hit : hits_) {
    sorted_.push_back({sign * hit.distance, static_cast<std::uint32_t>(sorted_.size())});
  }
  const auto is_before = [](const Sorted& a, const Sorted& b) {
    return a.distance != b.distance ? a.distance < b.distance : a.number < b.number;
  };
  const auto end = sorted_.begin() + static_cast<std::ptrdiff_t>(size_);
  std::partial_sort(sorted_.begin(), end, sorted_.end(), is_before);
  if (size_ == 0 || end == sorted_.end()) return;
  const double last = sorted_[size_ - 1].distance;
  is_cut_between_equals_ =
      std::any_of(end, sorted_.end(), [&](const Sorted& one) { return one.distance == last; });
}

GeoHits find_in_shape(const MembersOrder& order, const GeoShape& shape, const GeoWish& wish) {
  GeoHits found;
  const std::size_t limit = wish.any && wish.count > 0 ? wish.count : SIZE_MAX;
  const bool is_sorted = wish.order != GeoOrder::none;
  GeoScan(order, shape, wish.with_distance || is_sorted, limit, found.hits_).run();
  found.size_ = found.hits_.size();
  if (wish.count > 0) found.size_ = std::min(found.size_, wish.count);
  if (is_sorted) found.sort(wish);
  return found;
}

}  // namespace mayfly
