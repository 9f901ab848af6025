// Files in memory or on a disk of which one operation fails.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "support/faults.h"

namespace cnntrain::test {

/// Fails in one operation as a full or broken disk does: half of what was appended is there.
class FaultyFiles : public FileSystem {
public:
    FaultyFiles(FileSystem& files, Fault& fault) : files_(files), fault_(fault) {}

    std::unique_ptr<InputFile> open(const std::string& path) const override {
        step("open", ErrorKind::data);
        return files_.open(path);
    }
    std::unique_ptr<OutputFile> create(const std::string& path) override {
        step("create");
        return std::make_unique<Output>(*this, files_.create(path));
    }
    void append(const std::string& path, std::string_view text) override {
        try {
            step("append");
        } catch (const Error&) {
            files_.append(path, text.substr(0, text.size() / 2));
            throw;
        }
        files_.append(path, text);
    }
    FileKind kind(const std::string& path) const override { return files_.kind(path); }
    std::vector<std::string> list(const std::string& path) const override { return files_.list(path); }
    void make_directories(const std::string& path) override {
        step("make_directories");
        files_.make_directories(path);
    }
    void remove(const std::string& path) override {
        step("remove");
        files_.remove(path);
    }
    LockAttempt try_lock(const std::string& path, std::string_view holder) override {
        return files_.try_lock(path, holder);
    }

private:
    class Output : public OutputFile {
    public:
        Output(FaultyFiles& files, std::unique_ptr<OutputFile> file) : files_(files), file_(std::move(file)) {}
        void write(std::span<const std::byte> data) override {
            files_.step("write");
            file_->write(data);
        }
        /// The file may have its name already when its folder cannot be synced.
        void commit() override {
            files_.step("commit");
            file_->commit();
            files_.step("sync_folder");
        }

    private:
        FaultyFiles& files_;
        std::unique_ptr<OutputFile> file_;
    };

    void step(const char* operation, ErrorKind kind = ErrorKind::storage) const {
        if (fault_.strikes(operation)) throw Error(kind, std::string("the disk fails in ") + operation);
    }

    FileSystem& files_;
    Fault& fault_;
};

}  // namespace cnntrain::test
