// global_queue.cpp — see global_queue.hpp.
#include "sched/global_queue.hpp"

#include <algorithm>
#include <new>

#include "os/os.hpp"
#include "sched/machine.hpp"

namespace weft::inline v0::rt {
namespace {

constexpr std::size_t piece_bytes = 64 << 10;        // memory for chunks comes in pieces of this
constexpr std::uint32_t most_passed_by = 8, most_looks = 16;
constexpr std::int64_t most_ahead = 512;             // of those behind a thread, before nobody passes it by

}  // namespace

global_queue::chunk* global_queue::new_chunk() noexcept {
  if (free_.empty()) {
    void* p = os::allocate_pages(piece_bytes);
    if (p == nullptr) return nullptr;
    auto* memory = static_cast<std::byte*>(p);
    for (std::size_t at = 0; at + sizeof(chunk) <= piece_bytes; at += sizeof(chunk))
      free_.push(reinterpret_cast<chunk*>(memory + at));
  }
  return ::new (free_.pop()) chunk;
}

void global_queue::drop_front() noexcept {
  chunk* old = front_;
  front_ = old->next;
  if (front_ == nullptr) back_ = nullptr;
  free_.push(old);
}

bool global_queue::put_back(goroutine* gp) noexcept {
  if (!rest_.empty()) return false;                  // behind those
  if (back_ == nullptr || back_->end == chunk::capacity) {
    chunk* c = new_chunk();
    if (c == nullptr) return false;
    (back_ ? back_->next : front_) = c;
    back_ = c;
  }
  back_->gs[back_->end++] = gp;
  return true;
}

bool global_queue::put_front(goroutine* gp) noexcept {
  if (front_ == nullptr || front_->begin == 0) {
    chunk* c = new_chunk();
    if (c == nullptr) return false;
    c->begin = c->end = chunk::capacity;
    c->next = front_;
    front_ = c;
    if (back_ == nullptr) back_ = c;
  }
  front_->gs[--front_->begin] = gp;
  return true;
}

void global_queue::push_back(goroutine* const* gs, std::uint32_t n) noexcept {
  for (std::uint32_t i = 0; i < n; ++i)
    if (!put_back(gs[i])) rest_.push_back(gs[i]);
  pushed_ += n;
  add(n);
}

void global_queue::push_front(goroutine* const* gs, std::uint32_t n) noexcept {
  for (std::uint32_t i = n; i-- > 0;)
    if (!put_front(gs[i])) rest_.push_front(gs[i]);  // without memory the order suffers, nobody is lost
  taken_ -= n;
  add(n);
}

std::uint32_t global_queue::take_plain(goroutine** into, std::uint32_t n) noexcept {
  std::uint32_t got = 0;
  while (got < n && front_ != nullptr) {
    chunk& c = *front_;
    const std::uint32_t part = std::min(n - got, c.end - c.begin);
    for (std::uint32_t end = c.begin + part; c.begin != end;) into[got++] = c.gs[c.begin++];
    if (c.begin == c.end) drop_front();
  }
  while (got < n && !rest_.empty()) into[got++] = rest_.pop_front();
  taken_ += got;
  add(-got);
  return got;
}

std::uint32_t global_queue::take(goroutine** into, std::uint32_t n, std::int32_t cpu, bool again) noexcept {
  if (first_thread_ == nullptr || n == 0) return take_plain(into, n);
  // How many came before it. Signed: push_front() may have put some in front of everybody.
  const auto ahead = static_cast<std::int64_t>(first_thread_->place - taken_);
  if (ahead > 0) return take_plain(into, ahead < n ? static_cast<std::uint32_t>(ahead) : n);
  if (-ahead < most_ahead && may_pass_by_first(cpu) && (again || size() != threads()) &&
      !some_stood_on(cpu).found) {
    ++first_thread_->passed_by;
    return take_plain(into, n);
  }
  into[0] = take_thread(cpu);
  return 1;
}

void global_queue::push_thread(machine* mp) noexcept {
  mp->place = pushed_;
  mp->passed_by = 0;
  mp->link = nullptr;
  (last_thread_ != nullptr ? last_thread_->link : first_thread_) = mp;
  last_thread_ = mp;
  thread_count_.store(threads() + 1, relaxed);       // [order] as size()
  add(1);
}

// The one behind `before`, or the first.
machine* global_queue::unlink_thread(machine* before) noexcept {
  machine* mp = before != nullptr ? before->link : first_thread_;
  (before != nullptr ? before->link : first_thread_) = mp->link;
  if (last_thread_ == mp) last_thread_ = before;
  thread_count_.store(threads() - 1, relaxed);       // [order] as size()
  add(-1u);
  return mp;
}

bool global_queue::may_pass_by_first(std::int32_t cpu) const noexcept {
  return cpu >= 0 && first_thread_->cpu != cpu && first_thread_->passed_by < most_passed_by;
}

// Out of the first half only, so that nobody has more than twice his share.
global_queue::thread_place global_queue::some_stood_on(std::int32_t cpu) const noexcept {
  const std::uint32_t looks = std::min(threads() / 2, most_looks);
  machine* before = first_thread_;
  for (std::uint32_t i = 1; i < looks; ++i, before = before->link)
    if (before->link->cpu == cpu) return {before, true};
  return {};
}

goroutine* global_queue::take_thread(std::int32_t cpu) noexcept {
  if (first_thread_ == nullptr) return nullptr;
  thread_place at;
  if (may_pass_by_first(cpu)) at = some_stood_on(cpu);
  if (at.found) ++first_thread_->passed_by;
  return unlink_thread(at.before)->current;
}

bool global_queue::remove_thread(machine* mp) noexcept {
  machine* before = nullptr;
  for (machine* at = first_thread_; at != mp; at = at->link) {
    if (at == nullptr) return false;
    before = at;
  }
  unlink_thread(before);
  return true;
}

machine* global_queue::take_thread_if(bool (*wanted)(machine*) noexcept) noexcept {
  machine* before = nullptr;
  for (machine* at = first_thread_; at != nullptr; before = at, at = at->link)
    if (wanted(at)) return unlink_thread(before);
  return nullptr;
}

void global_queue::clear() noexcept {
  while (front_ != nullptr) drop_front();
  rest_ = {};
  first_thread_ = last_thread_ = nullptr;
  taken_ = pushed_;
  thread_count_.store(0, relaxed);                   // [order] as in size()
  size_.store(0, relaxed);                           // [order] as in size()
}

}  // namespace weft::inline v0::rt
