#include "support/faulty_calls.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>

namespace cnntrain::test {
namespace {

thread_local Fault* fault_here = nullptr;

/// True, with the error set, for the call that fails.
bool fails(const char* call, int error) {
    Fault* const fault = fault_here;
    fault_here = nullptr;  // what the fault itself calls is not counted
    const bool result = fault != nullptr && fault->strikes(call);
    fault_here = fault;
    if (result) errno = error;
    return result;
}

bool is_file(int descriptor) {
    struct stat status {};
    return fault_here != nullptr && ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

FaultyCalls::FaultyCalls(Fault& fault) {
    fault_here = &fault;
}

FaultyCalls::~FaultyCalls() {
    fault_here = nullptr;
}

}  // namespace cnntrain::test

extern "C" {

int open(const char* path, int flags, ...) {
    if (cnntrain::test::fails("open", EMFILE)) return -1;
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
ssize_t write(int descriptor, const void* data, size_t bytes) {
    if (cnntrain::test::is_file(descriptor) && cnntrain::test::fails("write", ENOSPC)) {
        ::syscall(SYS_write, descriptor, data, bytes / 2);
        errno = ENOSPC;
        return -1;
    }
    return ::syscall(SYS_write, descriptor, data, bytes);
}
int fsync(int descriptor) {
    return cnntrain::test::fails("fsync", EIO) ? -1 : static_cast<int>(::syscall(SYS_fsync, descriptor));
}
int rename(const char* from, const char* to) noexcept {
    return cnntrain::test::fails("rename", EIO) ? -1 : static_cast<int>(::syscall(SYS_rename, from, to));
}
int mkdir(const char* path, mode_t mode) noexcept {
    return cnntrain::test::fails("mkdir", ENOSPC) ? -1 : static_cast<int>(::syscall(SYS_mkdir, path, mode));
}

}  // extern "C"
