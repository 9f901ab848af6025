#include "cli/own_program.h"

#include <filesystem>
#include <system_error>

#include "cnntrain/base/error.h"

namespace cnntrain::cli {

std::string own_program() {
    std::error_code failed;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
    if (failed) throw Error(ErrorKind::unsupported, "/proc is needed to find this program");
    return self;
}

}  // namespace cnntrain::cli
