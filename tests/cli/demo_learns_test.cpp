// cnntrain demo with its defaults learns the shapes.
#include <gtest/gtest.h>

#include <string>

#include "cli/shell.h"
#include "cnntrain/insight/run_record.h"
#include "support/temporary_folder.h"

namespace cnntrain::cli {
namespace {

TEST(DemoByDefault, LearnsTheShapes) {
    const test::TemporaryFolder folder;
    const Outcome made = run("demo " + (folder / "shapes"));
    ASSERT_EQ(made.exit_code, 0) << made.text;
    const report::Table validation(folder.read("shapes/run/validation.csv"));
    ASSERT_EQ(validation.rows(), 8U);
    EXPECT_LT(validation.number(0, "val_acc"), 60);
    EXPECT_GT(validation.number(7, "val_acc"), 88);
}

}  // namespace
}  // namespace cnntrain::cli
