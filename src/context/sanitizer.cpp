// sanitizer.cpp — the sanitizers' side of a switch. Empty in ordinary builds.
//
// The TSan pool: an ended fibre waits at the end of a queue until at least `distance` others have ended after
// it. A handle remembers what its last goroutine knew; two goroutines that follow each other on one handle
// would seem ordered, and a race between them would be missed. A goroutine that returned has left every
// instrumented function, so the handle's shadow call stack is empty again (functions left by an exception are
// left too, for TSan). One that was abandoned has not: its handle is destroyed, never reused.
//
// A stack that passes from one goroutine to the next would look like a race on everything that lies on it. So
// the last thing a fibre does is a release on its stack, and the first thing the next one does there an
// acquire.
#include "context/sanitizer.hpp"

#include "base/check.hpp"
#include "base/raw_lock.hpp"
#include "os/os.hpp"

#if defined(WEFT_ASAN)
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif

#if defined(WEFT_TSAN)
#include <cerrno>
#include <cstddef>

extern "C" {   // sanitizer/tsan_interface.h has them, but not in every release
void* __tsan_get_current_fiber();
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
void AnnotateBenignRaceSized(const char* file, int line, void* start, std::size_t size, const char* why);
void __tsan_acquire(void* address);
void __tsan_release(void* address);
std::int32_t __tsan_atomic32_load(const volatile std::int32_t* word, int order);
std::int64_t __tsan_atomic64_load(const volatile std::int64_t* word, int order);
}
#endif

namespace weft::inline v0::rt::sanitizer {

#if defined(WEFT_TSAN)
namespace {

constexpr unsigned no_sync = 1;             // a switch is not an edge
constexpr std::size_t most_fibres = 8000;   // of 8,128; the others are the process's threads
constexpr std::size_t distance = 32;

class fibre_pool {
 public:
  void* take() noexcept {
    locked guard(lock_);
    if (size_ > distance || (alive_ == most_fibres && size_ > 0)) return pop();
    if (alive_ == most_fibres) fatal("out of ThreadSanitizer fibres (8000 goroutines with a stack)");
    ++alive_;
    return create();
  }
  void give(void* handle) noexcept {
    locked guard(lock_);
    queue_[(first_ + size_++) % most_fibres] = handle;
  }
  void destroy(void* handle, const void* release_to) noexcept {
    locked guard(lock_);
    void* self = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(handle, no_sync);
    hb_release(release_to);                   // for it: it never came to that
    __tsan_switch_to_fiber(self, no_sync);
    __tsan_destroy_fiber(handle);
    --alive_;
  }

 private:
  void* pop() noexcept {
    void* handle = queue_[first_];
    first_ = (first_ + 1) % most_fibres;
    --size_;
    return handle;
  }
  // A new fibre knows what its creator knows. The creator is a fibre that never did anything, not the
  // goroutine that happens to run here.
  void* create() noexcept {
    if (origin_ == nullptr) origin_ = __tsan_create_fiber(0);
    void* self = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(origin_, no_sync);
    void* handle = __tsan_create_fiber(0);
    __tsan_switch_to_fiber(self, no_sync);
    return handle;
  }

  ranked_lock<lock_rank::leaf> lock_;
  void* origin_ = nullptr;
  std::size_t alive_ = 0;
  std::size_t first_ = 0, size_ = 0;
  void* queue_[most_fibres] = {};
};

constinit fibre_pool pool;

}  // namespace

void fibre_start(fibre& f) noexcept { f.handle = pool.take(); }
void fibre_end(fibre& f) noexcept {
  if (f.handle) pool.give(f.handle);
  f = {};
}
void fibre_discard(fibre& f, const void* release_to) noexcept {
  if (f.handle) pool.destroy(f.handle, release_to);
  f = {};
}
// errno belongs to the thread, and the switch carries its value: two goroutines that set it on one thread do
// not race, but look so, as nothing else orders them.
void adopt_thread(fibre& f) noexcept {
  f.handle = __tsan_get_current_fiber();
  AnnotateBenignRaceSized("", 0, &errno, sizeof errno, "errno");
}
void before_switch(fibre& from, fibre& to, const void* to_stack_bottom, std::size_t, bool dying) noexcept {
  if (dying) hb_release(from.fake_stack);
  __tsan_switch_to_fiber(to.handle, no_sync);
  if (to.fake_stack == to_stack_bottom) return;
  to.fake_stack = const_cast<void*>(to_stack_bottom);
  hb_acquire(to_stack_bottom);
}
void after_switch(fibre&) noexcept {}
void unpoison_stack(void*, std::size_t) noexcept {}
void stack_root(const void*, std::size_t, bool) noexcept {}
void hb_release(const void* at) noexcept { if (at) __tsan_release(const_cast<void*>(at)); }
void hb_acquire(const void* at) noexcept { if (at) __tsan_acquire(const_cast<void*>(at)); }
// A load that acquires, as if it stood in instrumented code.
void hb_acquire_word(const atomic<std::uint32_t>& word) noexcept {
  __tsan_atomic32_load(reinterpret_cast<const volatile std::int32_t*>(&word), __ATOMIC_ACQUIRE);
}
void hb_acquire_word(const atomic<std::int64_t>& word) noexcept {
  __tsan_atomic64_load(reinterpret_cast<const volatile std::int64_t*>(&word), __ATOMIC_ACQUIRE);
}

#elif defined(WEFT_ASAN)

namespace {

struct bounds {   // of a thread's own stack; `handle` of its fibre points there
  void* bottom;
  std::size_t size;
};

}  // namespace

void fibre_start(fibre&) noexcept {}
void fibre_end(fibre& f) noexcept { f = {}; }   // before_switch(dying) has freed the fake stack
void fibre_discard(fibre& f, const void*) noexcept { f = {}; }

void adopt_thread(fibre& f) noexcept {
  if (f.handle == nullptr) f.handle = os::allocate_pages(sizeof(bounds));   // an M record keeps it
  pthread_attr_t attributes;
  if (f.handle == nullptr || pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  auto* b = static_cast<bounds*>(f.handle);
  pthread_attr_getstack(&attributes, &b->bottom, &b->size);
  pthread_attr_destroy(&attributes);
}

void before_switch(fibre& from, fibre& to, const void* to_stack_bottom, std::size_t to_stack_size,
                   bool dying) noexcept {
  if (to_stack_bottom == nullptr && to.handle != nullptr) {
    to_stack_bottom = static_cast<bounds*>(to.handle)->bottom;
    to_stack_size = static_cast<bounds*>(to.handle)->size;
  }
  __sanitizer_start_switch_fiber(dying ? nullptr : &from.fake_stack, to_stack_bottom, to_stack_size);
}
void after_switch(fibre& arrived) noexcept {
  __sanitizer_finish_switch_fiber(arrived.fake_stack, nullptr, nullptr);
}
void unpoison_stack(void* bottom, std::size_t size) noexcept { __asan_unpoison_memory_region(bottom, size); }
void stack_root(const void* bottom, std::size_t size, bool add) noexcept {
  (add ? __lsan_register_root_region : __lsan_unregister_root_region)(bottom, size);
}
void hb_release(const void*) noexcept {}
void hb_acquire(const void*) noexcept {}
void hb_acquire_word(const atomic<std::uint32_t>&) noexcept {}
void hb_acquire_word(const atomic<std::int64_t>&) noexcept {}

#endif

}  // namespace weft::inline v0::rt::sanitizer
