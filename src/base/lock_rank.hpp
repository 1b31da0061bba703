// lock_rank.hpp — the one order in which the runtime's locks may be taken; see weft/detail/lock_rank.hpp.
#pragma once
#include "weft/detail/lock_rank.hpp"
