// Variables of the environment in texts.
#include "cnntrain/base/environment.h"
#include "support/matchers.h"

namespace cnntrain {
namespace {

TEST(Variables, AreReplacedWhereTheyAreSetAndListedWhereNot) {
    std::set<std::string> unset;
    const Variables variables = {{"A", "one"}, {"B_2", "two"}};
    EXPECT_EQ(expand("$A/${B_2}$A. $ $1 ${A", variables, unset), "one/twoone. $ $1 ${A");
    EXPECT_THAT(unset, IsEmpty());
    EXPECT_EQ(expand("$C ${D}/x", variables, unset), "$C ${D}/x");
    EXPECT_THAT(unset, ElementsAre("C", "D"));
}

TEST(Variables, BothOfOpenMpiLetRootLaunch) {
    Variables variables = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"}};
    EXPECT_FALSE(mpirun_allows_root({}));
    EXPECT_FALSE(mpirun_allows_root(variables));
    variables["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "0";
    EXPECT_FALSE(mpirun_allows_root(variables));
    variables["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1";
    EXPECT_TRUE(mpirun_allows_root(variables));
}

TEST(Variables, OfTheProcessAreThere) {
    EXPECT_TRUE(process_variables().contains("PATH"));
}

}  // namespace
}  // namespace cnntrain
