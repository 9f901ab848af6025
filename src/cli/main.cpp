#include "cli/commands.h"
#include "cli/console.h"
#include "cnntrain/base/memory.h"
#include "cnntrain/base/processor.h"

int main(int argc, char** argv) {
    cnntrain::cli::ignore_as_at_start();
    cnntrain::limit_spinning(argv);
    cnntrain::give_large_memory_back();
    return cnntrain::cli::run_program(argv[0], {argv + 1, argv + argc});
}
