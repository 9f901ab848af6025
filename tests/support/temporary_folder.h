// A folder that no other test has: tests run side by side, each in a process of its own.
#pragma once

#include <filesystem>
#include <string>

namespace cnntrain::test {

/// A folder that exists as long as the object, and is then removed with its contents.
class TemporaryFolder {
public:
    explicit TemporaryFolder(const std::filesystem::path& parent = std::filesystem::temp_directory_path());
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    const std::string& path() const { return path_; }
    std::string operator/(const std::string& name) const { return path_ + "/" + name; }

    /// The file's path.
    std::string write(const std::string& name, const std::string& text) const;
    /// "" where there is no such file.
    std::string read(const std::string& name) const;

private:
    std::string path_;
};

}  // namespace cnntrain::test
