// benchmarks.yml: keys, merges, parameters, selection, mistakes; and the shipped file.
#include "launch/benchmark/spec.h"

#include <algorithm>
#include <map>

#include "cnntrain/base/text.h"
#include "launch/benchmark/command.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::benchmark::testing {
namespace {

class SpecFile : public ::testing::Test {
protected:
    Spec read(const std::string& text) { return read_spec({folder_.write("spec.yml", text)}); }
    std::string mistake(const std::string& text) {
        Spec spec;
        std::string refusal = refusal_of(ErrorKind::data, [&] { spec = read(text); });
        if (!refusal.empty()) return refusal;
        const auto broken =
            std::ranges::find_if(spec.entries, [](const Entry& entry) { return !entry.mistake.empty(); });
        return broken == spec.entries.end() ? "" : broken->mistake;
    }
    std::vector<std::string> variant_names(const std::string& text) {
        const Spec spec = read(text);
        std::vector<std::string> names;
        for (const Variant& variant : spec.entries.front().variants)
            names.push_back(variant_name(spec.entries.front(), variant));
        return names;
    }
    test::TemporaryFolder folder_;
};

TEST_F(SpecFile, AnOwnKeyReplacesAMergedOneWhole) {
    const Spec spec = read(
        "a_options: &a\n  location: x\n  timeout: 5\n  data:\n    loss: {regexp: '(a)'}\n    accuracy: {regexp: "
        "'(b)'}\n"
        "gen_b:\n  <<: *a\n  cmd: run it\n  data:\n    throughput: {regexp: '(c)', skip: 2, reduction_type: final}\n");
    ASSERT_THAT(spec.entries, SizeIs(2));
    EXPECT_TRUE(spec.entries[0].is_block);
    const Entry& entry = spec.entries[1];
    EXPECT_EQ(entry.location, "x");
    EXPECT_EQ(entry.timeout_seconds, 5.0);
    ASSERT_THAT(entry.metrics, SizeIs(1));
    EXPECT_EQ(entry.metrics[0].name, "throughput");
    EXPECT_EQ(entry.metrics[0].skip, 2);
    EXPECT_EQ(entry.metrics[0].reduction, Reduction::final);
}

TEST_F(SpecFile, TheFirstParameterVariesFastest) {
    EXPECT_THAT(
        variant_names("x:\n  cmd: a\n  parameters:\n    size: 1,4\n    replicas: 1,2\n"),
        ElementsAre("x_replicas_1_size_1", "x_replicas_1_size_4", "x_replicas_2_size_1", "x_replicas_2_size_4"));
    EXPECT_THAT(variant_names("x: {cmd: a}\n"), ElementsAre("x"));
    EXPECT_THAT(variant_names("x:\n  cmd: a\n  parameters:\n    size: 5\n"), ElementsAre("x_size_5"));
    EXPECT_THAT(variant_names("x:\n  cmd: a\n  parameters:\n    size: [1, 2]\n"), ElementsAre("x_size_1", "x_size_2"));
}

TEST_F(SpecFile, ParametersInRowsBelongTogether) {
    EXPECT_THAT(
        variant_names("x:\n  cmd: a\n  parameters:\n    - [config, file]\n    - [c1, f1, surplus]\n    - [c2, f2]\n"),
        ElementsAre("x_config_c1_file_f1", "x_config_c2_file_f2"));
    EXPECT_THAT(mistake("x:\n  cmd: a\n  parameters:\n    - [config, file]\n    - [c1]\n"), HasSubstr("1 values"));
}

TEST_F(SpecFile, NamesSayWhatIsNeeded) {
    const Spec spec =
        read("a_synth: {cmd: a}\nb_gen: {cmd: a}\nc: {cmd: a}\nd_conv: {cmd: a}\ne: {cmd: a, generated: true}\n");
    EXPECT_FALSE(spec.entries[0].needs_dataset);
    EXPECT_FALSE(spec.entries[1].needs_dataset);
    EXPECT_TRUE(spec.entries[2].needs_dataset);
    EXPECT_TRUE(spec.entries[3].is_convergence);
    EXPECT_FALSE(spec.entries[4].needs_dataset);
}

TEST_F(SpecFile, SelectionFollowsTheRequest) {
    const Spec spec = read("x_options: {location: a}\na: {cmd: a}\nb_conv: {cmd: b}\nc: {cmd: c}\n");
    const auto names = [&](const std::vector<std::string>& wanted, bool convergence) {
        std::vector<std::string> result;
        for (const Entry* entry : select(spec, wanted, convergence))
            result.push_back(entry->name);
        return result;
    };
    EXPECT_THAT(names({}, false), ElementsAre("a", "c"));
    EXPECT_THAT(names({}, true), ElementsAre("a", "b_conv", "c"));
    EXPECT_THAT(names({"c", "b_conv", "c"}, false), ElementsAre("c", "b_conv"));
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { names({"b_con"}, false); }), HasSubstr("b_conv"));
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { names({"x_options"}, false); }), Not(IsEmpty()));
}

