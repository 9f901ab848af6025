#include "cli/commands.h"

int main(int argc, char** argv) {
    return cnntrain::cli::run_program(argv[0], {argv + 1, argv + argc});
}
