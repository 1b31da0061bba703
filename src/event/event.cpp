// event.cpp — the one word behind the event port.
#include "event/event.hpp"

namespace weft::inline v0::rt {

constinit atomic<event_sink> installed_sink{nullptr};

}  // namespace weft::inline v0::rt
