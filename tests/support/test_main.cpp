// main() of the tests: their compute threads wait as the program's do, so that tests that run side by side leave each
// other the cores.
#include <gmock/gmock.h>

#include "cnntrain/base/processor.h"

int main(int argc, char** argv) {
    cnntrain::limit_spinning(argv);
    testing::InitGoogleMock(&argc, argv);
    return RUN_ALL_TESTS();
}
