// carried.inl — the few loads and stores that move errno and the exception globals with a goroutine.
#pragma once

namespace weft::inline v0::rt {

struct eh_globals_layout {   // the Itanium C++ ABI's __cxa_eh_globals (2.2.2)
  void* caught_exceptions;
  unsigned uncaught_exceptions;
};

inline void save_carried(carried_state& s, const carried_home& home) noexcept {
  auto* g = static_cast<eh_globals_layout*>(home.eh_globals);
  s.caught_exceptions = g->caught_exceptions;
  s.uncaught_exceptions = g->uncaught_exceptions;
  s.saved_errno = *home.errno_location;
}

inline void load_carried(const carried_state& s, const carried_home& home) noexcept {
  auto* g = static_cast<eh_globals_layout*>(home.eh_globals);
  g->caught_exceptions = s.caught_exceptions;
  g->uncaught_exceptions = s.uncaught_exceptions;
  *home.errno_location = s.saved_errno;
}

}  // namespace weft::inline v0::rt
