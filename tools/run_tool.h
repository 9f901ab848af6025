// What the measuring programs do with their words and errors.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>

#include "cnntrain/base/error.h"

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

}  // namespace cnntrain
