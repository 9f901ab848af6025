#include "cli/screen.h"

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/text.h"
#include "cnntrain/parallel/communicator.h"
#include "cnntrain/run/text_reports.h"

namespace cnntrain::cli {
namespace {

bool in_json = false;
std::streambuf* standard_output = nullptr;  // behind a PrintableOutput

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

/// Every text is one of a call of operator<<, so that no character of UTF-8 is split.
class PrintableBuffer : public std::streambuf {
public:
    explicit PrintableBuffer(std::streambuf& to) : to_(to) {}

protected:
    int_type overflow(int_type c) override {
        if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
        const char one = traits_type::to_char_type(c);
        return xsputn(&one, 1) == 1 ? c : traits_type::eof();
    }
    std::streamsize xsputn(const char* text, std::streamsize count) override {
        const std::string shown = printable_lines({text, static_cast<std::size_t>(count)});
        const auto size = static_cast<std::streamsize>(shown.size());
        return to_.sputn(shown.data(), size) == size ? count : 0;
    }
    int sync() override { return to_.pubsync(); }

private:
    std::streambuf& to_;
};

std::optional<PrintableBuffer> printable_buffer;

}  // namespace

PrintableOutput::PrintableOutput() {
    standard_output = std::cout.rdbuf();
    std::cout.rdbuf(&printable_buffer.emplace(*standard_output));
}

PrintableOutput::~PrintableOutput() {
    std::cout.rdbuf(standard_output);
    standard_output = nullptr;
}

std::ostream& terminal_output() {
    static std::ostream output(nullptr);
    std::streambuf* const now = standard_output != nullptr ? standard_output : std::cout.rdbuf();
    if (output.rdbuf() != now) output.rdbuf(now);  // this would clear errors
    return output;
}

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
