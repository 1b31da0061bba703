// helper.cpp — the thread that does what sysmon decides and goroutines ask for: write, trim, resize, stop.
//
// A posted function runs here while the goroutine that asked for it is parked (or its thread blocked), so two
// stops of the world never wait for each other.
#include "os/os.hpp"
#include "sched/let_go.hpp"
#include "sched/threads.hpp"

namespace weft::inline v0::rt {
namespace {

struct request {
  void (*f)(void*);
  void* arg;
  goroutine* gp;
  request* next = nullptr;
};

note helper_note;
atomic<std::uint32_t> wanted{0};
atomic<std::uint32_t> posted{0};                     // requests not finished: who asked is not deadlocked
atomic<bool> following{false};                       // it looks whether the number of processors has changed
atomic<bool> trimming{false};                        // it has goroutines in hand (trim.cpp)
ranked_lock<lock_rank::leaf> requests_lock;
constinit fifo<request, &request::next> requests;

constexpr std::int64_t scavenge_budget = 10'000'000; // ns a round; a round comes every 20 to 100 ms
constexpr std::int64_t long_parked = 5'000'000'000;  // ns

void publish(void* arg) noexcept {                   // the commit of the asking goroutine
  {
    locked hold(requests_lock);
    requests.push_back(static_cast<request*>(arg));
  }
  wake_helper(helper_posted);
}

void run_posted() noexcept {
  for (;;) {
    request* r;
    {
      locked hold(requests_lock);
      r = requests.pop_front();
    }
    if (r == nullptr) return;
    goroutine* gp = r->gp;
    sanitizer::hb_acquire(r);                        // what came before the request
    r->f(r->arg);
    inside in;
    ready(gp);
    posted.fetch_sub(1, acq_rel);                    // [order] acq_rel: check_dead() sees it queued before
  }
}

void follow_procs() noexcept {
  // [order] relaxed: hints, the stop looks again. seq_cst: after `following`, see helper_may_stop_world()
  if (!services.follow_procs.load(relaxed) || !sched.running.load(relaxed)) return;
  if (sched.ended.load(seq_cst)) return;
  const int n = os::default_maxprocs(current_settings().containermaxprocs);
  if (n == static_cast<int>(sched.maxprocs.load(relaxed))) return;
  stop_world_and_run([](void* p) { resize_processors(static_cast<std::uint32_t>(*static_cast<int*>(p))); },
                     const_cast<int*>(&n));
}

// Gives memory back. True: there is more.
bool scavenge() noexcept {
  bool untrimmed = false;
  trimming.store(true, seq_cst);                     // [order] seq_cst: before we look whether it has ended
  if (sched.running.load(acquire) && !sched.ended.load(seq_cst))
    untrimmed = trim_parked(os::nanotime(), long_parked) != trim_result::done;
  trimming.store(false, release);                    // [order] release: nobody is in our hand any more
  services.trim_later.store(untrimmed, relaxed);     // [order] relaxed: a hint for sysmon
  return stack_scavenge(scavenge_budget) + scavenge_goroutines() != 0;
}

}  // namespace

void helper_main(void*) noexcept {
  adopt_service_thread();
  for (;;) {
    helper_note.sleep();
    const std::uint32_t work = wanted.exchange(0, acq_rel);   // [order] acq_rel: pairs with wake_helper()
    if (work & helper_posted) run_posted();
    if (work & helper_procs) {
      following.store(true, seq_cst);                // [order] seq_cst: before we look whether it has ended
      follow_procs();
      following.store(false, release);               // [order] release: our stop, if any, is over
    }
    if (work & helper_trace && ports.print_schedtrace != nullptr)
      ports.print_schedtrace(current_settings().scheddetail);
    if (work & helper_block_warnings && ports.print_block_warnings != nullptr) ports.print_block_warnings();
    if (work & helper_standstill) tell_of_standstill();
    // [order] relaxed: sysmon looks again later
    if (work & helper_scavenge) services.scavenge_left.store(scavenge(), relaxed);
  }
}

void wake_helper(std::uint32_t work) noexcept {
  wanted.fetch_or(work, acq_rel);                    // [order] acq_rel: what the work is about goes with it
  helper_note.wake();
}

// [order] acquire: pairs with the end of run_posted()
bool helper_is_busy() noexcept { return posted.load(acquire) != 0; }
bool helper_may_stop_world() noexcept {
  return helper_is_busy() || following.load(seq_cst) || trimming.load(seq_cst);
}

void post_to_helper(void (*f)(void*), void* arg) noexcept {
  inside_parking in;
  request r{f, arg, current()};
  sanitizer::hb_release(&r);
  posted.fetch_add(1, acq_rel);                      // [order] acq_rel: check_dead() sees it after the park
  park(wait_reason::stop_the_world, publish, &r);
}

}  // namespace weft::inline v0::rt
