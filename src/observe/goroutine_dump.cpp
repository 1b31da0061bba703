// goroutine_dump.cpp — pick the goroutines, write them. The format and the rules are in goroutine_dump.hpp.
#include "observe/goroutine_dump.hpp"

#include <algorithm>
#include <new>

#include "base/print.hpp"
#include "observe/backtrace.hpp"
#include "observe/modules.hpp"
#include "observe/naming.hpp"
#include "observe/running_stack.hpp"
#include "observe/schedtrace.hpp"
#include "sched/sched.hpp"
#include "weft/dump.hpp"
#include "weft/runtime.hpp"

namespace weft::inline v0::rt {
namespace {

constexpr std::int64_t naming_limit_at_death = 6'000'000'000, naming_limit = 60'000'000'000;
constexpr std::int64_t minute = 60'000'000'000;

atomic<void (*)()> after_dump{nullptr};

bool shows_runtime() noexcept { return current_settings().traceback >= traceback_level::system; }

// The same text to two places: the reader, and the file that the symbolizer will read.
class text {
 public:
  text(int shown, int kept) noexcept : shown_(shown), kept_(kept), is_kept_(kept >= 0) {}
  template <class T>
  text& operator<<(const T& value) noexcept {
    shown_ << value;
    if (is_kept_) kept_ << value;
    return *this;
  }

 private:
  printer shown_, kept_;
  bool is_kept_;
};

// The oldest goroutines, by id, of any number that are shown to it.
class oldest {
 public:
  static constexpr std::size_t limit = 1000;
  void clear() noexcept { count_ = left_out_ = 0; }
  void add(goroutine* gp) noexcept {
    if (count_ == limit) {
      ++left_out_;
      if (gp->id > held_[0]->id) return;
      std::pop_heap(held_, held_ + count_--, is_older);
    }
    held_[count_++] = gp;
    std::push_heap(held_, held_ + count_, is_older);
  }
  void sort() noexcept { std::sort_heap(held_, held_ + count_, is_older); }
  goroutine* const* begin() const noexcept { return held_; }
  goroutine* const* end() const noexcept { return held_ + count_; }
  std::size_t left_out() const noexcept { return left_out_; }

 private:
  static bool is_older(const goroutine* a, const goroutine* b) noexcept { return a->id < b->id; }
  goroutine* held_[limit];
  std::size_t count_, left_out_;
};

struct dump_space {   // too large for a stack
  module_table modules;
  oldest goroutines;
  backtrace trace;
};

class dump {
 public:
  dump(dump_space& space, int fd, int copy, goroutine* first, const void* fault_context, bool dying) noexcept
      : space_(space), out_(fd, copy), first_(first), fault_context_(fault_context), others_(dying) {
    space_.modules.read();
  }

  void write_first() noexcept {
    if (first_) write_goroutine(first_);
    else if (shows_runtime() || fault_context_) write_runtime_stack();
  }

  void write_others() noexcept {
    space_.goroutines.clear();
    for_each_goroutine([](goroutine* gp, void* p) { static_cast<dump*>(p)->consider(gp); }, this);
    space_.goroutines.sort();
    for (goroutine* gp : space_.goroutines) write_goroutine(gp);
    if (std::size_t n = space_.goroutines.left_out()) out_ << "\n..." << n << " more goroutines elided...\n";
  }

 private:
  void consider(goroutine* gp) noexcept {
    g_status status = gp->status.load(acquire);   // [order] acquire: pairs with whoever filled the block
    bool lives = status == g_status::runnable || status == g_status::running || status == g_status::waiting;
    if (!lives || gp == first_ || gp->id == 0) return;
    if (gp->is_thread && status != g_status::waiting) return;   // a plain thread that merely exists
    space_.goroutines.add(gp);
  }

  void write_goroutine(goroutine* gp) noexcept {
    write_header(gp);
    write_stack(gp);
    if (gp->parent_id == 0) return;
    out_ << "created by goroutine " << gp->parent_id;
    if (gp->created_at) {
      out_ << " at ";
      write_address(gp->created_at);
    }
    out_ << '\n';
  }

  void write_header(goroutine* gp) noexcept {
    out_ << "\ngoroutine " << gp->id;
    if (shows_runtime()) write_machine(gp);
    out_ << " [" << status_text(gp);
    // [order] relaxed: a number to show
    std::int64_t waited = os::nanotime() - gp->waiting_since.load(relaxed);
    if (is_waiting(gp) && gp->waiting_since.load(relaxed) > 0 && waited >= minute)
      out_ << ", " << waited / minute << " minutes";
    if (is_interrupted(gp)) out_ << ", interrupted on its thread";
    if (gp->lock_depth > 0) out_ << ", locked to thread";
    if (gp->is_thread) out_ << ", plain thread";
    if (gp->name) write_name(gp->name);
    out_ << "]:\n";
  }

  bool is_waiting(goroutine* gp) const noexcept {
    return gp != first_ && gp->status.load(relaxed) == g_status::waiting;  // [order] relaxed: a state to show
  }

  std::string_view status_text(goroutine* gp) const noexcept {
    if (gp == first_) return "running";
    switch (gp->status.load(relaxed)) {   // [order] relaxed: a state to show
      case g_status::runnable: return "runnable";
      case g_status::running: return "running";
      case g_status::waiting: break;
      default: return "dead";   // since it was picked
    }
    std::string_view reason = to_text(gp->reason.load(relaxed));   // [order] relaxed: as above
    return reason.empty() ? "waiting" : reason;
  }

