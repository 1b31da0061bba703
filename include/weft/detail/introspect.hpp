// introspect.hpp — questions for tools, examples and tests; not part of the stable interface.
#pragma once

namespace weft::inline v0::detail {

// The index of the P that runs the caller; -1 on a thread without one. Out of date as soon as it is known.
int processor_id() noexcept;

}  // namespace weft::inline v0::detail
