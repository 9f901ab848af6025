// Limits of YAML files.
#include "cnntrain/options/line.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "config/parsing.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::options::testing {
namespace {

/// "" when the text is sound.
std::string mistake(const std::string& text) {
    return refusal_of(ErrorKind::usage, [&] { check_yaml(text, ErrorKind::usage); });
}

/// `levels` mappings of which each holds the one before it `copies` times.
std::string nested_references(int levels, int copies) {
    std::string text = "a0: &a0 {epochs: 1}\n";
    for (int i = 1; i <= levels; ++i) {
        text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " {<<: [";
        for (int copy = 0; copy < copies; ++copy)
            text += (copy == 0 ? "*a" : ", *a") + std::to_string(i - 1);
        text += "]}\n";
    }
    return text;
}

TEST(CheckYaml, SoundTextsPass) {
    for (const char* text : {"", "a", "a: &x {b: 1}\nc: {<<: *x}\nd: [*x, *x]\n", "- &x 1\n- &x 2\n- *x\n"})
        EXPECT_EQ(mistake(text), "") << text;
    EXPECT_EQ(mistake(nested_references(20, 1)), "");
}

TEST(CheckYaml, MistakesHaveTheirLine) {
    EXPECT_THAT(mistake("a: 1\nb: [1\n"), HasSubstr("line "));
    EXPECT_THAT(mistake(", a: 1\n"), HasSubstr("line 1: "));
    EXPECT_THAT(mistake("a: 1\n---\n, b\n"), HasSubstr("line 3: "));
    EXPECT_THAT(mistake("a: 1\nb: *nobody\n"), AllOf(HasSubstr("line 2: "), HasSubstr("anchor")));
}

TEST(CheckYaml, ASecondDocumentIsRefused) {
    EXPECT_THAT(mistake("a: 1\n---\nb: 2\n"), HasSubstr("line 2: "));
    EXPECT_THAT(mistake("a: 1\n---\n--- b\n"), HasSubstr("line 3: "));
    for (const char* text : {"---\na: 1\n", "a: 1\n...\n", "a: 1\n---\n"})
        EXPECT_EQ(mistake(text), "") << text;
}

TEST(CheckYaml, WhatContainsItselfIsRefused) {
    EXPECT_THAT(mistake("x: &x {<<: *x}\n"), Not(IsEmpty()));
    EXPECT_THAT(mistake("a: 1\nx: &x\n  - y: *x\n"), HasSubstr("line 3: "));
}

TEST(CheckYaml, ReferencesCountAsWhatStandsForThem) {
    EXPECT_THAT(mistake(nested_references(12, 4)), HasSubstr("20000 values"));
    EXPECT_THAT(mistake(nested_references(90, 1)), HasSubstr("64 deep"));
    EXPECT_THAT(mistake(std::string(100'000, '[')), HasSubstr("64 deep"));
}

class YamlFiles : public ::testing::Test {
protected:
    std::string write(const std::string& text) const { return folder_.write("x.yml", text); }
    static std::string error_of(const std::string& place, const std::string& config, ErrorKind kind) {
        return message_of(kind, [&] { read_config(config, {place}); });
    }

    test::TemporaryFolder folder_;
};

TEST_F(YamlFiles, ConfigurationsHaveTheirLimits) {
    const std::string file = write("x: &x {<<: *x}\n");
    EXPECT_THAT(error_of(file, "x", ErrorKind::usage), HasSubstr(file));
    write(nested_references(90, 2));
    EXPECT_THAT(error_of(file, "a90", ErrorKind::usage), HasSubstr(file));
    write("x: {epochs: 1}\n");
    std::filesystem::resize_file(file, 1'000'001);
    EXPECT_THAT(error_of(file, "x", ErrorKind::data), HasSubstr("1000001 bytes"));
}

TEST_F(YamlFiles, PipesAndLoopsOfLinksAreNamed) {
    const std::string pipe = folder_ / "pipe.yml";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_THAT(error_of(pipe, "x", ErrorKind::data), Not(IsEmpty()));
    const std::string loop = folder_ / "loop";
    ASSERT_EQ(::symlink("loop", loop.c_str()), 0);
    EXPECT_THAT(error_of(loop, "x", ErrorKind::data), Not(IsEmpty()));
}

}  // namespace
}  // namespace cnntrain::options::testing
