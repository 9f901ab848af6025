#include "cli/screen.h"

#include <unistd.h>

#include <cstdlib>

#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "cnntrain/comm/launcher.h"
#include "cnntrain/metrics/json_lines.h"

namespace cnntrain::cli {
namespace {

bool in_json = false;

/// A launcher whose variables cannot be read is refused elsewhere.
bool is_launched() {
    try {
        return comm::read_launched(comm::process_environment()).world.has_value();
    } catch (const Error&) {
        return true;
    }
}

Terminal terminal_of_stream(int descriptor) {
    return is_launched() ? Terminal() : terminal_of(descriptor, process_variables());
}

}  // namespace

Terminal console_terminal() {
    const Variables variables = process_variables();
    const auto given = variables.find(std::string(kColumnsVariable));
    if (!is_launched() || given == variables.end()) return terminal_of_stream(STDOUT_FILENO);
    const int columns = std::atoi(given->second.c_str());
    return columns > 0 ? Terminal{.columns = [columns] { return columns; }} : Terminal();
}

Terminal diagnostics_terminal() {
    return terminal_of_stream(STDERR_FILENO);
}

void report_in_json() {
    in_json = true;
    log::set_format(metrics::message_line);
}

bool reports_in_json() {
    return in_json;
}

}  // namespace cnntrain::cli