TEST_F(SpecFile, SelectionMayLeaveNothing) {
    const Spec spec = read("b_conv: {cmd: b}\n");
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { select(spec, {}, false); }), HasSubstr("--include-convergence"));
}

TEST_F(SpecFile, MistakesAreNamedWithTheirPlace) {
    EXPECT_THAT(mistake("a:\n  cmd: [1\n"), HasSubstr("spec.yml: line "));
    EXPECT_THAT(mistake("- a\n"), HasSubstr("benchmark"));
    EXPECT_THAT(mistake(""), HasSubstr("benchmark"));
    EXPECT_THAT(mistake("a: 3\n"), HasSubstr("spec.yml"));
    EXPECT_THAT(mistake("a:\n  cmd: x\n  data:\n    loss:\n      skip: 1\n"), HasSubstr("'regexp'"));
    EXPECT_THAT(mistake("a:\n  cmd: x\n  data:\n    loss: {regexp: '(a', skip: 1}\n"), HasSubstr("pattern"));
    EXPECT_THAT(mistake("a:\n  cmd: x\n  data:\n    loss: {regexp: 'abc'}\n"), HasSubstr("exactly"));
    EXPECT_THAT(mistake("a:\n  cmd: x\n  data:\n    loss: {regxp: '(a)'}\n"), HasSubstr("'regexp'"));
    EXPECT_THAT(mistake("a:\n  cmd: x\n  data:\n    loss: {regexp: '(a)', reduction_type: meen}\n"),
                HasSubstr("'mean'"));
    EXPECT_THAT(mistake("a:\n  cmd: x\n  timeout: soon\n"), HasSubstr("expected"));
    EXPECT_THAT(message_of(ErrorKind::data, [] { read_spec({"/no/such/benchmarks.yml"}); }),
                HasSubstr("/no/such/benchmarks.yml"));
    EXPECT_THAT(message_of(ErrorKind::data, [] { read_spec({"/tmp"}); }), HasSubstr("benchmarks.yml"));
}

/// A spec with a gap, "@", and the kinds of node that may stand there: text, list, mapping, nothing.
struct Place {
    std::string spec;
    std::string kinds;
};

TEST_F(SpecFile, ANodeOfTheWrongKindIsAMistakeOfTheFile) {
    const std::vector<Place> places = {
        {"? @\n: {cmd: a}\n", "t"},
        {"x: @\n", "m"},
        {"x: {? @ : a}\n", "t"},
        {"x:\n  <<: @\n", "lm"},
        {"x:\n  cmd: @\n", "t"},
        {"x:\n  location: @\n", "t"},
        {"x:\n  reference_directory: @\n", "t"},
        {"x:\n  timeout: @\n", "t"},
        {"x:\n  allow_wandb: @\n", "t"},
        {"x:\n  generated: @\n", "t"},
        {"x:\n  synthetic: @\n", "t"},
        {"x:\n  notebook: @\n", "tlmn"},
        {"x:\n  description: @\n", "tlmn"},
        {"x:\n  readme: @\n", "tlmn"},
        {"x:\n  requirements_file: @\n", "tlmn"},
        {"x:\n  no_such_key: @\n", "tlmn"},
        {"x:\n  parameters: @\n", "lmn"},
        {"x:\n  parameters: {? @ : a}\n", "t"},
        {"x:\n  parameters: {a: @}\n", "tl"},
        {"x:\n  parameters: {a: [@]}\n", "t"},
        {"x:\n  parameters: [@, [a]]\n", "l"},
        {"x:\n  parameters: [[a], @]\n", "l"},
        {"x:\n  parameters: [[@], [a]]\n", "t"},
        {"x:\n  parameters: [[a], [@]]\n", "t"},
        {"x:\n  env: @\n", "mn"},
        {"x:\n  env: {? @ : a}\n", "t"},
        {"x:\n  env: {a: @}\n", "t"},
        {"x:\n  data: @\n", "mn"},
        {"x:\n  data: {a: @}\n", "m"},
        {"x:\n  data: {a: {regexp: @}}\n", "t"},
        {"x:\n  data: {a: {regexp: (a), skip: @}}\n", "t"},
        {"x:\n  data: {a: {regexp: (a), reduction_type: @}}\n", "t"},
        {"x:\n  derived: @\n", "mn"},
        {"x:\n  derived: {a: @}\n", "m"},
        {"x:\n  derived: {a: {expr: @}}\n", "t"},
        {"x:\n  derived: {a: {expr: 1, reduction_type: @}}\n", "t"},
        {"x:\n  output: @\n", "ln"},
        {"x:\n  output: [@]\n", "l"},
        {"x:\n  output: [[@, a]]\n", "t"},
        {"x:\n  output: [[a, @]]\n", "t"},
    };
    const std::map<char, std::vector<std::string>> fillings = {
        {'t', {"5", "word", "''"}},
        {'l', {"[]", "[a, b]", "[[a], [b]]", "[{a: b}]", "[~]", "&self [*self, *self]"}},
        {'m',
         {"{}", "{a: b}", "{a: {b: c}}", "{a: [b]}", "{<<: word}", "{<<: [{a: b}, [c]]}", "{? [a] : b}",
          "{cmd: a, ~: b}", "&self {a: *self, cmd: *self, regexp: *self}", "&self {<<: *self}"}},
        {'n', {"~"}},
    };
    for (const Place& place : places) {
        for (const auto& [kind, texts] : fillings) {
            const bool may_stand_there = place.kinds.find(kind) != std::string::npos;
            for (const std::string& filling : texts) {
                std::string text = place.spec;
                text.replace(text.find('@'), 1, filling);
                SCOPED_TRACE(text);
                const std::string message = mistake(text);  // an Error(data): anything else fails the test
                if (may_stand_there && message.empty()) continue;
                EXPECT_THAT(message, HasSubstr("spec.yml: "));
            }
        }
    }
}

