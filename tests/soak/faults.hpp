// faults.hpp — see faults.cpp.
#pragma once

namespace soak {

enum class fault { none, fails, hangs };   // three of four creations fail; one of ten hangs for a second

void make_threads_suffer(fault how);       // from now on; any thread
int faults_suffered();                     // so many times

}  // namespace soak
