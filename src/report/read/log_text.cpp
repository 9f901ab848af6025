#include "report/read/log_text.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

namespace cnntrain::report {

namespace {

/// Without the date of lines such as "2022-10-03 11:38:35.000123: I step: ...".
std::string_view undated(std::string_view line) {
    constexpr std::string_view kForm = "dddd-dd-dd dd:dd:dd.dddddd: I ";
    if (line.size() < kForm.size()) return line;
    for (std::size_t i = 0; i < kForm.size(); ++i) {
        const bool is_digit = line[i] >= '0' && line[i] <= '9';
        if (kForm[i] == 'd' ? !is_digit : line[i] != kForm[i]) return line;
    }
    return line.substr(kForm.size());
}

/// The number that follows the last `word` of a line; kUnknown if there is none.
double number_behind(std::string_view line, std::string_view word) {
    const std::size_t at = line.rfind(word);
    if (at == std::string_view::npos) return kUnknown;
    const char* const begin = line.data() + at + word.size();
    double value = 0;
    return std::from_chars(begin, line.data() + line.size(), value).ec == std::errc() ? value : kUnknown;
}

/// The number before `word`; 0 if there is none.
int count_before(const std::string& line, const std::string& word) {
    const std::size_t end = line.find(word);
    if (end == std::string::npos) return 0;
    const std::size_t space = line.rfind(' ', end - std::min<std::size_t>(end, 1));
    const std::size_t begin = space == std::string::npos ? 0 : space + 1;
    int value = 0;
    std::from_chars(line.data() + begin, line.data() + end, value);
    return value;
}

/// "4 cores with 8 hyper-threads, a quota of 1.5 processors; threads: 2 compute, 4 prepare input".
void read_cores(LogFacts& facts) {
    facts.core_count = count_before(facts.cores, " core");
    facts.processor_count = std::max(facts.core_count, count_before(facts.cores, " hyper-threads"));
    facts.compute_threads = count_before(facts.cores, " compute");
    const double quota = number_behind(facts.cores, "a quota of ");
    if (!(quota > 0)) return;
    const int granted = std::max(1, static_cast<int>(std::min(quota, 1e6)));
    facts.core_count = std::min(facts.core_count, granted);
    facts.processor_count = std::min(facts.processor_count, granted);
}

double known(double value) {
    return value == value ? value : 0;
}

/// A process begins: what the one before said about its end counts no more.
void begin_process(LogFacts& facts, std::string command_line) {
    facts.command_line = std::move(command_line);
    facts.was_stopped = facts.ended_early = facts.finished = false;
    facts.error.clear();
    facts.stages.clear();
    facts.stage_count = 0;
}

/// Lines of the introduction that are kept as they are.
struct Fact {
    std::string_view begin;
    std::string LogFacts::*text;
};
constexpr Fact kFacts[] = {{"Processor: ", &LogFacts::processor},
                           {"Cores: ", &LogFacts::cores},
                           {"Backend: ", &LogFacts::backend},
                           {" Arithmetic: ", &LogFacts::arithmetic},
                           {"error: ", &LogFacts::error}};

/// Lines before the training. Returns false for others.
bool read_introduction(LogFacts& facts, std::string_view line) {
    constexpr std::string_view kCommand = "Command line: ";
    if (line.starts_with(kCommand)) {
        begin_process(facts, std::string(line.substr(kCommand.size())));
        return true;
    }
    for (const Fact& fact : kFacts) {
        if (!line.starts_with(fact.begin)) continue;
        facts.*fact.text = line.substr(fact.begin.size());
        if (fact.text == &LogFacts::cores) read_cores(facts);
        return true;
    }
    if (!line.starts_with("  stage ") || line.find(": weights and states ") == std::string_view::npos) return false;
    facts.stages += std::string(line.substr(2)) + "\n";
    ++facts.stage_count;
    return true;
}

void read_line(LogFacts& facts, std::string_view line) {
    if (read_introduction(facts, line)) return;
    if (line.starts_with("Compilation time: ")) {
        facts.compile_seconds += known(number_behind(line, ": "));
        ++facts.processes;
    } else if (line.starts_with("Saved checkpoint to ")) {
        facts.save_seconds += known(number_behind(line, " in "));
        ++facts.saves;
    } else if (line.starts_with("Training loop completed in ")) {
        facts.loop_seconds = number_behind(line, " in ");
        facts.finished = true;
    } else if (line.starts_with("Training ends early")) {
        facts.ended_early = true;
    } else if (line.starts_with("Stopped by a signal") || line.starts_with("Validation stopped by a signal")) {
        facts.was_stopped = true;
    } else if (line.starts_with("Gradients of ")) {
        facts.exchange = line;
    }
}

}  // namespace

LogFacts read_log(std::string_view text) {
    LogFacts facts;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        read_line(facts, undated(text.substr(begin, end - begin)));
        begin = end + 1;
    }
    return facts;
}

}  // namespace cnntrain::report
