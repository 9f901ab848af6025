// Starts a plan and waits until it ends.
#include "cnntrain/launch/poprun.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <ostream>
#include <string_view>

#include "cnntrain/base/environment.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "launch/process.h"

namespace cnntrain::launch {

std::string single_quoted(std::string_view word) {
    std::string result = "'";
    for (const char c : word)
        result += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return result + "'";
}

std::vector<std::string> split_words(std::string_view text) {
    std::vector<std::string> words;
    std::string word;
    bool inside = false;  // inside a word, which may be empty: ''
    char quote = '\0';
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        const bool last = i + 1 == text.size();
        const bool escapes = quote == '\0' || (quote == '"' && !last && (text[i + 1] == '"' || text[i + 1] == '\\'));
        if (c == '\\' && !last && escapes) {
            word += text[++i];
            inside = true;
        } else if (quote != '\0' && c == quote) {
            quote = '\0';
        } else if (quote != '\0') {
            word += c;
        } else if (c == '"' || c == '\'') {
            quote = c;
            inside = true;
        } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
            if (inside) words.push_back(std::move(word));
            word.clear();
            inside = false;
        } else {
            word += c;
            inside = true;
        }
    }
    if (quote != '\0') throw Error(ErrorKind::data, "the quote " + std::string(1, quote) + " is never closed");
    if (inside) words.push_back(word);
    return words;
}

std::string quoted(const std::vector<std::string>& words) {
    constexpr std::string_view kPlain = "%+,-./:=@_{}$";
    return joined(words, " ", [&](const std::string& word) {
        const bool plain = !word.empty() && std::ranges::all_of(word, [&](char c) {
            return std::isalnum(static_cast<unsigned char>(c)) != 0 || kPlain.find(c) != std::string_view::npos;
        });
        return plain ? word : single_quoted(word);
    });
}

std::string all_quoted(const std::vector<std::string>& words) {
    return joined(words, " ", single_quoted);
}

std::optional<OpenMpi> open_mpi_version(const std::string& printed) {
    constexpr std::string_view kBegin = "(Open MPI) ";
    const std::size_t at = printed.find(kBegin);
    if (at == std::string::npos) return std::nullopt;
    OpenMpi found;
    const char* number = printed.data() + at + kBegin.size();
    const auto [end, error] = std::from_chars(number, printed.data() + printed.size(), found.major);
    if (error != std::errc{}) return std::nullopt;
    return found;
}

RootLaunch root_launch(const Machine& machine, std::optional<bool> option) {
    if (!machine.is_root) return RootLaunch::allowed;
    const bool wanted = option.value_or(mpirun_allows_root(machine.environment) || machine.in_container);
    return wanted ? RootLaunch::add_option : RootLaunch::refused;
}

std::vector<std::string> drop_network_choices(std::vector<std::string>& words) {
    std::vector<std::string> dropped;
    for (std::size_t i = 0; i + 2 < words.size();) {
        const bool chooses = (words[i] == "--mca" || words[i] == "-mca") &&
                             (words[i + 1] == "oob_tcp_if_include" || words[i + 1] == "btl_tcp_if_include");
        if (!chooses) {
            ++i;
            continue;
        }
        dropped.push_back(words[i + 1] + " " + words[i + 2]);
        const auto first = words.begin() + static_cast<std::ptrdiff_t>(i);
        words.erase(first, first + 3);
    }
    return dropped;
}

std::vector<std::string> drop_unset_exports(std::vector<std::string>& words, const Environment& environment) {
    std::vector<std::string> dropped;
    for (std::size_t i = 0; i + 1 < words.size();) {
        const std::string& name = words[i + 1];
        if (words[i] != "-x" || name.find('=') != std::string::npos || environment.contains(name)) {
            ++i;
            continue;
        }
        dropped.push_back(name);
        const auto first = words.begin() + static_cast<std::ptrdiff_t>(i);
        words.erase(first, first + 2);
    }
    return dropped;
}

namespace {

/// Writes lines such as "12:34:56.789 4711 POPRUN [I] text".
class Notes {
public:
    Notes(std::ostream& stream, Verbosity most) : stream_(stream), most_(most) {}

    void info(const std::string& text) { line(Verbosity::info, 'I', text); }
    void debug(const std::string& text) { line(Verbosity::debug, 'D', text); }

private:
    void line(Verbosity level, char letter, const std::string& text) {
        if (level > most_) return;
        const Moment now = std::chrono::system_clock::now();
        stream_ << clock_text("%H:%M:%S", now) << formatted(".%03lld ", below_second<std::chrono::milliseconds>(now))
                << getpid() << " POPRUN [" << letter << "] " << text << '\n'
                << std::flush;
    }

