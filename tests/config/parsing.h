// Parsing lines as a shell would hand them over.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/tasks/tasks.h"
#include "support/errors.h"
#include "support/words.h"
#include "tasks/image_classification/options.h"
#include "tasks/pretraining/options.h"
#include "tasks/task_table.h"

namespace cnntrain::options {

// Lines of the commands, by the tasks that serve them.
inline ParseResult parse_command_line(Command command, const std::vector<std::string>& arguments,
                                      const Environment& environment) {
    return tasks::parse_command_line(command, arguments, environment);
}
inline std::string help_text(Command command, std::string_view called, const std::string& asked = "--help-all") {
    const ParseResult line = tasks::parse_command_line(command, {asked}, {});
    return help_text(help_page(*line.task, line.command, called), line.help);
}
inline std::map<std::string, Value> read_config(const std::string& config, const std::vector<std::string>& folders) {
    return read_config(tasks::task_table().front().options, config, folders);
}

namespace testing {

using test::words;

/// The options of the first task that serves the command.
inline const std::vector<Option>& rows_of(Command command) {
    return tasks::parse_command_line(command, {"--help"}, {}).task->options().rows();
}

/// The configurations of the source tree, no DATA_DIR.
inline Environment test_environment() {
    return {{}, {CNNTRAIN_SOURCE_DIR "/configs"}};
}

inline ParseResult parse(const std::string& line, Command command = Command::train) {
    return tasks::parse_command_line(command, words(line), test_environment());
}

inline const tasks::ImageSettings& image(const ParseResult& result) {
    return tasks::image_settings(result.settings);
}
inline const tasks::PretrainingSettings& text(const ParseResult& result) {
    return tasks::pretraining_settings(result.settings);
}

/// The message of the usage error that a line causes, "" when it parses.
inline std::string usage_error(const std::string& line, Command command = Command::train) {
    return test::refusal_of(ErrorKind::usage, [&] { parse(line, command); });
}

/// A ResNet on generated data: what a test of something else starts from.
inline const std::string kImageNet = "--dataset imagenet --generated-data ";
inline const std::string kCifar = "--dataset cifar-10 --generated-data ";

}  // namespace testing
}  // namespace cnntrain::options
