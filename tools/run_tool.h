// The measuring programs share this: options and errors, processor time.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>
#include <ctime>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/numbers.h"

namespace cnntrain {

/// Fills the options of `app` in, runs, prints an error if there is one, and returns the exit code.
template <typename Run> int run_tool(CLI::App& app, int argc, char** argv, Run run) {
    CLI11_PARSE(app, argc, argv);
    try {
        return run();
    } catch (const Error& error) {
        std::fprintf(stderr, "error: %s\n", error.what());
        return exit_code(error.kind());
    }
}

/// Processor time of all threads, which other programs on the machine change little.
inline double processor_seconds() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

}  // namespace cnntrain