    std::ostream& stream_;
    Verbosity most_;
};

constexpr std::chrono::seconds kPatience{10};

class Launch {
public:
    Launch(const Plan& plan, const LaunchOptions& options)
        : plan_(plan),
          options_(options),
          notes_(*options.notes, options.verbosity),
          streams_{options.output, options.notes} {}

    int run() {
        describe();
        ProcessRequest request = plan_.open_mpi && !plan_.only_describes ? with_mpirun() : alone();
        request.folder = plan_.folder;
        request.keeps_input = true;
        request.patience = kPatience;
        request.stop_requested = options_.stop_requested;
        const ProcessResult result = run_process(request);
        if (filter_) filter_->finish();
        if (result.end == ProcessEnd::stopped) return kInterruptedExitCode;
        if (result.end == ProcessEnd::stayed_behind) {
            show_hidden_errors();
            *options_.notes
                << "error: all instances have ended, but mpirun had not; it was killed, and how they ended is "
                   "in what they printed\n"
                << std::flush;
            return exit_code(ErrorKind::peers);
        }
        constexpr int kOfSignals = 128;
        const int code = result.exit_code < 0 ? kOfSignals - result.exit_code : result.exit_code;
        if (code != 0) show_hidden_errors();
        return code;
    }

private:
    void describe() {
        if (options_.print_topology || options_.verbosity == Verbosity::debug)
            *options_.notes << topology_text(plan_) << std::flush;
        for (const std::string& remark : plan_.remarks)
            notes_.info(remark);
        for (const Instance& instance : plan_.instances) {
            std::string text = "instance " + std::to_string(&instance - plan_.instances.data()) + " on " +
                               plan_.hosts[instance.host].name + ":";
            for (const Assignments& variables : {plan_.variables, own_variables(instance)}) {
                for (const auto& [name, value] : variables)
                    text += " " + name + "=" + value;
            }
            notes_.debug(text);
        }
    }

    ProcessRequest with_mpirun() {
        ProcessRequest request;
        request.words = mpirun_words(plan_);
        request.environment = plan_.environment;
        request.asked_first = "OMPI_COMM_WORLD_RANK";
        request.on_start = [this](int number) {
            notes_.info("Waiting for mpirun (PID " + std::to_string(number) + ")");
        };
        notes_.info("Running command: " + all_quoted(request.words));
        const auto show = [this](Stream stream, std::string_view text) {
            *streams_[static_cast<std::size_t>(stream)] << text << std::flush;
        };
        // This program writes the instances' output itself: mpirun would report success even if it could not write it.
        request.most_output_bytes = 0;
        request.on_output = show;
        if (options_.only_output_from) {
            filter_.emplace(*options_.only_output_from, show);
            request.on_output = [this](Stream stream, std::string_view chunk) { filter_->add(stream, chunk); };
        }
        return request;
    }

    ProcessRequest alone() {
        ProcessRequest request;
        request.words = plan_.program;
        request.environment = plan_.environment;
        for (const Assignments& variables : {plan_.variables, own_variables(plan_.instances.front())}) {
            for (const auto& [name, value] : variables)
                request.environment[name] = value;
        }
        if (plan_.only_describes) set_ranks_of_first(request.environment);
        request.keeps_output = true;
        notes_.info("Running command: " + all_quoted(request.words));
        return request;
    }

    /// Sets the variables that mpirun would set for the first instance.
    void set_ranks_of_first(Environment& environment) const {
        for (const char* index : {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"})
            environment[index] = "0";
        environment["OMPI_COMM_WORLD_SIZE"] = std::to_string(plan_.instances.size());
        environment["OMPI_COMM_WORLD_LOCAL_SIZE"] = std::to_string(plan_.hosts.front().instances);
    }

    void show_hidden_errors() {
        if (!filter_) return;
        for (const auto& [instance, text] : filter_->last_lines_of_failed()) {
            *options_.notes << "last lines of the standard error of instance " << instance << ":\n" << text;
            if (!text.ends_with('\n')) *options_.notes << '\n';
        }
        *options_.notes << std::flush;
    }

    const Plan& plan_;
    const LaunchOptions& options_;
    Notes notes_;
    std::array<std::ostream*, 2> streams_;  // indexed by Stream
    std::optional<OutputFilter> filter_;
};

}  // namespace

int run_launch(const Plan& plan, const LaunchOptions& options) {
    return Launch(plan, options).run();
}

}  // namespace cnntrain::launch
