// raw_lock.hpp — the runtime's lock. It lies in weft/detail because public types (mutex, chan) contain one.
#pragma once
#include "base/atomic.hpp"
#include "weft/detail/raw_lock.hpp"
