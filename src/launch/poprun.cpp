// Starts a plan and waits until it ends.
#include "cnntrain/launch/poprun.h"

#include <unistd.h>

#include <array>
#include <ostream>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "launch/output_filter.h"
#include "launch/process.h"

namespace cnntrain::launch {
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