TEST_F(SpecFile, AMergeOfItselfIsRefused) {
    EXPECT_THAT(mistake("x: &a {<<: *a}\n"), HasSubstr("spec.yml"));
    EXPECT_THAT(mistake("x: &a\n  <<: &b\n    <<: [*a, *b]\n"), HasSubstr("reference"));
    EXPECT_THAT(mistake("x: {cmd: a, output: {a: b}}\n"), HasSubstr("expected"));
}

/// Each mapping merges the one before it twice: 2^60 in all.
TEST_F(SpecFile, AMergeOfMergesHasALimit) {
    std::string text = "x0: &x0 {cmd: a}\n";
    for (int i = 1; i <= 60; ++i) {
        const std::string before = "*x" + std::to_string(i - 1);
        text += "x" + std::to_string(i) + ": &x" + std::to_string(i) + " {<<: [" + before + ", " + before + "]}\n";
    }
    EXPECT_THAT(mistake(text), HasSubstr("20000 values"));
}

TEST_F(SpecFile, TheNumberOfCombinationsHasALimit) {
    std::string parameters = "x:\n  cmd: a\n  parameters:\n";
    for (int i = 0; i < 4; ++i)
        parameters += "    p" + std::to_string(i) + ": 0,1,2,3,4,5,6,7,8,9\n";
    EXPECT_EQ(mistake(parameters), "");
    EXPECT_THAT(mistake(parameters + "    p4: 0,1\n"), HasSubstr("spec.yml"));
    for (int i = 4; i < 12; ++i)
        parameters += "    p" + std::to_string(i) + ": 0,1,2,3,4,5,6,7,8,9\n";
    EXPECT_THAT(mistake(parameters), HasSubstr("10000 combinations"));
    const std::string half =
        "  cmd: a\n  parameters: {a: '0,1,2,3,4,5,6,7,8,9', b: '0,1,2,3,4,5,6,7,8,9', c: "
        "'0,1,2,3,4,5,6,7,8,9', d: '0,1,2,3,4'}\n";
    EXPECT_EQ(mistake("x:\n" + half + "y:\n" + half), "");
    EXPECT_THAT(mistake("x:\n" + half + "y:\n" + half + "z: {cmd: b}\n"), HasSubstr("10000 combinations"));
}

TEST_F(SpecFile, AnEntryWithoutCommandCannotBeRun) {
    const Spec spec = read("a: {cmd: x}\nb: {location: y}\n");
    EXPECT_THAT(message_of(ErrorKind::data, [&] { select(spec, {"b"}, false); }), HasSubstr("spec.yml"));
    EXPECT_THAT(select(spec, {"a"}, false), SizeIs(1));
}

TEST_F(SpecFile, OddThingsAreWarnedOf) {
    const Spec spec = read("a: {cmd: x}\nb: {cmd: y, enviroment: {}}\na: {cmd: z}\n");
    ASSERT_THAT(spec.entries, SizeIs(2));
    EXPECT_EQ(spec.entries[0].command, "z");
    EXPECT_THAT(spec.warnings, ElementsAre(HasSubstr("'enviroment'"), HasSubstr("lines 1 and 3")));
}

