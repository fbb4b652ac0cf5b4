// A hash table from the rank of a point to a number. Each task of each running job has thousands of
// entries, so an entry takes 8 bytes and no allocation. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace mlc::server {

class RankTable {
 public:
  // Returns the number of the rank and whether the entry is new. A new entry gets `number`. The
  // pointer is valid until the next call. REQUIRES: rank < kNone.
  std::pair<int32_t*, bool> Insert(uint32_t rank, int32_t number) {
    if ((size_ + 1) * 5 > entries_.size() * 4) Grow();
    Entry& entry = *PlaceOf(rank);
    const bool is_new = entry.rank == kNone;
    if (is_new) {
      entry = {rank, number};
      ++size_;
    }
    return {&entry.number, is_new};
  }
  size_t size() const { return size_; }

  static constexpr uint32_t kNone = UINT32_MAX;

 private:
  struct Entry {
    uint32_t rank = kNone;
    int32_t number = 0;
  };
  static constexpr size_t kLeast = 64;

  // The entry of the rank, or the free entry for it.
  Entry* PlaceOf(uint32_t rank) {
    const uint64_t hash = rank * uint64_t{0x9e3779b97f4a7c15};
    size_t place = ((hash >> 32) * entries_.size()) >> 32;
    while (entries_[place].rank != kNone && entries_[place].rank != rank) {
      if (++place == entries_.size()) place = 0;
    }
    return &entries_[place];
  }
  // Grows by half, because a table of twice the size would waste most of the memory.
  void Grow() {
    std::vector<Entry> old(entries_.empty() ? kLeast : entries_.size() * 3 / 2);
    old.swap(entries_);
    for (const Entry& entry : old) {
      if (entry.rank != kNone) *PlaceOf(entry.rank) = entry;
    }
  }

  std::vector<Entry> entries_;
  size_t size_ = 0;
};

}  // namespace mlc::server
