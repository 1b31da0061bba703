// faults.hpp — see faults.cpp.
#pragma once

namespace soak {

enum class fault { none, fails, hangs };   // half of all creations fail; one of 20 hangs for a second

void make_threads_suffer(fault how);       // from now on; any thread
int faults_suffered();                     // so many times

}  // namespace soak
