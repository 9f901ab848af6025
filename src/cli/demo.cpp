// `cnntrain demo`: a first use. Each step is a line that users can type, too.
#include <cstdint>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/flags.h"
#include "cli/program.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/writers.h"
#include "cnntrain/insight/run_record.h"
#include "cnntrain/launch/poprun.h"
#include "cnntrain/weights/checkpoint.h"

namespace cnntrain::cli {

namespace {

constexpr const char* kOverwrite = "--overwrite";
constexpr std::string_view kTrainingWords =
    "train --model-size 8 --image-size 32 --micro-batch-size 16 --abs-learning-rate 0.004";

class Demo {
public:
    Demo(const Flags& flags, const Invocation& invocation)
        : flags_(flags),
          program_(invocation.program),
          folder_(without_trailing_slashes(flags.text("FOLDER"))),
          overwrite_(flags.given(kOverwrite)),
          epochs_(flags.integer("--epochs", 1, 10'000)),
          seed_(std::to_string(flags.integer("--seed", 0))) {}

    /// Returns the exit code of the first line that fails, or 0.
    int run() {
        check_folder();
        for (const auto step : {&Demo::photos, &Demo::training, &Demo::page, &Demo::model}) {
            if (const int code = execute((this->*step)()); code != 0) return ended(code);
        }
        say_what_next();
        return 0;
    }

private:
    using Words = std::vector<std::string>;  // a command and its arguments

    static void append(Words& words, const Words& more) { words.insert(words.end(), more.begin(), more.end()); }
    Words with_overwrite(Words words) const {
        if (overwrite_) words.emplace_back(kOverwrite);
        return words;
    }
    Words with_threads(Words words) const {
        if (flags_.given("--threads")) append(words, {"--threads", flags_.text("--threads")});
        return words;
    }

    std::string photos_folder() const { return folder_ + "/photos"; }
    std::string run_folder() const { return folder_ + "/run"; }

    /// Never writes into a folder that has other files.
    void check_folder() const {
        const FileSystem& files = posix_files();
        if (files.kind(folder_) == FileKind::absent || data::holds_generated_photos(photos_folder())) return;
        const std::vector<std::string> names = files.list(folder_);
        if (names.empty() || names == std::vector<std::string>{"photos"}) return;  // killed before it wrote a photo
        throw Error(ErrorKind::usage, folder_ +
                                          ": expected a new folder, or that of an earlier demo; other files are "
                                          "there; name another one: " +
                                          line({"demo", "FOLDER"}));
    }

    Words photos() const {
        Words words = {"dataset", "photos", "--output-dir", photos_folder(), "--seed", seed_};
        if (flags_.given("--photos")) append(words, {"--train", flags_.text("--photos")});
        return with_overwrite(words);
    }

    /// Goes on where an earlier call ended, if it has saved a checkpoint.
    Words training() const {
        if (!overwrite_ && weights::latest(posix_files(), run_folder()))
            return with_threads({"restore", "--restore-path", run_folder(), "--epochs", std::to_string(epochs_)});
        Words words = launch::split_words(kTrainingWords);
        append(words, {"--epochs", std::to_string(epochs_), "--seed", seed_, "--data-dir", photos_folder()});
        append(words, {"--logs-path", run_folder()});
        return with_overwrite(with_threads(words));
    }

    Words page() const { return with_threads({"report", run_folder()}); }

    Words model() const {
        Words words = {"convert", run_folder(), "--to", "onnx"};
        if (exists(posix_files(), run_folder() + "/model.onnx")) words.emplace_back(kOverwrite);
        return words;
    }

    std::string line(Words words) const {
        words.insert(words.begin(), program_);
        return launch::quoted(words);
    }

    int execute(const Words& words) const {
        const std::string shown = printable(line(words));
        terminal_output() << '\n' << styled("$ " + shown, Style::bold, console_terminal().colours) << std::endl;
        const Invocation invocation{{words.begin() + 1, words.end()}, line(words), words.front(), program_};
        return run_command(options::command_named(words.front()), invocation);
    }

    int ended(int code) const {
        if (code == kInterruptedExitCode)
            std::cout << "The same line again goes on where this one was stopped." << std::endl;
        return code;
    }

    /// Validation accuracy of a checkpoint's weights, in percent: those that were exported.
    double accuracy(const report::CheckpointFacts& checkpoint) const {
        const report::Table validations(read_text(posix_files(), run_folder() + "/validation.csv"));
        double accuracy = report::kUnknown;
        for (std::size_t row = 0; row < validations.rows(); ++row) {
            if (validations.number(row, "iteration") == static_cast<double>(checkpoint.iteration))
                accuracy = validations.number(row, "val_acc");
        }
        return accuracy;
    }

    void say_what_next() const {
        const auto exported = report::read_checkpoint(posix_files(), run_folder());
        CNNTRAIN_CHECK(exported.has_value(), "a checkpoint that was exported");
        std::cout << "\nThe network in model.onnx (" << exported->name << ") recognises "
                  << formatted("%.1f", accuracy(*exported)) << " % of the validation photos. Everything is in "
                  << folder_ << "; open\n"
                  << run_folder() << "/report.html in a browser. What to try next:\n  "
                  << line({"inference", "--restore-path", run_folder(), "--data-dir",
                           photos_folder() + "/validation/star"})
                  << "\n  "
                  << line({"restore", "--restore-path", run_folder(), "--epochs", std::to_string(2 * epochs_)})
                  << "\n  " << line({"train", "--data-dir", "PHOTOS", "--model-size", "18", "--logs-path", "RUN"})
                  << "\nThe first finds the classes of photos, the second trains for longer, the third trains on your "
                     "photos\nin PHOTOS/<class>/."
                  << std::endl;
    }

    const Flags& flags_;
    std::string program_;
    std::string folder_;
    bool overwrite_;
    std::int64_t epochs_;
    std::string seed_;
};

}  // namespace

CommandFlags demo_flags() {
    return {{{"FOLDER", "cnntrain-demo", "new folder for photos, run, page and model"},
             {"--photos", "", "training photos, 8 or more; without it, 1200"},
             {"--epochs", "8", "times that the training goes over all photos"},
             {"--seed", "0", "of photos, first weights and order"},
             {"--threads", "", "threads that compute; without it, one per core"},
             toggle(kOverwrite, "begin anew in the folder of an earlier demo")},
            "\n"
            "Draws photos of shapes in class folders, trains a small network on them, validates it, and writes\n"
            "a page about the run and the network as an ONNX file. It prints the line of each step, which can\n"
            "be typed, too. A demo that was stopped or killed goes on when its line is typed again.\n"
            "  cnntrain demo\n"
            "  cnntrain demo /tmp/shapes --epochs 20\n"};
}

int demo_command(const Invocation& invocation) {
    const Flags flags(demo_flags(), called(invocation), invocation.arguments);
    if (flags.print_help_if_wanted()) return 0;
    return Demo(flags, invocation).run();
}

}  // namespace cnntrain::cli
