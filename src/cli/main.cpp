#include "cli/commands.h"
#include "cnntrain/base/spinning.h"

int main(int argc, char** argv) {
    cnntrain::limit_spinning(argv);
    return cnntrain::cli::run_program(argv[0], {argv + 1, argv + argc});
}
