// Command lines that nobody should type: every option with every extreme value, and random mixtures of them, with
// --dry-run. Each must end by itself, soon, in little memory and with an exit code that blames the line; nothing may be
// written.
//
// usage: command_lines_fuzz [-every=K] [-runs=N] [-seed=S]
//            every K-th line of the whole list (default all), then N random ones
//        command_lines_fuzz WORD...
//            this line, with its output
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cnntrain/base/rng.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/tasks/tasks.h"
#include "support/words.h"

namespace {

using cnntrain::Rng;
using cnntrain::options::Option;
using cnntrain::options::Type;
using Words = std::vector<std::string>;

constexpr int kCpuSeconds = 5;
constexpr unsigned kWallSeconds =
    100;  // the machine may be busy with other things; a line that waits for ever is found too
constexpr long kMostKilobytes = 500'000;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMeasures = false;  // these take their own time and memory
#else
constexpr bool kMeasures = true;
#endif

/// A sound line, to which options are added.
struct Context {
    cnntrain::options::Command command;
    std::string line;
};

std::vector<Context> contexts() {
    using cnntrain::options::Command;
    const std::string cifar = " --dataset cifar-10 --generated-data";
    const std::string small = cifar + " --model-size 8";
    const std::string files = " --dataset imagenet --data-dir /no/such/folder";
    return {
        {Command::train, "train" + small},
        {Command::train, "train --model-size 18" + files},
        {Command::train, "train --lr-schedule cosine --iterations 10" + small},
        {Command::train, "train --model resnext --lr-schedule exponential --lr-decay-rate 0.5 --lr-drops 3" + cifar},
        {Command::train, "train --lr-schedule polynomial_decay_lr --optimiser LARS --model-size 8" + cifar},
        {Command::train, "train --lr-schedule gradual_warmup_then_dec --model-size 8" + cifar},
        {Command::train, "train --model efficientnet --model-size cifar --optimiser RMSprop" + cifar},
        {Command::validation, "validation" + small},
        {Command::validation, "validation --model efficientnet" + files},
        {Command::inference, "inference --iterations 5" + small},
        {Command::inference, "inference --model resnext" + files},
        {Command::restore, "restore --restore-path /no/such/run"},
    };
}

std::string text_of(double value) {
    std::array<char, 64> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    return {text.data(), end};
}

Words whole_numbers(const Option& option) {
    // clang-format off
    Words values = {
        "-9223372036854775809", "-9223372036854775808", "-4294967296", "-1", "0", "1", "2", "3", "7", "255", "65536",
        "1000000", "16777216", "2147483647", "2147483648", "4294967295", "4294967296", "536870912",
        "9007199254740993", "9223372036854775807", "9223372036854775808", "18446744073709551616",
        std::string(400, '9'), "1e3", "1.5", "nan", "", "0x10"};
    // clang-format on
    for (const double limit : {option.range.low, option.range.high}) {
        if (!(limit > -9e18 && limit < 9e18)) continue;
        const auto whole = static_cast<std::int64_t>(limit);
        for (const std::int64_t beside : {whole - 1, whole, whole + 1})
            values.push_back(std::to_string(beside));
    }
    return values;
}

Words numbers(const Option& option) {
    // clang-format off
    Words values = {
        "-1e308", "-1e38", "-1", "-1e-30", "-0.0", "0", "5e-324", "1e-308", "1e-38", "1.2e-38", "1e-7", "0.5", "1",
        "2", "3", "1e9", "1e18", "3e38", "3.5e38", "1e308", "1e309", "inf", "-inf", "nan", "", "1,2", "x",
        "16777216", std::string(400, '9')};
    // clang-format on
    for (const double limit : {option.range.low, option.range.high}) {
        if (std::abs(limit) < 1e300) values.push_back(text_of(limit));
    }
    return values;
}

Words texts() {
    // clang-format off
    return {
        "", "x", "-", "/", "/dev/null", "/dev/zero", "../../x", "a b", "a,b", "%s%n", "\xff", "\n", "\x01", "0", "[",
        "{", "*", "a\\", std::string(100'000, 'a'), std::string(5000, '/')};
    // clang-format on
}

/// The values with which an option is tried, each as the words after its flag.
std::vector<Words> values_of(const Option& option) {
    Words single;
    switch (option.type) {
        case Type::of_member:
        case Type::boolean:
            return {{}, {"x"}};
        case Type::boolean_value:
            return {{}, {"true"}, {"false"}, {"x"}, {""}};
        case Type::integer:
        case Type::integers:
            single = whole_numbers(option);
            break;
        case Type::number:
        case Type::numbers:
            single = numbers(option);
            break;
        case Type::choice:
            single = {"", "x", std::string(100'000, 'a')};
            single.insert(single.end(), option.choices.begin(), option.choices.end());
            break;
        case Type::structure:
            single = {"[[\"emb\"], [\"hid\"]]", "[1, 2]", "{\"0\": 1}", "{\"x\": []}", "[[[1]]]", "[1",
                      std::string(100'000, '[')};
            break;
        case Type::text:
        case Type::texts:
        case Type::patterns:
            single = texts();
    }
    std::vector<Words> all = {{}};
    for (const std::string& value : single)
        all.push_back({value});
    all.push_back({"1", "2"});
    if (is_list(option)) all.emplace_back(20'000, "1");
    return all;
}

/// `--flag=value`, so that negative and empty values are values.
void append(Words& line, const std::string& flag, const Words& values) {
    if (values.size() == 1) {
        line.push_back(flag + "=" + values.front());
        return;
    }
    line.push_back(flag);
    line.insert(line.end(), values.begin(), values.end());
}

/// The flags of an option: itself, its --no- form, its old names.
Words flags_of(const Option& option) {
    Words flags = {documented_flag(option)};
    if (is_boolean(option) && !is_action(option)) flags.push_back(cnntrain::options::negated(flags.front()));
    for (const auto& alias : option.aliases) {
        if (alias.flag.starts_with("--")) flags.emplace_back(alias.flag);
    }
    return flags;
}

std::vector<const Option*> options_of(const Context& context) {
    using namespace cnntrain::options;
    const Words words = cnntrain::test::words(context.line);
    const OptionSet& options = cnntrain::tasks::parse_command_line(context.command, {"--help"}, {}).task->options();
    const auto is_met = [&](const Need& need) {
        const Option& other = options.at(need.key);
        const auto given = std::ranges::find(words, other.flag);
        return allows(need, other, given == words.end() ? other.fallback : Value(*(given + 1)));
    };
    std::vector<const Option*> all;
    for (const Option& option : options.rows()) {
        const bool taken = (option.commands & bit(context.command)) != 0 && option.flag != "--help";
        if (taken && std::ranges::all_of(option.exists_with, is_met)) all.push_back(&option);
    }
    return all;
}

/// The other commands, whose flags are not in the table.
std::vector<Words> other_lines() {
    const Option number{.flag = "", .type = Type::number};
    const Option whole{.flag = "", .type = Type::integer};
    std::vector<Words> lines;
    const auto add = [&](const std::string& line, const std::string& flag, const Words& values) {
        for (const std::string& value : values) {
            Words words = cnntrain::test::words(line);
            append(words, flag, {value});
            lines.push_back(words);
        }
    };
    const std::string benchmark = "benchmark --dry-run --benchmark tf1_resnet50_infer_synth_1ipu";
    for (const char* flag : {"--timeout", "--progress-trace-period"})
        add(benchmark, flag, numbers(number));
    for (const char* flag : {"--set", "--benchmark", "--logging", "--csv-metrics", "--spec"})
        add(benchmark, flag, texts());
    add("average --restore-path /no/such/run --mode mean --filename x", "-N", whole_numbers(whole));
    add("average --restore-path /no/such/run --mode exponential --filename x", "--decay", numbers(number));
    add("average --restore-path /no/such/run --mode mean --filename x", "--discard-last", whole_numbers(whole));
    add("analyse --restore-path /no/such/run --find-nans", "--first-fail-index", whole_numbers(whole));
    for (const char* flag : {"--threads", "--records"})
        add("dataset inspect /no/such/folder", flag, whole_numbers(whole));
    return lines;
}

/// One line after the other: all of them together are so much memory that each process would take milliseconds to copy.
template <typename Visit> void for_each_line(Visit visit) {
    std::ranges::for_each(other_lines(), visit);
    for (const Context& context : contexts()) {
        for (const Option* option : options_of(context)) {
            for (const std::string& flag : flags_of(*option)) {
                for (const Words& values : values_of(*option)) {
                    Words line = cnntrain::test::words(context.line + " --dry-run");
                    append(line, flag, values);
                    visit(line);
                }
            }
        }
    }
}

template <typename T> const T& one_of(const std::vector<T>& all, Rng& rng) {
    return all[static_cast<std::size_t>(rng.integer(0, static_cast<std::int64_t>(all.size())))];
}

Words random_line(Rng& rng) {
    static const std::vector<Context> all = contexts();
    const Context& context = one_of(all, rng);
    const std::vector<const Option*> options = options_of(context);
    Words line = cnntrain::test::words(context.line + " --dry-run");
    const std::int64_t count = rng.integer(2, 7);
    for (std::int64_t i = 0; i < count; ++i) {
        const Option& option = *one_of(options, rng);
        // Numbers are mostly in range: only their products can still go wrong.
        const bool bounded = std::abs(option.range.low) < 1e300 && std::abs(option.range.high) < 1e300;
        if (bounded && rng.uniform() < 0.7) {
            const bool whole = option.type == Type::integer || option.type == Type::integers;
            const double value = rng.uniform() < 0.5
                                     ? option.range.high
                                     : option.range.low + rng.uniform() * (option.range.high - option.range.low);
            append(line, documented_flag(option),
                   {whole ? std::to_string(static_cast<std::int64_t>(value)) : text_of(value)});
        } else {
            append(line, one_of(flags_of(option), rng), one_of(values_of(option), rng));
        }
    }
    return line;
}

/// "" when the line ended as it should.
std::string judged(int status, const rusage& usage, const std::string& output) {
    constexpr std::array kFine = {0, 1, 2, 3, 4};
    if (WIFSIGNALED(status)) {
        const int signal = WTERMSIG(status);
        if (signal == SIGPROF || signal == SIGALRM) return "it takes longer than its time";
        return "signal " + std::to_string(signal);
    }
    const int code = WEXITSTATUS(status);
    if (std::ranges::find(kFine, code) == kFine.end()) return "exit code " + std::to_string(code);
    if (kMeasures && usage.ru_maxrss > kMostKilobytes) return std::to_string(usage.ru_maxrss / 1000) + " MB";
    const bool says_so =
        output.find("error: ") != std::string::npos || output.find(R"("event":"error")") != std::string::npos;
    if (code != 0 && !says_so) return "no error is printed";
    return "";
}

std::string contents(std::FILE* file) {
    std::string text;
    std::rewind(file);
    std::array<char, 65536> buffer{};
    for (std::size_t count = 1; count > 0;) {
        count = std::fread(buffer.data(), 1, buffer.size(), file);
        text.append(buffer.data(), count);
    }
    return text;
}

/// Runs the program in a forked process, which shares what is loaded with this one. Returns the fault; "" for none.
std::string run(const Words& line) {
    std::FILE* output = std::tmpfile();
    if (output == nullptr) return "no temporary file";
    std::cout << std::flush;
    const pid_t child = fork();
    if (child == 0) {
        dup2(fileno(output), STDOUT_FILENO);
        dup2(fileno(output), STDERR_FILENO);
        if (kMeasures) {
            const itimerval limit{{0, 0}, {kCpuSeconds, 0}};
            setitimer(ITIMER_PROF, &limit, nullptr);
        }
        alarm(kWallSeconds);
        const int code = cnntrain::cli::run_program("cnntrain", line);
        std::cout << std::flush;
        std::_Exit(code);
    }
    int status = 0;
    rusage usage{};
    wait4(child, &status, 0, &usage);
    const std::string text = contents(output);
    std::fclose(output);
    const std::string fault = judged(status, usage, text);
    return fault.empty()
               ? ""
               : fault +
                     "; its output ends with: " + text.substr(text.size() - std::min<std::size_t>(text.size(), 300));
}

std::string shown(const Words& line) {
    std::string text;
    for (const std::string& word : line) {
        text += " '" +
                (word.size() > 200 ? word.substr(0, 60) + "...(" + std::to_string(word.size()) + " letters)" : word) +
                "'";
    }
    return text;
}

class Trial {
public:
    void check(const Words& line) {
        ++lines_;
        const std::string fault = run(line);
        if (fault.empty()) return;
        ++faults_;
        std::cerr << "cnntrain" << shown(line) << "\n  " << fault << "\n";
    }
    int conclude(const std::filesystem::path& folder) const {
        const bool clean = std::filesystem::is_empty(folder);
        if (!clean) std::cerr << "files were written into " << folder << "\n";
        std::cout << lines_ << " lines, " << faults_ << " faults\n";
        return faults_ == 0 && clean ? 0 : 1;
    }

private:
    std::int64_t lines_ = 0;
    std::int64_t faults_ = 0;
};

std::int64_t value_of(const std::string& word) {
    return std::strtoll(word.substr(word.find('=') + 1).c_str(), nullptr, 10);
}

}  // namespace

int main(int argc, char** argv) {
    const Words words(argv + 1, argv + argc);
    std::int64_t every = 1;
    std::int64_t runs = 0;
    std::uint64_t seed = 1;
    for (const std::string& word : words) {
        if (word.starts_with("-every=")) {
            every = value_of(word);
        } else if (word.starts_with("-runs=")) {
            runs = value_of(word);
        } else if (word.starts_with("-seed=")) {
            seed = static_cast<std::uint64_t>(value_of(word));
        } else {
            return cnntrain::cli::run_program("cnntrain", words);
        }
    }
    std::string name = (std::filesystem::temp_directory_path() / "cnntrain-lines-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) return 1;
    const std::filesystem::path folder = name;
    std::filesystem::current_path(folder);
    unsetenv("DATA_DIR");
    setenv(cnntrain::run::kEstimateVariable, "off", 0);  // estimates take most of a dry run's time; "on" keeps them
    Trial trial;
    if (every > 0) {
        std::int64_t number = 0;
        for_each_line([&](const Words& line) {
            if (number++ % every == 0) trial.check(line);
        });
    }
    for (std::int64_t i = 0; i < runs; ++i) {
        Rng rng(seed, cnntrain::RngStream::test, 0, static_cast<std::uint64_t>(i));
        trial.check(random_line(rng));
    }
    const int code = trial.conclude(folder);
    std::filesystem::current_path("/");
    std::filesystem::remove_all(folder);
    return code;
}
