// A call of the system that fails. faulty_calls.cpp replaces functions of the C library in the whole process: compile
// it into an executable of its own.
#pragma once

#include "support/faults.h"

namespace cnntrain::test {

/// While an object of this class exists, calls of this thread to open(), write() to files, fsync(), rename() and
/// mkdir() are counted, and the one with the number of the fault fails as on a broken or full disk. A failing write()
/// has written half. Only one object may exist at a time.
class FaultyCalls {
public:
    explicit FaultyCalls(Fault& fault);
    ~FaultyCalls();
    FaultyCalls(const FaultyCalls&) = delete;
    FaultyCalls& operator=(const FaultyCalls&) = delete;
};

}  // namespace cnntrain::test
