// Reading arguments.json.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/read/option_values.h"

namespace cnntrain::config {

/// The options of the command's program in an arguments.json; unset values and keys that are no option are left out.
/// Error(data) when damaged.
Layer layer_from_json(std::string_view text, Command command);

/// The entries of a configuration of pretraining: one JSON object of options; null and empty texts are not given.
/// Error(usage) for an unknown key, with the nearest, or a value that does not fit.
Layer layer_from_json_config(std::string_view text);

/// A JSON list or object without blanks. Error(data) for what is neither.
std::string compact_json(std::string_view text);

/// A list of lists of words. Error(usage) starting with `what`.
std::vector<std::vector<std::string>> word_lists(const std::string& text, const std::string& what);
/// An object whose keys are whole numbers from 0 on and whose values are numbers of at least 0. Error(usage) likewise.
std::map<std::int64_t, double> numbers_by_step(const std::string& text, const std::string& what);

/// Does an arguments.json say that its seed was drawn because none was given?
bool seed_was_drawn(std::string_view text);

/// The command whose run an arguments.json describes: pretrain, or else train.
Command recorded_command(std::string_view text);

/// How many processes the run had that wrote it; 1 where the text does not say.
std::int64_t recorded_processes(std::string_view text);

/// Can the text stand in arguments.json?
bool is_utf8(const std::string& text);

}  // namespace cnntrain::config