TEST_F(SpecFile, AMistakeStopsThoseWhoRunItsEntry) {
    const Spec spec = read("good: {cmd: x}\nbad:\n  cmd: y\n  data:\n    loss: {regexp: 'x('}\n");
    EXPECT_THAT(spec.warnings, ElementsAre(HasSubstr("spec.yml")));
    EXPECT_THAT(select(spec, {"good"}, false), SizeIs(1));
    for (const std::vector<std::string>& names : {std::vector<std::string>{"bad"}, std::vector<std::string>{}})
        EXPECT_THAT(message_of(ErrorKind::data, [&] { select(spec, names, false); }), HasSubstr("pattern"));
    const Spec parts = read("some_options: {cmd: x}\n");
    EXPECT_THAT(message_of(ErrorKind::data, [&] { select(parts, {}, false); }), HasSubstr("benchmark"));
}

TEST_F(SpecFile, LaterFilesReplaceEqualNames) {
    const Spec spec =
        read_spec({folder_.write("1.yml", "a: {cmd: x}\nb: {cmd: y}\n"), folder_.write("2.yml", "a: {cmd: z}\n")});
    EXPECT_EQ(spec.entries[0].command, "z");
    EXPECT_THAT(spec.warnings, IsEmpty());
}

TEST(ShippedSpec, HoldsThePublishedBenchmarks) {
    const Spec spec = read_spec({CNNTRAIN_SOURCE_DIR "/configs/benchmarks.yml"});
    EXPECT_THAT(spec.warnings, IsEmpty());
    std::size_t entries = 0;
    std::size_t variants = 0;
    const Entry* inference = nullptr;
    for (const Entry& entry : spec.entries) {
        if (entry.is_block) continue;
        ++entries;
        variants += entry.variants.size();
        EXPECT_FALSE(entry.command.empty()) << entry.name;
        EXPECT_FALSE(entry.metrics.empty()) << entry.name;
        EXPECT_FALSE(entry.columns.empty()) << entry.name;
        if (entry.name == "tf1_resnet50_infer_synth_1ipu") inference = &entry;
    }
    // The published entries for CNNs have 37 names and 148 variants; one of two entries with the same name has a name
    // of its own here. The entries for BERT's pretraining have 7 names and 10 variants.
    EXPECT_EQ(entries, 52U);
    EXPECT_EQ(variants, 170U);
    ASSERT_NE(inference, nullptr);
    EXPECT_THAT(inference->variants, SizeIs(6));
    EXPECT_THAT(inference->variants.back(), ElementsAre(Pair("batchsize", "90")));
}

/// The configurations exist; throughput is a mean without the first three values, the other metrics are last values.
TEST(ShippedSpec, HoldsThoseOfPretraining) {
    const Spec spec = read_spec({CNNTRAIN_SOURCE_DIR "/configs/benchmarks.yml"});
    constexpr std::string_view kConfig = "configs/";
    int variants = 0;
    for (const Entry& entry : spec.entries) {
        if (entry.name.find("bert") == std::string::npos || entry.name.find("squad") != std::string::npos) continue;
        EXPECT_TRUE(entry.needs_dataset);
        EXPECT_EQ(entry.is_convergence, entry.name.ends_with("_pod64_conv"));
        std::vector<std::string> metrics;
        for (const Metric& metric : entry.metrics) {
            metrics.push_back(metric.name);
            EXPECT_EQ(metric.skip, metric.name == "throughput" ? 3 : 0);
            EXPECT_EQ(metric.reduction, metric.name == "throughput" ? Reduction::mean : Reduction::final);
        }
        EXPECT_THAT(metrics, ElementsAre("throughput", "mlm_acc", "mlm_loss", "nsp_acc", "nsp_loss"));
        for (const Variant& variant : entry.variants) {
            ++variants;
            const std::string line = fill_placeholders(entry, variant);
            const std::size_t begin = line.find(kConfig) + kConfig.size();
            const std::string config = line.substr(begin, line.find_first_of(" \"", begin) - begin);
            EXPECT_TRUE(exists(posix_files(), CNNTRAIN_SOURCE_DIR "/configs/bert/" + std::string(last_part(config))))
                << line;
            const bool long_ones = config.find("_384") != std::string::npos;
            std::string data = long_ones ? "/tokenised_384_dup5_mask58/" : "/tokenised_128_dup5_mask20/";
            if (config.starts_with("groupbert/")) data = long_ones ? "384_dup5_no_remask/" : "128_dup5_no_remask/";
            if (entry.name == "tf1_groupbert_base_pretrain_real_pod16")
                data = long_ones ? "/wikipedia/384/wiki_1[0-1]*" : "/wikipedia/128/wiki_1[0-1]*";
            EXPECT_THAT(line, HasSubstr(data));
        }
    }
    EXPECT_EQ(variants, 10);
}

}  // namespace
}  // namespace cnntrain::benchmark::testing
