// A folder for a test's specs, and specs written as text.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "benchmark/spec.h"
#include "cnntrain/base/error.h"

namespace cnntrain::benchmark::testing {

class Folder {
public:
    Folder() {
        std::string path = std::filesystem::temp_directory_path() / "cnntrain_benchmark_XXXXXX";
        path_ = mkdtemp(path.data());
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    std::string operator/(const std::string& name) const { return path_ + "/" + name; }
    const std::string& path() const { return path_; }

    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(*this / name) << text;
        return *this / name;
    }
    std::string read(const std::string& name) const {
        std::ostringstream text;
        text << std::ifstream(*this / name).rdbuf();
        return text.str();
    }

private:
    std::string path_;
};

/// What `action` throws; "" when it does not.
template <typename Action> std::string error_of(Action action, ErrorKind kind = ErrorKind::data) {
    try {
        action();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), kind) << error.what();
        return error.what();
    }
    return "";
}

}  // namespace cnntrain::benchmark::testing