  void write_machine(goroutine* gp) noexcept {
    out_ << " gp=" << static_cast<const void*>(gp);
    if (machine* mp = machine_of(gp))
      out_ << " m=" << mp->id << " mp=" << static_cast<const void*>(mp);
    else
      out_ << " m=nil";
  }

  static machine* machine_of(const goroutine* gp) noexcept {
    machine* mp = sched.all_ms;
    while (mp && mp->current != gp) mp = mp->next_machine;
    return mp;
  }

  void write_name(const char* name) noexcept {
    constexpr std::size_t longest = 64;
    out_ << ", \"";
    for (std::size_t i = 0; name[i] && i < longest; ++i) {
      bool plain = static_cast<unsigned char>(name[i]) >= ' ' && name[i] != '"';
      out_ << (plain ? name[i] : '?');
    }
    out_ << '"';
  }

  void write_stack(goroutine* gp) noexcept {
    machine* mp = this_machine();
    if (mp && mp->current == gp) {
      space_.trace.walk_here(fault_context_);
      write_frames(true);
      return;
    }
    // [order] acquire: as in consider()
    if (gp->is_thread || gp->status.load(acquire) == g_status::running || waits_on_its_thread(gp)) {
      machine* its = machine_of(gp);
      if (!its || !others_.walk(its, gp, space_.trace)) {
        out_ << "\tgoroutine running on other thread; stack unavailable\n";
        return;
      }
    } else if (is_on_its_stack(gp)) {
      space_.trace.walk_parked(gp->saved);
    } else {
      return;   // not yet begun
    }
    write_frames(false);
  }

  // In wait_for_p_here(): what it has saved is of an earlier park.
  static bool waits_on_its_thread(const goroutine* gp) noexcept {
    return gp->bound && gp->bound->current == gp;
  }

  bool is_interrupted(const goroutine* gp) const noexcept {
    // [order] relaxed: a state to show
    return gp != first_ && gp->status.load(relaxed) == g_status::runnable && waits_on_its_thread(gp) &&
           gp->bound->interrupted.load(relaxed);
  }

  static bool is_on_its_stack(goroutine* gp) noexcept {
    auto* sp = static_cast<std::byte*>(gp->saved.sp);
    return gp->on_stack && gp->on_stack.bottom <= sp && sp < gp->on_stack.top;
  }

  void write_runtime_stack() noexcept {
    out_ << "\nruntime stack:\n";
    space_.trace.walk_here(fault_context_);
    write_frames(true);
  }

  // `dies`: the first may be an instruction that has faulted, not one that merely runs.
  void write_frames(bool dies) noexcept {
    const backtrace& trace = space_.trace;
    for (std::size_t i = 0; i < trace.shown(); ++i) {
      if (i == backtrace::elided_after && trace.elided() > 0)
        out_ << "\t..." << trace.elided() << " frames elided...\n";
      out_ << '\t';
      write_address(trace[i].pc);
      out_ << (trace[i].exact && dies ? " (fault)\n" : "\n");
    }
  }

  void write_address(const void* address) noexcept {
    out_ << address;
    module_table::found in = space_.modules.find(address);
    if (in.path.empty()) return;
    out_ << ' ' << in.path << '+' << reinterpret_cast<const void*>(in.offset);
  }

  dump_space& space_;
  text out_;
  goroutine* first_;
  const void* fault_context_;
  running_stacks others_;
};

void show_names(naming& names, int fd, std::int64_t limit) noexcept {
  if (names.fd() < 0) return;
  printer(fd) << "\nsymbolized:\n";
  names.show(fd, shows_runtime(), limit);
}

}  // namespace

void set_after_dump(void (*then)()) noexcept {
  after_dump.store(then, relaxed);   // [order] relaxed: for this thread itself
}

void dump_at_death(const void* fault_context) noexcept {
  static dump_space space;
  if (current_settings().schedtrace_ms > 0) print_schedtrace(true);   // as Go
  traceback_level level = current_settings().traceback;
  if (level != traceback_level::none) {
    naming names;
    {
      walk_guard guard;
      machine* mp = this_machine();
      dump raw(space, 2, names.fd(), mp ? mp->current : nullptr, fault_context, true);
      raw.write_first();
      if (level != traceback_level::single || !mp || !mp->current) raw.write_others();
    }
    show_names(names, 2, naming_limit_at_death);
  }
  if (auto then = after_dump.load(relaxed)) then();   // [order] relaxed: set by this thread
}

}  // namespace weft::inline v0::rt

namespace weft::inline v0 {

void dump_goroutines(int fd) {
  using namespace rt;
  struct request {
    int fd, copy;
    goroutine* asker;
    dump_space* space;
  };
  void* pages = os::allocate_pages(sizeof(dump_space));
  if (!pages) throw std::bad_alloc();
  naming names;
  goroutine* asker = [] { return inside()->current; }();   // a plain thread's first call gives it one
  request what{fd, names.fd(), asker, static_cast<dump_space*>(pages)};
  auto write = [](void* p) {
    auto& r = *static_cast<request*>(p);
    walk_guard guard;
    dump raw(*r.space, r.fd, r.copy, r.asker, nullptr, false);
    raw.write_first();
    raw.write_others();
  };
  stop_the_world(write, &what);
  os::free_pages(pages, sizeof(dump_space));
  show_names(names, fd, naming_limit);
}

}  // namespace weft::inline v0
