// The kinds of `cnntrain dataset <kind>`: one function and one file each; dataset.cpp has the table.
#pragma once

#include <string>
#include <vector>

namespace cnntrain::cli {

/// Each takes the words behind its name, returns the process's exit code and throws Error.
int dataset_imagenet(const std::vector<std::string>& arguments);
int dataset_inspect(const std::vector<std::string>& arguments);
int dataset_verify(const std::vector<std::string>& arguments);
int dataset_reshard(const std::vector<std::string>& arguments);

}  // namespace cnntrain::cli
