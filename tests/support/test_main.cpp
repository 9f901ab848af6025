// main() of the tests: their compute threads wait as the program's do, so that tests that run side by side leave each
// other the cores. Otherwise they take no notice of each other, so that logs are the same.
#include <gmock/gmock.h>

#include <cstdlib>

#include "cnntrain/base/processor.h"

int main(int argc, char** argv) {
    setenv("CNNTRAIN_SHARE_PROCESSORS", "off", /*replace=*/0);
    cnntrain::limit_spinning(argv);
    testing::InitGoogleMock(&argc, argv);
    return RUN_ALL_TESTS();
}
