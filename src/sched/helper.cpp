// helper.cpp — the thread that does what sysmon decides and what goroutines ask for: write, trim, resize,
// stop the world.
//
// A posted function runs here while the goroutine that asked for it is parked (or its thread blocked), so two
// stops of the world never wait for each other.
#include "os/os.hpp"
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
atomic<std::uint32_t> posted{0};  // requests not finished: the asking goroutines are not deadlocked
atomic<bool> following{false};                       // it looks whether the number of processors has changed
ranked_lock<lock_rank::leaf> requests_lock;
constinit fifo<request, &request::next> requests;

constexpr std::int64_t scavenge_budget = 10'000'000; // ns a round; a round comes every 20 to 100 ms

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
    r->f(r->arg);
    inside in;
    ready(gp);
    posted.fetch_sub(1, acq_rel);
  }
}

void follow_procs() noexcept {
  if (!services.follow_procs.load(relaxed) || !sched.running.load(relaxed) || sched.ended.load(seq_cst)) return;
  const int n = os::default_maxprocs(current_settings().containermaxprocs);
  if (n == static_cast<int>(sched.maxprocs.load(relaxed))) return;
  stop_world_and_run([](void* p) { resize_processors(static_cast<std::uint32_t>(*static_cast<int*>(p))); },
                     const_cast<int*>(&n));
}

}  // namespace

void helper_main(void*) noexcept {
  adopt_service_thread();
  for (;;) {
    helper_note.sleep();
    const std::uint32_t work = wanted.exchange(0, acq_rel);
    if (work & helper_posted) run_posted();
    if (work & helper_procs) {
      following.store(true, seq_cst);  // [order] seq_cst: before we look whether the world has ended
      follow_procs();
      following.store(false, release);
    }
    if (work & helper_trace && ports.print_schedtrace != nullptr)
      ports.print_schedtrace(current_settings().scheddetail);
    if (work & helper_scavenge) {
      const bool left = stack_scavenge(scavenge_budget) + scavenge_goroutines() != 0;
      services.scavenge_left.store(left, relaxed);   // [order] relaxed: sysmon looks again later
    }
  }
}

void wake_helper(std::uint32_t work) noexcept {
  wanted.fetch_or(work, acq_rel);
  helper_note.wake();
}

bool helper_is_busy() noexcept { return posted.load(acquire) != 0; }
bool helper_may_stop_world() noexcept { return helper_is_busy() || following.load(seq_cst); }

void post_to_helper(void (*f)(void*), void* arg) noexcept {
  inside_parking in;
  request r{f, arg, current()};
  posted.fetch_add(1, acq_rel);  // [order] acq_rel: seen by check_dead() once we are parked
  park(wait_reason::stop_the_world, publish, &r);
}

}  // namespace weft::inline v0::rt
